"""The pictures of README and docs: `python -m tests.browser.pictures` takes all of them again, `... recordings` this one."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.chromium import ARGS, CHROMIUM
from tests.browser.page import PATIENCE, choose, drawn, press, settled, until_row
from tests.load.server import serving

FOLDER = Path(__file__).parents[2] / "docs"


def playground(tab: Any, url: str) -> None:
    """The playground well into its training."""
    tab.set_viewport_size({"width": 1280, "height": 860})
    tab.goto(url + "/playground")
    press(drawn(settled(tab)), "Leave the tour")
    press(tab, "Train")
    until_row(tab, 160)
    choose(tab, "Speed", "1 step/s")  # so that it stands still while its picture is taken


def recordings(tab: Any, url: str) -> None:
    """Your model, with the recording of a GPT-2."""
    tab.set_viewport_size({"width": 1280, "height": 790})
    tab.goto(url + "/recordings?recording=example:%20gpt2.jsonl")
    drawn(settled(tab))


PICTURES: dict[str, Callable[[Any, str], None]] = {"playground": playground, "recordings": recordings}


def main(names: list[str]) -> None:
    """Takes the named pictures, or all."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started, serving() as server:
        server.wait_for()
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        for name in names or PICTURES:
            tab = browser.new_page(color_scheme="light")
            tab.set_default_timeout(PATIENCE)
            PICTURES[name](tab, server.url)
            tab.screenshot(path=FOLDER / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
