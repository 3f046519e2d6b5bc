"""What goes wrong, in a browser: the page says so in a sentence,
nothing that was drawn is lost, and it goes on where it can.
"""

import os
import re
import signal
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import expect

from models.spec import RunConfig
from models.training import Run
from tests import waiting
from tests.browser.page import (
    PATIENCE,
    button,
    chart,
    drawn,
    last_step,
    line,
    link,
    press,
    row,
    settled,
    status,
    train,
    until,
    until_step,
)
from tests.load.server import Server, serving

LONG = link(depth=128, width=64, steps=5000)  # longer than a fast machine computes until nobody looks at it
REST = 1000  # milliseconds, longer than a player takes to say that it has come to rest


@pytest.fixture(scope="module")
def left(browser: Any) -> Iterator[tuple[Server, int]]:
    """A server whose only visitor pressed Train on a long run and closed the tab: the server, and the step seen."""
    with serving() as server:
        server.wait_for()
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.url + LONG)
        press(drawn(page), "Train")
        until_step(page, 5)
        seen = last_step(page)
        page.close()
        assert server.health()["training"] == 1
        yield server, seen


@pytest.mark.first
def test_a_worker_that_is_killed_is_restarted_and_the_same_rows_come_out(visitors):
    # However fast the machine, rows are still wanted when the worker dies: only then are they computed again at once.
    depth, width, batch = 32, 64, 64
    page = drawn(visitors(link(seed=21, depth=depth, width=width, batch=batch, steps=5000)))
    press(page, "Train")
    until_step(page, 3)
    os.kill(visitors.server.worker(), signal.SIGKILL)
    expect(status(page)).to_contain_text(re.compile("ended by SIGKILL and is being restarted|recomputing this run"))
    before = line(page, "Loss")
    assert chart(page, "Signal by depth").is_visible()
    until_step(page, len(before) + 5)
    after = line(page, "Loss")
    run = Run(RunConfig(seed=21, steps=5000, depth=depth, width=width, batch=batch))
    run.advance(len(after))
    run.close()
    assert after == run.trace().loss.tolist()  # bit for bit


