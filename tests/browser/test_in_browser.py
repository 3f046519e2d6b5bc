"""Runs that the visitor's own browser trains, where the server's trainer is full and in a class that asks for it."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from components.player.file import player_file
from components.playground import picture
from models.export import about_html
from models.spec import RunConfig
from models.training import Run
from tests.browser.page import (
    PATIENCE,
    button,
    drawn,
    line,
    link,
    press,
    row,
    status,
    still,
    until,
    until_row,
    until_step,
)
from tests.load.server import Server, serving

LAST = 200  # more than a newcomer is given beside the queue
TAKEN = {"seed": 5, "steps": LAST, "activation": "tanh"}
HERE, THERE = "Train in this browser", "Train on the server"


@pytest.fixture(scope="module")
def full(browser: Any) -> Iterator[Server]:
    """A server whose only place somebody has taken for long, and whose trainer rests as long as nobody waits for it."""
    with serving(PLAYGROUND_PLACES="1", PLAYGROUND_SILENCE="3600") as server:
        server.wait_for()
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.url + link(depth=128, width=64, steps=5000))
        press(drawn(page), "Train")
        until_step(page, 3)
        os.kill(server.worker(), signal.SIGSTOP)
        yield server
        os.kill(server.worker(), signal.SIGCONT)
        page.close()


def wait_in_queue(page: Any, full: Server, **query: object) -> Any:
    """The tab, once it has opened a run and that waits for a place."""
    os.kill(full.worker(), signal.SIGCONT)
    page.goto(full.url + link(**TAKEN | query))
    press(drawn(page), "Train")
    expect(status(page)).to_contain_text("in the queue")
    os.kill(full.worker(), signal.SIGSTOP)
    return page


def trained(**query: object) -> list[float]:
    """The losses that torch computes."""
    fields = {"depth": 4, "width": 16, "batch": 16} | TAKEN | query
    run = Run(RunConfig.from_query({key: str(value) for key, value in fields.items()})[0])
    run.advance(LAST)
    run.close()
    return [float(loss) for loss in run.rows()[:, 0]]


def has_trained_here(page: Any) -> None:
    """The tab has come to the end of its run, without the server, and says so."""
    until_row(page, LAST)
    page.get_by_role("button", name="Train", exact=True).wait_for()
    assert line(still(page), "Loss") == pytest.approx(trained(), rel=1e-5)
    expect(status(page)).to_contain_text("trained in this browser")


@pytest.mark.first
def test_where_the_trainer_is_full_the_browser_trains(visitors: Any, full: Server) -> None:
    page = wait_in_queue(visitors.tab(), full)
    press(page, HERE)
    has_trained_here(page)
    expect(page.locator(".player-headline")).to_contain_text("Trained in this browser")
    os.kill(full.worker(), signal.SIGCONT)
    until(page, lambda: not full.health()["waiting"], "the end of the request")
    page.get_by_text("Export and share", exact=True).click()
    expect(page.get_by_text("there is no CSV, no playable file and no digest")).to_be_visible()
    expect(page.get_by_role("button", name="Numbers (CSV)")).to_have_count(0)
    shared = page.locator("[data-testid=stCode]").first.inner_text()
    assert "digest" not in shared
    page.get_by_role("slider", name="Step shown").press("Home")
    until_row(page, 0)
    page.get_by_role("slider", name="Step shown").press("End")
    until_row(page, LAST)
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="trained in this browser").click()
    expect(opened.value.get_by_text("Its numbers are torch's to five digits").first).to_be_visible()
    opened.value.close()
    page.reload()
    has_trained_here(page)
    page.get_by_role("link", name="Take the block apart").click()
    expect(page.get_by_role("heading", name="Anatomy")).to_be_visible()
    page.go_back()
    has_trained_here(page)
    press(page, THERE)
    page.get_by_role("button", name=THERE).wait_for(state="hidden")
    until(page, lambda: row(page) == 0, "the net before training")


def test_what_a_browser_does_not_take_is_refused(visitors: Any, full: Server) -> None:
    page = wait_in_queue(visitors.tab(), full, optimizer="muon")
    expect(page.get_by_text("is not trained in a browser; the app trains it.")).to_be_visible()
    expect(page.get_by_role("button", name=HERE)).to_have_count(0)


# --- surroundings, in the app and in the file that trains ---

BLOCKED = "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('no', 'SecurityError') } })"
FULL_STORAGE = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }"
HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true })
    document.dispatchEvent(new Event("visibilitychange"))
}"""
POLICY = '<meta http-equiv="Content-Security-Policy" content="{}">'
NO_WEBASSEMBLY = POLICY.format("script-src 'self' 'unsafe-inline' blob:")
COMPILES = """() => {
    try {
        return Boolean(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])))
    } catch {
        return false
    }
}"""
NO_WORKERS = POLICY.format("worker-src 'none'")


