"""Live charts: what the page sends, when it falls back, and in a real browser that zoom and theme hold while data moves."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from components import chart_table, live_chart
from components.assets import plotly_chunk
from components.live_chart import FAILED, JS

ROOT = Path(__file__).parents[1]
CHROMIUM = which("chromium") or which("chromium-browser")
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ARGS += ["--disable-component-update", "--disable-sync"]

# A line that grows by five points at each poll, as a training run does.
PAGE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import streamlit as st
from components.live_chart import live_chart

def figure(points):
    line = {{"type": "scatter", "name": "loss", "x": list(range(points)), "y": [2.0 - n / 400 for n in range(points)]}}
    layout = {{"xaxis": {{"range": [0, 400]}}, "yaxis": {{"range": [0, 2.5]}}, "uirevision": "loss", "margin": {{"t": 10}}}}
    return {{"data": [line], "layout": layout}}

@st.fragment(run_every=0.2)
def grow():
    st.session_state.points = st.session_state.get("points", 0) + 5
    live_chart(figure(st.session_state.points), key="loss", alt="Loss, chart", height=280)

grow()
st.caption("below")
"""


def test_the_page_sends_the_figure_its_name_its_height_and_the_chunk():
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    sent = json.loads(at.get("bidi_component")[0].proto.json)
    assert sent["alt"] == "Loss, chart"
    assert sent["height"] == 280
    assert sent["chunk"] == plotly_chunk()
    assert sent["figure"]["data"][0]["x"] == [0, 1, 2, 3, 4]


def test_streamlit_ships_exactly_one_plotly():
    assert plotly_chunk().startswith("PlotlyChart.")


@pytest.mark.parametrize("files", [[], ["PlotlyChart.a.js", "PlotlyChart.b.js"]], ids=["none", "two"])
def test_no_plotly_or_two_of_them_is_none(tmp_path, files):
    for name in files:
        (tmp_path / name).touch()
    assert plotly_chunk(tmp_path) == ""


def test_a_session_whose_browser_failed_gets_static_charts_and_the_reason_once():
    at = AppTest.from_string(PAGE, default_timeout=60)
    at.session_state[FAILED] = ("loss", "no plotly beside Streamlit")
    at.run()
    assert not at.exception
    assert not at.get("bidi_component")
    assert len(at.get("plotly_chart")) == 1
    assert [caption.value for caption in at.caption if "no plotly beside Streamlit" in caption.value]


def test_a_streamlit_without_the_chunk_gets_static_charts_with_their_name(monkeypatch):
    monkeypatch.setattr(live_chart, "plotly_chunk", lambda: "")
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception
    assert not at.get("bidi_component")
    assert [chart.proto.alt for chart in at.get("plotly_chart")] == ["Loss, chart"]


def test_the_script_of_a_chart_is_under_three_kilobytes_and_that_of_its_table_under_two_and_a_half():
    assert len(JS.encode()) < 3000
    assert len(chart_table.JS.encode()) < 2500


def test_zoom_and_node_survive_new_data_and_a_new_theme(live_page):
    page = live_page("/")
    page.evaluate("() => { chart().mine = true }")
    zoom(page)
    wait_for_points(page, more=10)
    zoomed = page.evaluate("() => chart()._fullLayout.xaxis.range")
    assert zoomed[1] - zoomed[0] < 300
    light = page.evaluate("() => chart()._fullLayout.font.color")

    page.emulate_media(color_scheme="dark")
    page.wait_for_function("light => chart()._fullLayout.font.color !== light", arg=light)
    wait_for_points(page, more=10)

    assert page.evaluate("() => chart().mine") is True
    assert page.evaluate("() => chart()._fullLayout.xaxis.range") == zoomed
    text = page.evaluate("() => getComputedStyle(chart()).getPropertyValue('--st-text-color').trim()")
    assert page.evaluate("() => chart()._fullLayout.font.color").lower() == text.lower()
    assert page.evaluate("() => chart()._fullLayout.paper_bgcolor") == "rgba(0,0,0,0)"


