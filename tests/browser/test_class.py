"""A class whose browsers keep nothing, lose the network, come in another site's frame or in a second tab."""

import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import expect

from models.claims.claims import CLAIMS
from models.lessons.lessons import LESSONS
from tests import waiting
from tests.browser.chromium import ARGS, CHROMIUM
from tests.browser.page import (
    OVERLAPS,
    PATIENCE,
    PROFILES,
    address,
    button,
    chart,
    choose,
    drawn,
    link,
    listens,
    settled,
    until,
    until_row,
)
from tests.browser.person import BEGUN_AGAIN
from tests.load.server import ROOT, Server, end, serving

BASE = "labs"  # a page's name
OPTIONS = LESSONS["vanishing"].options
OFFLINE_MILLISECONDS = 30_000
# Titles that go beyond their charts.
CUT = """() => [...document.querySelectorAll(".player-chart .gtitle")].filter((title) =>
    title.getBoundingClientRect().right > title.closest(".player-chart").getBoundingClientRect().right + 1
).map((title) => title.textContent)"""
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
    streamlits = {f"STREAMLIT_SERVER_{name}": str(value) for name, value in told.items()}
    with serving(PLAYGROUND_FRAMES="*", **streamlits) as server:
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
    page.locator('[data-test-script-state="notRunning"][data-test-connection-state="CONNECTED"]').wait_for()
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
    listens(wall).keyboard.press("n")
    wall.get_by_role("heading", name=LESSONS["skip"].title).wait_for()
    stranger = at(browsers(), f"{secure.url}/lessons?class={code}&view=projector")
    stranger.get_by_role("heading", name=LESSONS["skip"].title).wait_for()
    listens(stranger).keyboard.press("v")
    expect(stranger.get_by_text("The keys control the class only if")).to_be_visible()


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


def test_a_restart_loses_no_vote_and_covers_no_wall(browsers, tmp_path):
    kept = {"CLASSES_FOLDER": str(tmp_path)}
    with serving(**kept) as server:
        server.wait_for(b'"ready"')
        teacher, code = opened(own := browsers(), server.url)
        wall = at(own, teacher.get_by_role("link", name="Open the projector").get_attribute("href"))
        wall.get_by_text("V reveals").wait_for()
        phone = at(browsers(denies=True), f"{server.url}/join?c={code}")
        guesses(phone, OPTIONS[0])
        counted(teacher, 1, 0, 0)
        phone.evaluate(BEGUN_AGAIN)
        end(server.process)
        dialog = wall.get_by_text("Connection error")
        dialog.wait_for(state="attached")
        expect(dialog).to_be_hidden()
        again = subprocess.Popen(server.process.args, cwd=ROOT, env=os.environ | kept, stderr=subprocess.DEVNULL)
        try:
            server.process = again
            server.wait_for(b'"ready"')
            phone.context.set_offline(True)
            phone.wait_for_timeout(OFFLINE_MILLISECONDS)
            phone.context.set_offline(False)
            dialog.wait_for(state="detached")
            phone.wait_for_function("() => window.begunAgain")
            guesses(phone, OPTIONS[1])
            counted(teacher, 0, 1, 0)
            listens(wall).keyboard.press("v")
            phone.get_by_text("The class guessed").wait_for()
        finally:
            end(again)


def test_on_a_wall_no_chart_is_covered_or_cut(secure, browsers):
    own = browsers()
    teacher, _ = opened(own, secure.url, "placement")
    wall = at(own, teacher.get_by_role("link", name="Open the projector").get_attribute("href"))
    wall.get_by_text("V reveals").wait_for()
    listens(wall).keyboard.press("v")
    wall.get_by_text("The class guessed").wait_for()
    titles = wall.locator(".player-chart .gtitle")
    expect(titles).to_have_count(3)
    expect(wall.locator(".awaited")).to_have_count(0)  # a chart that waits for rows is as it was
    for width, height in ((1920, 1080), (1280, 720)):
        wall.set_viewport_size({"width": width, "height": height})
        expect(titles).to_have_count(3)
        until(wall, lambda: wall.evaluate(CUT) == [], "whole titles")
        parts = [*wall.locator(".player-stack").all(), titles.first]
        assert wall.evaluate(OVERLAPS, [part.element_handle() for part in parts]) == []