@pytest.fixture(params=["app", "file"])
def opened(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a run that the tab begins to train, in the app or in a file, and returns the tab.

    `before`: a script that changes what the browser grants. `policy`: one more Content-Security-Policy, as HTML.
    """
    pages = []

    def opens(before: str = "", policy: str = "", **query: object) -> Any:
        page = browser.new_page()
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.add_init_script(before)
        if request.param == "file":
            fields = {"depth": 4, "width": 16, "batch": 16} | TAKEN | query
            cfg = RunConfig.from_query({key: str(value) for key, value in fields.items()})[0]
            file = tmp_path / "train.html"
            file.write_text(training_file(cfg).replace("<title>", f"{policy}<title>", 1), encoding="utf-8")
            page.goto(file.as_uri())
            press(drawn(page), "Train")
            return page

        full = request.getfixturevalue("full")
        wait_in_queue(page, full, **query)
        page.evaluate("(html) => document.head.insertAdjacentHTML('beforeend', html)", policy)
        press(page, HERE)
        return page

    yield opens
    for page in pages:
        page.close()


def training_file(cfg: RunConfig) -> str:
    over, player, under = picture.file_panels(cfg)
    return player_file("A run", [cfg], player, over=over, under=under, below=about_html(cfg, None, {}), trains=True)


def test_a_hidden_tab_pauses_and_goes_on(opened: Callable[..., Any]) -> None:
    page = opened(steps=5000)
    until_row(page, 5)
    page.evaluate(HIDE, True)
    expect(status(page)).to_contain_text("computing")  # the playhead has come to the end of the rows
    paused = row(page)
    page.evaluate(HIDE, False)
    until_row(page, paused + 5)


@pytest.mark.parametrize("before", [BLOCKED, FULL_STORAGE], ids=["blocked", "full"])
def test_without_storage_a_reload_starts_again(opened: Callable[..., Any], before: str) -> None:
    page = opened(before)
    until_row(page, LAST)
    expect(status(page)).to_contain_text("this browser keeps nothing: after a reload the run starts again")
    page.reload()
    assert row(drawn(page)) == 0


def test_a_reload_trains_on_to_where_it_was(opened: Callable[..., Any]) -> None:
    page = opened()
    has_trained_here(page)
    page.reload()
    has_trained_here(page)


def test_without_webassembly_a_run_trains(opened: Callable[..., Any]) -> None:
    page = opened(policy=NO_WEBASSEMBLY)
    assert not page.evaluate(COMPILES)
    has_trained_here(page)


def test_without_workers_a_page_says_so(opened: Callable[..., Any]) -> None:
    page = opened(policy=NO_WORKERS)
    expect(status(page)).to_contain_text("it allows no workers here")


# --- a class ---


def test_a_class_may_train_in_its_browsers(visitors: Any) -> None:
    teacher = visitors("/teacher")
    teacher.get_by_text("Students' runs train in their own browsers").click()
    press(teacher, "Open a class")
    press(teacher, "Let students explore")
    expect(button(teacher, "Call back")).to_be_visible()
    teacher.wait_for_url(re.compile("class="))
    (code,) = parse_qs(urlsplit(teacher.url).query)["class"]
    student = drawn(visitors(link(**TAKEN) + f"&class={code}"))
    press(student, "Train")
    has_trained_here(student)
    assert visitors.server.health()["training"] == 0
    expect(student.get_by_role("button", name=THERE)).to_have_count(0)
    expect(student.get_by_text("Look deeper and the verdict need a run of the server's")).to_be_visible()
