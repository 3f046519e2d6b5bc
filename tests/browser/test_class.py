"""A class whose browsers keep nothing, lose the network, come in another site's frame or in a second tab."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from models.lessons.lessons import LESSONS
from tests import waiting
from tests.browser.chromium import ARGS, CHROMIUM
from tests.browser.page import PATIENCE, address, button, settled, until
from tests.load.server import Server, serving

BASE = "labs"  # a page's name
OPTIONS = LESSONS["vanishing"].options
DENIES = {"profile": {"default_content_setting_values": {"cookies": 2}}}  # cookies and storage, as in the settings


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that speaks TLS, below a path."""
    folder = tmp_path_factory.mktemp("tls")
    names = ["-keyout", str(folder / "key"), "-out", str(folder / "certificate"), "-subj", "/CN=127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names], check=True, capture_output=True
    )
    told = {"BASE_URL_PATH": BASE, "SSL_CERT_FILE": folder / "certificate", "SSL_KEY_FILE": folder / "key"}
    with serving(**{f"STREAMLIT_SERVER_{name}": str(value) for name, value in told.items()}) as server:
        port = int(urlsplit(server.url).port or 0)
        waiting.until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the server")
        yield Server(server.url.replace("http:", "https:") + f"/{BASE}", server.process, server.spawned)


@pytest.fixture
def course() -> Iterator[Any]:
    """Gives the address of another site's page, which shows an address in a frame."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<iframe src="{self.path[1:]}" width="100%" height="700"></iframe>'.encode())

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("localhost", 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield lambda url: f"http://localhost:{server.server_port}/{url}"
        server.shutdown()


@pytest.fixture
def browsers(playwright: Any, browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Makes browsers of people of their own; some deny cookies and storage to everybody."""
    opened = []

    def make(*, denies: bool = False) -> Any:
        if denies:
            folder = tmp_path / str(len(opened))
            (folder / "Default").mkdir(parents=True)
            (folder / "Default" / "Preferences").write_text(json.dumps(DENIES))
            how = {"executable_path": CHROMIUM, "args": ARGS, "ignore_https_errors": True}
            opened.append(playwright.chromium.launch_persistent_context(folder, **how))
        else:
            opened.append(browser.new_context(ignore_https_errors=True))
        opened[-1].set_default_timeout(PATIENCE)
        return opened[-1]

    yield make
    for context in opened:
        context.close()


def at(context: Any, url: str) -> Any:
    tab = context.new_page()
    tab.goto(url, wait_until="commit")
    return tab


def opened(context: Any, url: str, plan: str = "vanishing") -> tuple[Any, str]:
    """A teacher's page with an open class, and the class's code."""
    teacher = at(context, f"{url}/teacher?plan={plan}")
    button(teacher, "Open a class").click()
    button(teacher, "Reveal").wait_for()
    until(teacher, lambda: "key=" in address(teacher), "the key in the address")
    return teacher, parse_qs(urlsplit(address(teacher)).query)["class"][0]


def guesses(page: Any, option: str) -> None:
    """Presses an option, once the page stands still; `page` may be a frame."""
    page.get_by_text("What is your guess?").or_(page.get_by_text("Your guess is in")).wait_for()
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    page.get_by_role("button", name=option, exact=True).click()
    page.get_by_text(f"Your guess is in: {option}").wait_for()


def counted(teacher: Any, *counts: int) -> None:
    expect(teacher.locator(".class-bars b")).to_have_text([str(count) for count in counts])


def test_in_another_sites_frame_a_reload_votes_once(secure, browsers, course):
    teacher, code = opened(browsers(), secure.url)
    student = browsers()
    page = at(student, course(f"{secure.url}/join?c={code}"))
    guesses(page.frame_locator("iframe"), OPTIONS[0])
    page.reload()
    page.frame_locator("iframe").get_by_text(f"Your guess is in: {OPTIONS[0]}").wait_for()
    second = at(student, course(f"{secure.url}/lessons?class={code}"))
    second.frame_locator("iframe").get_by_text(f"Your guess is in: {OPTIONS[0]}").wait_for()
    guesses(second.frame_locator("iframe"), OPTIONS[2])
    counted(teacher, 0, 0, 1)
    expect(page.frame_locator("iframe").get_by_text("This browser keeps nothing")).to_be_hidden()


def test_without_cookies_a_reload_votes_once_and_says_so(secure, browsers):
    teacher, code = opened(browsers(), secure.url)
    page = at(browsers(denies=True), f"{secure.url}/join?c={code}")
    guesses(page, OPTIONS[0])
    expect(page.get_by_text("This browser keeps nothing")).to_be_visible()
    page.reload()
    page.get_by_text(f"Your guess is in: {OPTIONS[0]}").wait_for()
    guesses(page, OPTIONS[1])
    counted(teacher, 0, 1, 0)


def test_without_cookies_the_projectors_keys_lead(secure, browsers):
    own = browsers(denies=True)
    teacher, code = opened(own, secure.url, "vanishing,skip")
    wall = at(own, teacher.get_by_role("link", name="Open the projector").get_attribute("href"))
    wall.get_by_text("V reveals").wait_for()
    assert "#" not in wall.evaluate("location.href")
    wall.reload()
    wall.get_by_text("V reveals").wait_for()
    settled(wall).keyboard.press("n")
    wall.get_by_role("heading", name=LESSONS["skip"].title).wait_for()
    stranger = at(browsers(), f"{secure.url}/lessons?class={code}&view=projector")
    stranger.get_by_role("heading", name=LESSONS["skip"].title).wait_for()
    settled(stranger).keyboard.press("v")
    expect(stranger.get_by_text("The keys lead the class only where")).to_be_visible()


def test_tabs_by_any_link_are_one_person(secure, browsers):
    teacher, code = opened(browsers(), secure.url)
    student = browsers()
    first = at(student, f"{secure.url}/lessons?lesson=vanishing&class={code}")  # a link that sets no cookie
    first.get_by_text("What is your guess?").wait_for()
    second = at(student, f"{secure.url}/join?c={code}")
    guesses(second, OPTIONS[0])
    guesses(first, OPTIONS[1])
    counted(teacher, 0, 1, 0)
    second.reload()
    second.get_by_text(f"Your guess is in: {OPTIONS[1]}").wait_for()


def test_a_new_teachers_tab_finds_the_class(secure, browsers):
    own = browsers()
    teacher, code = opened(own, secure.url)
    again = at(own, f"{secure.url}/teacher")
    button(again, "Reveal").wait_for()
    expect(again.locator(".class-join")).to_contain_text(code)
    until(again, lambda: f"class={code}" in address(again), "the class in the address")
    settled(again)
    button(again, "Open another class").click()
    button(again, "Open a class").click()
    button(again, "Reveal").wait_for()
    until(again, lambda: "key=" in address(again) and f"class={code}" not in address(again), "another class")
    elsewhere = at(browsers(), f"{secure.url}/teacher")
    button(elsewhere, "Open a class").wait_for()
    assert not re.search(r"\bclass=", address(elsewhere))
    button(teacher, "Reveal").wait_for()
