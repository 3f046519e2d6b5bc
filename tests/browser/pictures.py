"""The pictures of README and docs: `python -m tests.browser.pictures` takes all of them again, `... recordings` this one."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.chromium import ARGS, CHROMIUM
from tests.browser.page import PATIENCE, drawn, press, settled
from tests.load.server import serving

FOLDER = Path(__file__).parents[2] / "docs"
BLOCKS = range(0, 33, 2)
STEPS = (*range(10), *range(10, 40, 2), *range(40, 100, 5), *range(100, 301, 20))
FRAME_MILLISECONDS, LAST_MILLISECONDS = 120, 2500
SHOWN = "(step) => Number(document.querySelector('.player[data-step]').dataset.step) >= step"
SLIDE = """(slider, value) => {
    slider.value = value
    slider.dispatchEvent(new Event("input", { bubbles: true }))
    return new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))
}"""


def start(tab: Any, url: str, blocks: Iterable[int] = BLOCKS, steps: Iterable[int] = STEPS) -> Iterator[bytes]:
    """Start, frame by frame: ten digits on their way through four nets, block by block and then step by step."""
    tab.set_viewport_size({"width": 1000, "height": 1000})
    tab.goto(url)
    press(settled(tab), "Leave the tour")
    press(tab, "Train all four")
    tab.wait_for_function(SHOWN, arg=max(steps), timeout=4 * PATIENCE)
    if tab.get_by_role("button", name="Pause").count():
        press(tab, "Pause")
    step, block = (tab.get_by_role("slider", name=name).first for name in ("Step shown", "Block"))
    step.evaluate(SLIDE, 0)
    settled(tab)
    for slider, values in ((block, blocks), (step, steps)):
        for value in values:
            slider.evaluate(SLIDE, value)
            yield tab.screenshot(clip={"x": 0, "y": 55, "width": 1000, "height": 705}, animations="disabled")


def recordings(tab: Any, url: str) -> Iterator[bytes]:
    """Your model, with the recording of a GPT-2."""
    tab.set_viewport_size({"width": 1280, "height": 790})
    tab.goto(url + "/recordings?recording=example:%20gpt2.jsonl")
    drawn(settled(tab))
    yield tab.screenshot()


PICTURES: dict[str, Callable[..., Iterator[bytes]]] = {"start.webp": start, "recordings.png": recordings}


def main(names: list[str]) -> None:
    """Takes the named pictures, or all."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started, serving() as server:
        server.wait_for()
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        for name, take in PICTURES.items():
            if names and name.partition(".")[0] not in names:
                continue
            tab = browser.new_page(color_scheme="light")
            tab.set_default_timeout(PATIENCE)
            first, *rest = (Image.open(io.BytesIO(frame)).convert("RGB") for frame in take(tab, server.url))
            times = [FRAME_MILLISECONDS] * len(rest) + [LAST_MILLISECONDS]
            moving = {"save_all": True, "append_images": rest, "duration": times, "loop": 0, "quality": 60, "method": 6}
            first.save(FOLDER / name, **(moving if rest else {"optimize": True}))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