def test_claims_on_a_wall_are_large_and_hide_answers(visitors):
    claim = next(iter(CLAIMS))
    page = visitors(f"/claims?claim={claim}&view=projector&hide=answers", viewport={"width": 1920, "height": 1080})
    page.get_by_role("radio", name="true", exact=True).click()
    settled(page)
    button(page, "Run").click()
    page.get_by_text("This link hides the answer").wait_for()
    settled(page)
    assert page.get_by_text("What is true").count() == 0
    assert page.get_by_text(re.compile("You were right|Not quite")).count() == 0
    assert page.get_by_text("This link hides").evaluate("el => parseFloat(getComputedStyle(el).fontSize)") >= 24


def test_the_teachers_controls_change_and_train_every_screen(secure, browsers):
    own = browsers()
    teacher, code = opened(own, secure.url, "playground")
    wall = at(own, teacher.get_by_role("link", name="Open the projector").get_attribute("href"))
    student = at(browsers(), f"{secure.url}/join?c={code}")
    for page in (wall, student):
        drawn(page, "Loss")
    settled(teacher)
    teacher.get_by_role("switch", name="Residual", exact=True).press("Space")
    for page in (wall, student):
        until(page, lambda page=page: "residual=false" in address(page), "no residual")
    choose(settled(teacher), "Placement", "post-norm")
    for page in (wall, student):
        until(page, lambda page=page: "placement=post-norm" in address(page), "another placement")
    settled(wall).get_by_role("switch", name="Residual", exact=True).press("Space")
    until(student, lambda: "residual" not in address(student), "the residual again")
    expect(teacher.get_by_text("Shown now")).not_to_contain_text("residual")
    expect(wall.get_by_text("T trains on every screen")).to_be_visible()
    button(settled(teacher), "Train on every screen").click()
    for page in (wall, student):
        until_row(page, 1)


def test_a_driven_comparison_changes_one_net_and_trains_everywhere(secure, browsers):
    own, net = browsers(), quote("depth=4&width=16&batch=16")
    teacher, code = opened(own, secure.url, quote(f"compare?a={net}&b={net}"))
    wall = at(own, teacher.get_by_role("link", name="Open the projector").get_attribute("href"))
    student = at(browsers(), f"{secure.url}/join?c={code}")
    for page in (wall, student):
        drawn(page, "Loss")

    def nets(page: Any) -> list[str]:
        query = parse_qs(urlsplit(address(page)).query)
        return [*query["a"], *query["b"]]

    teacher.get_by_role("radio", name="B", exact=True).check(force=True)
    settled(teacher).get_by_role("switch", name="Residual", exact=True).press("Space")
    for page in (wall, student):
        until(page, lambda page=page: ["residual=false" in net for net in nets(page)] == [False, True], "B without it")
    settled(teacher).get_by_role("radio", name="all", exact=True).check(force=True)
    choose(settled(teacher), "Placement", "post-norm")
    for page in (wall, student):
        until(page, lambda page=page: all("placement=post-norm" in net for net in nets(page)), "both changed")
        assert ["residual=false" in net for net in nets(page)] == [False, True]
    expect(teacher.get_by_role("alert")).to_have_count(0)
    button(settled(teacher), "Train on every screen").click()
    for page in (wall, student):
        until_row(page, 1)


def test_paper_has_the_page_and_nothing_beside_it(visitors):
    page = drawn(visitors(link(depth=8), viewport={"width": 1600, "height": 900}))
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for name in ("stSidebar", "stHeader"):
        expect(page.get_by_test_id(name)).to_be_hidden()
    for name in (*PROFILES, "Loss"):
        expect(chart(page, name)).to_be_visible()
        assert chart(page, name).evaluate("el => el.querySelector('.main-svg').clientWidth <= el.clientWidth + 1")
    assert page.pdf(width="794px", height="1123px").count(b"/Type /Page\n") == 1
    page = visitors("/lessons")
    tour = page.get_by_role("navigation", name="Five-minute tour")
    expect(tour).to_be_visible()
    page.emulate_media(media="print")
    expect(tour).to_be_hidden()


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