def test_hover_survives_new_data(live_page):
    page = live_page("/")
    wait_for_points(page, more=30)
    x, y = page.evaluate("""() => {
        const box = chart().getBoundingClientRect(), axes = chart()._fullLayout
        return [box.x + axes.xaxis._offset + axes.xaxis.l2p(10), box.y + axes.yaxis._offset + axes.yaxis.l2p(1.975)]
    }""")
    for nudge in range(20):  # a busy browser may still be drawing when the mouse comes
        page.mouse.move(x - 3 + nudge % 2, y)
        page.mouse.move(x, y)
        page.wait_for_timeout(250)
        if page.locator(".hoverlayer .hovertext").count():
            break
    assert page.locator(".hoverlayer .hovertext").count()
    wait_for_points(page, more=15)
    page.wait_for_selector(".hoverlayer .hovertext")


def test_a_chart_keeps_its_height_before_plotly_is_there(live_page):
    page = live_page("/", hold_plotly=True)
    assert page.get_by_role("figure", name="Loss, chart").bounding_box()["height"] == 280


def test_a_base_path_is_followed(live_page):
    page = live_page("/class/room")
    assert "/class/room/static/js/PlotlyChart." in page.evaluate(
        "() => performance.getEntriesByType('resource').map(r => r.name).find(name => name.includes('PlotlyChart.'))"
    )


def test_a_browser_that_cannot_use_the_chunk_gets_the_static_chart(live_page):
    # Whoever sets window.Plotly is not heard, as if Streamlit stopped to set it.
    deaf = "Object.defineProperty(window, 'Plotly', { get: () => undefined, set: () => {} })"
    page = live_page("/", before=deaf, wait=False)
    page.get_by_text("lose their zoom").wait_for()
    page.locator("[data-testid=stPlotlyChart] .main-svg").first.wait_for()
    assert page.locator(".live-chart").count() == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def live_page(browser, tmp_path) -> Iterator[Any]:
    """Opens PAGE on a server of its own, under a base path; `hold_plotly` never answers the request for plotly."""
    script = tmp_path / "page.py"
    script.write_text(PAGE)
    context = browser.new_context(viewport={"width": 900, "height": 600}, color_scheme="light")
    context.set_default_timeout(60_000)

    def opened(base: str, *, before: str = "", hold_plotly: bool = False, wait: bool = True) -> Any:
        address = server.enter(script, base)
        page = context.new_page()
        page.add_init_script("window.chart = () => document.querySelector('.live-chart')")
        if before:
            page.add_init_script(before)
        if hold_plotly:
            page.route("**/PlotlyChart.*.js", lambda route: None)
        page.goto(address)
        if wait:
            page.wait_for_selector(".live-chart[aria-label]" if hold_plotly else ".live-chart .main-svg")
        return page

    with Server() as server:
        yield opened
        context.close()


class Server:
    """A Streamlit server on a free port, ended with the test."""

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Server":
        return self

    def enter(self, script: Path, base: str) -> str:
        """Starts the server and returns the page's address once it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = {"headless": "true", "address": "127.0.0.1", "port": port, "fileWatcherType": "none", "baseUrlPath": base[1:]}
        command = [sys.executable, "-m", "streamlit", "run", str(script)]
        command += [f"--server.{name}={value}" for name, value in options.items()]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        address = f"http://127.0.0.1:{port}{base.rstrip('/')}/"
        for _ in range(150):
            try:
                urllib.request.urlopen(f"{address}_stcore/health", timeout=2).close()
                return address
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("the server did not start")

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()


def wait_for_points(page: Any, more: int) -> None:
    """Until the line has grown by `more` points."""
    page.wait_for_function("() => chart()?.data?.[0]?.x")
    before = page.evaluate("() => chart().data[0].x.length")
    page.wait_for_function("count => chart().data[0].x.length >= count", arg=before + more)


def zoom(page: Any) -> None:
    """Drags a box over the first half of the plot; a busy browser may still be drawing when the mouse comes."""
    page.wait_for_function("() => chart()?._fullLayout?.xaxis")
    for _ in range(10):
        box = page.locator(".live-chart .nsewdrag").first.bounding_box()
        page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 150, steps=6)
        page.mouse.up()
        page.wait_for_timeout(1000)
        if page.evaluate("() => chart()._fullLayout.xaxis.range[0] > 10"):
            return
    raise AssertionError("the drag did not zoom")