def test_the_first_visitor_of_a_fresh_server_under_a_path_may_come_by_a_deep_link(visitors, monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_BASE_URL_PATH", "class/room")
    with serving() as fresh:
        fresh.wait_for(path="/class/room/_stcore/health")
        page = visitors("/class/room" + link(seed=22), server=fresh.url)
        train(drawn(page))
        assert row(page) == 60
        assert page.get_by_role("dialog").count() == 0
        assert page.get_by_test_id("stPlotlyChart").count() == 0
        page.close()  # before its server ends, whose silence it would complain of


def test_a_trainer_that_cannot_start_is_given_up_with_a_sentence(visitors, monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('this torch is broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with serving() as broken:
        broken.wait_for()
        page = visitors(link(seed=23), server=broken.url)
        expect(status(page)).to_contain_text("The trainer cannot run: it ended 5 times in a row")
        assert broken.health()["trainer"] == "failed"
        assert page.get_by_role("switch", name="Residual", exact=True).is_visible()
        start = visitors("/", server=broken.url)
        expect(status(start)).to_contain_text("The trainer cannot run: it ended 5 times in a row")
        expect(status(start)).to_contain_text("recorded")
        expect(start.get_by_role("img", name=re.compile("^Loss, .* at step 0"))).to_have_count(4)
        assert visitors.leave() == []  # before the server does, for which their connections would ask


def test_a_run_whose_tab_was_closed_is_trained_no_further_and_its_log_is_kept(visitors, left):
    server, seen = left
    waiting.until(lambda: not server.health()["training"], "the end of a run that nobody looks at")
    page = drawn(visitors(LONG, server=server.url))
    assert button(page, "Train").is_visible()
    expect(page.locator(".player-reasons").first).to_contain_text(
        "parameters"
    )  # which are known of a log that is there
    press(page, "Train")
    until_step(page, 5 * seen + 1)  # what was computed before and after the tab was closed
    assert "done" not in status(page).inner_text()


def test_a_press_on_the_page_just_left_does_not_empty_the_next(visitors):
    page = settled(drawn(visitors(link(seed=23))))
    left, onward = button(page, "Rescale"), page.get_by_role("link", name="Compare", exact=True)
    # Both before the browser hears of the new page.
    onward.evaluate("(link, button) => (link.click(), button.click())", left.element_handle())
    expect(page.get_by_role("heading", level=1, name="Compare")).to_be_visible()
    settled(page)
    expect(chart(page, "")).not_to_have_count(0)
    expect(page.get_by_role("heading", level=1, name="Compare")).to_be_visible()


class Stream:
    """What a server's script tells a tab that has not gone anywhere yet; it can be held back."""

    def __init__(self, tab: Any) -> None:
        self.begins: Callable[[bytes], bool] = lambda _: False  # whether all is held back from a message on
        self.held: list[tuple[Any, bytes]] = []
        tab.route_web_socket(re.compile("/_stcore/stream$"), self._pass)

    def _pass(self, socket: Any) -> None:
        def came(message: bytes) -> None:
            if self.held or self.begins(message):
                self.held.append((socket, message))
            else:
                socket.send(message)

        socket.connect_to_server().on_message(came)

    def let(self, count: int) -> None:
        """Passes on the first so many messages."""
        for _ in range(count):
            socket, message = self.held[0]
            socket.send(message)
            del self.held[0]

    def end(self) -> None:
        """Passes on all that was held back, and whatever comes."""
        self.begins = lambda _: False
        while self.held:
            self.let(1)


@pytest.mark.parametrize("way", ["link", "Back"])
def test_a_player_that_comes_to_rest_does_not_call_back_who_is_leaving(visitors, way):
    page = visitors.tab()
    stream = Stream(page)
    page.goto(visitors.server.url + "/glossary")
    page.get_by_role("link", name="Compare", exact=True).click()
    settled(drawn(page, "Loss"))
    # The browser does not hear of the page it asks for until the player has come to rest.
    stream.begins = lambda _: True
    leave, heading = ("link.click()", "Playground") if way == "link" else ("history.back()", "Glossary")
    onward = page.get_by_role("link", name="Playground", exact=True)
    onward.evaluate(f"(link, step) => {{ step.click(); {leave} }}", button(page, "Step").element_handle())
    page.wait_for_timeout(REST)
    stream.end()
    expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
    settled(page)
    expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()


def test_back_leads_to_a_page_that_was_left_before_any_script_had_come(visitors):
    page = visitors.tab()
    stream = Stream(page)
    stream.begins = lambda _: True  # the page is Streamlit's alone until the link has been pressed
    page.goto(visitors.server.url + "/glossary")
    link_ = page.get_by_role("link", name="Compare", exact=True)

    def offered() -> bool:
        stream.let(min(1, len(stream.held)))
        return bool(link_.count())

    until(page, offered, "the navigation")
    link_.click()
    stream.end()
    settled(drawn(page, "Loss"))
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Glossary")).to_be_visible()


SPACE = (
    '<iframe src="{url}" width="100%" height="700" sandbox="allow-downloads allow-forms allow-modals '
    "allow-pointer-lock allow-popups allow-popups-to-escape-sandbox allow-same-origin allow-scripts "
    'allow-storage-access-by-user-activation"></iframe>'
)


@pytest.fixture
def space(visitors: Any) -> Iterator[str]:
    """The address of a page of another origin that shows the app in a frame, as the hub shows a Space."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(SPACE.format(url=visitors.server.url + link(seed=25)).encode())

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_where_a_frame_denies_the_clipboard_the_link_is_shown_to_be_copied_by_hand(visitors, space):
    page = visitors("/", server=space)
    app = page.frame_locator("iframe")
    app.get_by_role("figure", name=re.compile("^Signal by depth")).locator(".main-svg").first.wait_for()
    app.get_by_role("combobox", name="Norm").wait_for()
    app.get_by_text("Residual", exact=True).click()
    expect(app.get_by_role("switch", name="Residual", exact=True)).not_to_be_checked()
    copy, field = app.get_by_role("button", name="Copy link"), app.get_by_role("textbox", name="Copy this link:")
    until(page, lambda: "residual=false" in page.frames[1].evaluate("location.href"), "the address of the change")
    copy.click()
    expect(field).to_have_value(page.frames[1].evaluate("location.href"))
    expect(field).to_have_value(re.compile("^" + re.escape(visitors.server.url + "/playground?")))
    expect(field).to_be_in_viewport(ratio=1)
    expect(copy).to_have_text("Copy link")
    assert field.evaluate("el => el.value.slice(el.selectionStart, el.selectionEnd) === el.value")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(copy).to_be_focused()


def test_on_a_page_of_its_own_the_link_is_copied(visitors):
    page = drawn(visitors(link(seed=25)))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    here = page.evaluate("location.href")  # which Playwright's own `page.url` lags behind
    assert page.evaluate("navigator.clipboard.readText()") == here
    embed = page.get_by_role("textbox", name="Embed it:")
    line = page.evaluate(
        "line => new DOMParser().parseFromString(line, 'text/html').querySelector('iframe').src", embed.input_value()
    )
    assert line == here
    expect(embed).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("textbox", name="Copy this link:")).to_be_hidden()
    page.get_by_role("heading", level=1).click()
    expect(embed).to_be_hidden()
