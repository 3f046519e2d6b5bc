"""The static edition: a folder behind a plain file server, and opened from a disk, trains nets without the app."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.page import PHONE, PROFILES, button, chart, drawn, line, press, still, until, until_row

ROOT = Path(__file__).parents[2]
APP = "https://app.example"  # where nobody goes
BASE = "some/base"
SMALL = "width=16&batch=16&steps=40"


class Quiet(SimpleHTTPRequestHandler):
    """A plain file server that writes no log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host's root; the edition lies below it, as the command writes it."""
    root = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "models", "static", str(root / BASE), "--app", APP]
    assert subprocess.run(command, cwd=ROOT, check=True, capture_output=True).returncode == 0
    return root


@pytest.fixture(scope="module", params=["http", "file"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """The address of the folder, on a host and on a disk."""
    if request.param == "file":
        yield (site / BASE).as_uri()
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{BASE}"
    server.shutdown()


@pytest.fixture
def opens(engine: Any, address: str) -> Iterator[Any]:
    """Opens a page of the folder; nothing complains, and nothing else is asked for."""
    heard: list[str] = []
    contexts = []

    def tab(path: str, **how: Any) -> Any:
        contexts.append(engine.new_context(**({"viewport": {"width": 1280, "height": 720}} | how)))
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: heard.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on(
            "request",
            lambda asked: None if asked.url.startswith((address, "blob:", "data:")) else heard.append(asked.url),
        )
        page.goto(f"{address}/{path}")
        return page

    yield tab
    for context in contexts:
        context.close()
    assert [text for text in heard if "favicon" not in text] == []


def sets(page: Any, label: str, value: str | bool) -> None:
    """Sets a control as a person does."""
    control = page.locator("form").get_by_label(label, exact=True)
    if isinstance(value, bool):
        control.set_checked(value)
    elif control.evaluate("el => el.tagName") == "SELECT":
        control.select_option(value)
    else:
        control.fill(value)
        control.blur()


def lies_in_its_window(page: Any) -> None:
    assert still(page).evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def profile(page: Any) -> list[float | None]:
    return line(page, PROFILES[0])


@pytest.mark.first
def test_a_net_of_start_is_changed_trained_and_shared(opens: Any, address: str) -> None:
    page = opens("index.html")
    expect(button(page, "Train all four")).to_be_visible()
    page.get_by_role("link", name="Open in the playground").nth(3).click()
    drawn(page)
    expect(page.locator(".player-headline")).to_contain_text("Healthy")  # torch's words, before training
    wide = profile(page)
    assert len(wide) == 33
    for name, text in (("Depth", "6"), ("Width", "1"), ("Learning rate", "0.02")):
        sets(page, name, text)
    until(page, lambda: len(profile(page)) == 7, "a net of six blocks")
    sets(page, "Width", "8")  # of the stops
    expect(page.locator("#width ~ span")).to_have_text("16")
    page.get_by_role("switch", name="norm").click()  # on the drawing
    expect(page.locator("form").get_by_label("Norm", exact=True)).to_have_value("none")
    before = profile(page)
    sets(page, "Residual", False)
    until(page, lambda: profile(page) != before and len(profile(page)) == 7, "the profile without a residual")
    expect(page.locator(".player-headline")).to_contain_text("For a verdict on the run")
    press(page, "Train")
    until_row(page, 300)
    expect(page.get_by_role("link", name="trained in this browser")).to_have_attribute("href", "#in-browser")
    expect(page.locator("#in-browser + p")).to_contain_text("nothing leaves this browser")
    until(page, lambda: len(line(page, "Loss")) > 50, "the loss of many steps")
    link = page.url
    query = dict(pair.split("=") for pair in link.partition("?")[2].split("&"))
    assert query == {"depth": "6", "width": "16", "residual": "false", "norm": "none", "lr": "0.02"}
    page.get_by_role("button", name="Copy link").click()
    copied = page.get_by_role("button", name="Copied").or_(page.locator("#address"))
    expect(copied).to_be_visible()
    page.reload()
    drawn(page)
    until_row(page, 20)  # trained again
    assert page.url == link
    expect(page.locator("form").get_by_label("Residual", exact=True)).not_to_be_checked()
    page.go_back()
    expect(page.locator("form").get_by_label("Residual", exact=True)).to_be_checked()
    again = opens(link.removeprefix(f"{address}/"))
    until(again, lambda: profile(again) == profile(drawn(again)) and len(profile(again)) == 7, "the same net")
    expect(again.get_by_role("link", name="Open in the app")).to_have_attribute(
        "href", f"{APP}/playground?{link.partition('?')[2]}"
    )


def test_a_wrong_link_is_mended_and_a_strange_net_refused(opens: Any) -> None:
    page = opens(f"playground.html?{SMALL}&depth=999&norm=what")
    expect(page.locator("#notes")).to_contain_text("From the link: Depth 999 is out of range (1 to 128): 128 instead")
    expect(page.locator("#notes")).to_contain_text("Norm what is not one of none, layer norm")
    sets(page, "Depth", "3")
    expect(page.locator("#notes")).to_be_hidden()
    sets(page, "Learning rate", "fast")
    expect(page.locator("#notes")).to_have_text("Learning rate fast is not a number from 0.000001 to 10: 0.01 instead.")
    for query, sentence in (
        ("net=transformer&task=book", "Net transformer is not trained on this page; the app trains it."),
        ("stack=mHC", "Stack mHC is not trained in a browser; the app trains it."),
    ):
        strange = opens(f"playground.html?{query}")
        expect(strange.get_by_role("alert").first).to_have_text(sentence)
        expect(strange.locator("main")).to_be_hidden()
        sets(strange, "Depth", "3")
        expect(strange).to_have_url(re.compile("depth=3"))
        expect(strange.locator("main")).to_be_hidden()
        expect(strange.get_by_role("link", name="Open in the app")).to_have_attribute(
            "href", re.compile(f"^{APP}/playground\\?.*depth=3")
        )


def test_two_nets_are_compared(opens: Any) -> None:
    page = opens(f"playground.html?{SMALL}&depth=4")
    drawn(page)
    page.get_by_role("link", name="Compare with and without the residual").click()
    drawn(page, "Loss", *PROFILES)
    press(page, "Train all")
    until_row(page, 40)
    names = "el => el.data.filter(({ mode }) => mode === 'lines').map(({ name, x }) => [name, x.length])"
    until(
        page,
        lambda: chart(page, "Loss").evaluate(names) == [["A residual on", 41], ["B residual off", 41]],
        "both losses",
    )
    sets(page, "Change", "B")
    sets(page, "Depth", "7")
    until(page, lambda: len(profile(page)) == 5 and len(line(page, PROFILES[0], "dash")) == 8, "B with seven blocks")
    sets(page, "Task", "spiral")
    expect(page.locator("#notes")).to_contain_text("different tasks (digits, spiral)")
    expect(chart(page, "Loss")).to_have_count(0)
    page.reload()
    expect(page.locator("#notes")).to_contain_text("different tasks (digits, spiral)")
    page.get_by_role("link", name="Open in the playground").nth(1).click()
    expect(page.locator("form").get_by_label("Task", exact=True)).to_have_value("spiral")


def test_every_task_is_drawn_and_a_phone_has_room(opens: Any) -> None:
    page = opens(f"playground.html?{SMALL}&depth=3", **PHONE)
    drawn(page)
    page.get_by_text("Settings", exact=True).click()
    for task in ("spiral", "circles", "xor", "linear", "digits"):
        sets(page, "Task", task)
        press(page, "Step")
        until_row(page, 1)
        lies_in_its_window(page)
    for other in ("index.html", "compare.html"):
        phone = opens(other, **PHONE)
        button(phone, "Train all").wait_for()
        lies_in_its_window(phone)
