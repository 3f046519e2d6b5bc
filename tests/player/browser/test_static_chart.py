"""Charts that stand still, in a browser: zoom, hover, theme and click hold while their data is exchanged."""

from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import TimeoutError as NothingYet
from playwright.sync_api import expect

MOMENT = 1_000  # milliseconds after which a mouse that was not heard is moved again
GROWN = "() => chart().data[0].x.length"
TENTH = """() => { // where the line is at 10
    const box = chart().getBoundingClientRect(), axes = chart()._fullLayout
    return [box.x + axes.xaxis._offset + axes.xaxis.l2p(10), box.y + axes.yaxis._offset + axes.yaxis.l2p(1.975)]
}"""


@pytest.fixture
def growing(visitors: Any) -> Any:
    """A page with a chart that grows by five points five times a second."""
    page = visitors.tab()
    page.add_init_script("window.chart = () => document.querySelector('.player-chart')")
    page.goto(f"{visitors.server.url}/?still=1")
    page.locator(".player-chart .main-svg").first.wait_for()
    return page


def waits_for_points(page: Any, more: int) -> None:
    """Until the line has grown by `more` points."""
    before = page.evaluate(GROWN)
    page.wait_for_function("count => chart().data[0].x.length >= count", arg=before + more)


def zoom(page: Any) -> None:
    """Drags a box over the first half of the plot; a busy browser may still be drawing when the mouse comes."""
    page.wait_for_function("() => chart()?._fullLayout?.xaxis")
    for _ in range(10):
        box = page.locator(".player-chart .nsewdrag").first.bounding_box()
        page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 150, steps=6)
        page.mouse.up()
        with suppress(NothingYet):
            page.wait_for_function("() => chart()._fullLayout.xaxis.range[0] > 10", timeout=MOMENT)
            return
    raise AssertionError("the drag did not zoom")


def test_zoom_and_node_survive_new_data_and_a_new_theme(growing: Any) -> None:
    page = growing
    page.evaluate("() => { chart().mine = true }")
    zoom(page)
    waits_for_points(page, more=10)
    zoomed = page.evaluate("() => chart()._fullLayout.xaxis.range")
    assert zoomed[1] - zoomed[0] < 300
    light = page.evaluate("() => chart()._fullLayout.font.color")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("light => chart()._fullLayout.font.color !== light", arg=light)
    waits_for_points(page, more=10)
    assert page.evaluate("() => chart().mine") is True
    assert page.evaluate("() => chart()._fullLayout.xaxis.range") == zoomed
    assert page.evaluate("() => chart()._fullLayout.paper_bgcolor") == "rgba(0,0,0,0)"


def test_a_click_on_a_point_is_heard(growing: Any) -> None:
    page = growing
    waits_for_points(page, more=30)
    x, y = page.evaluate(TENTH)
    for _ in range(20):
        page.mouse.click(x, y)
        with suppress(NothingYet):
            page.get_by_text("clicked at 10").wait_for(timeout=MOMENT)
            return
    raise AssertionError("the click was not heard")


def test_a_chart_has_its_height_and_its_table_before_plotly_is_there(visitors: Any) -> None:
    page = visitors.tab()
    page.route("**/plotly-cartesian.min.js", lambda _route: None)
    page.goto(f"{visitors.server.url}/?still=1")
    figure = page.get_by_role("figure", name="Loss, chart")
    figure.wait_for()
    assert figure.bounding_box()["height"] == pytest.approx(280, abs=1)
    page.get_by_role("button", name="Table of Loss").click()
    expect(page.get_by_role("region", name="Loss, table").get_by_role("row").nth(1)).to_contain_text("loss")


def test_a_drawing_that_ends_after_its_chart_has_gone_is_no_error(visitors: Any) -> None:
    page = visitors.tab()
    page.goto(f"{visitors.server.url}/?still=1&until=40")
    page.locator(".player-chart .main-svg").first.wait_for()
    page.evaluate("""() => {
        const { react } = Plotly
        window.late = []
        Plotly.react = (el, ...rest) => react(el, ...rest)
            .then(() => new Promise((end) => window.late.push(end)))
            .then(() => el.emit("plotly_react"))
    }""")
    expect(page.locator(".player-chart")).to_have_count(0)
    assert page.evaluate("() => { late.forEach((end) => end()); return late.length }") > 0
