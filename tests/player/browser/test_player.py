"""The player in a real browser: everything that only moves along
a log happens there, and the page is not run again for it.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from addnorm.words import number
from tests.browser.conftest import Visitors
from tests.browser.page import (
    NAMES,
    button,
    chart,
    drawn,
    hover,
    label,
    line,
    press,
    ranges,
    row,
    scrubber,
    until,
    until_at_rest,
    until_row,
    zoom,
)
from tests.load.server import Server

LOOP = "&steps=5000"


def link(**query: object) -> str:
    fields = {"depth": 4, "width": 16, "batch": 16, "steps": 60} | query
    return "/?" + "&".join(f"{key}={value}" for key, value in fields.items())


def status(page: Any) -> Any:
    return page.locator(".player-status")


def runs_of_the_page(page: Any) -> int:
    """How often the script had been run when it last said so."""
    said = page.get_by_test_id("stCaptionContainer").filter(has_text="Run ").inner_text()
    return int(re.search(r"Run (\d+) times", said)[1])  # type: ignore[index]


def at_rest(page: Any, step: int) -> None:
    """Waits until the server has heard that the playhead rests at a step."""
    expect(page.get_by_text(f"at step {step}, resting")).to_be_visible()


def sentence(page: Any, name: str) -> str:
    panel = page.locator(".player-panel").filter(has=page.get_by_role("figure", name=re.compile(f"^{name}")))
    return str(panel.locator(".player-sentence").inner_text())


def draws(page: Any) -> int:
    return int(page.locator(".player").get_attribute("data-draws") or 0)


def until_last(page: Any, step: int) -> None:
    until(page, lambda: row(page) == step, f"step {step}")


def last(page: Any) -> int:
    return int(scrubber(page).get_attribute("max"))


@pytest.fixture(scope="module")
def crowd(browser: Any, demo: Server) -> Iterator[Visitors]:
    """Visitors whose pages several tests look at, one after the other."""
    yield (crowd := Visitors(browser, demo))
    assert crowd.leave() == []


@pytest.fixture(scope="module")
def resting(crowd: Visitors) -> Any:
    """A page that nobody plays."""
    return drawn(crowd(link(seed=1)))


@pytest.fixture(scope="module")
def played(crowd: Visitors) -> Any:
    """A page whose run has been played to its end."""
    page = drawn(crowd(link(seed=1)))
    press(page, "Train")
    button(page, "Pause").wait_for()
    until_row(page, last(page))
    until_at_rest(page)
    return page


def test_a_run_trains_to_its_end_with_every_chart_and_sentence_at_its_step(resting, played):
    page = played
    assert sentence(resting, "Loss").startswith("Step 0: not trained yet")
    expect(status(page)).to_contain_text("done")
    assert line(page, "Signal by depth") != line(resting, "Signal by depth")
    assert sentence(page, "Loss").startswith(f"Step {last(page)}: loss ")
    assert chart(page, "Loss").evaluate("el => el.data[0].x.at(-1)") == last(page)


# Of a chart whose lines alone have moved: its lines and points, those of the same figure drawn from nothing.
MOVED = """async (el) => {
  const lines = () => [...el.querySelectorAll('.scatterlayer path')].map((one) => one.outerHTML)
  const frame = () => new Promise(requestAnimationFrame)
  const first = JSON.stringify(el.data[0].y)
  for (let left = 3000; left && (!el.layout.transition || JSON.stringify(el.data[0].y) === first); left--) await frame()
  if (!el.layout.transition) return [[], []]
  const moved = lines()
  window.Plotly.redraw(el)
  return [moved, lines()]
}"""


def test_lines_that_move_while_a_run_plays_are_those_of_the_whole_chart_drawn_anew(visitors):
    page = drawn(visitors(link(seed=3, steps=5000)))
    press(page, "Train")
    until_row(page, 20)
    for title in 2 * ["Signal by depth", "Gradient by depth"]:
        moved, anew = chart(page, title).evaluate(MOVED)
        assert len(moved) > 1
        assert moved == anew


def test_the_pointer_is_told_the_number_at_the_playhead_in_the_notation_of_sentences(visitors):
    page = drawn(visitors(link(seed=3, steps=5000)))
    press(page, "Train")
    until_row(page, 20)
    figure, told = chart(page, "Gradient by depth"), label(page, "Gradient by depth")

    def told_again() -> bool:
        """Whether the label changes under a mouse that rests; a line that moves away from the mouse takes its label along."""
        before = told.all_text_contents()
        if not before:
            hover(page, "Gradient by depth", figure.evaluate(NAMES)[0])
            return False
        page.wait_for_timeout(50)
        return bool(told.count()) and told.all_text_contents() != before

    until(page, told_again, "another number under a mouse that rests")
    until(page, lambda: figure.evaluate("el => Boolean(el.layout.transition)"), "a frame that draws the lines alone")
    button(page, "Pause").evaluate("(el) => el.click()")  # the mouse stays where it is
    until_at_rest(page)
    said = [number(value, 4) for value in line(page, "Gradient by depth")]
    hover(page, "Gradient by depth", figure.evaluate(NAMES)[0])
    until(page, lambda: told.text_content().split(": ")[-1] in said, f"one of {said}")


def test_while_it_plays_and_is_scrubbed_the_page_is_not_run_again(visitors):
    page = drawn(visitors(link(seed=2, reports="never")))
    before = runs_of_the_page(page)
    press(page, "Train")
    until_row(page, last(page))
    scrubber(page).focus()
    for key, step in (("ArrowLeft", last(page) - 1), ("Home", 0), ("ArrowRight", 1), ("End", last(page))):
        page.keyboard.press(key)
        assert row(page) == step
    press(page, "Reset")
    assert row(page) == 0
    button(page, "Again").click()  # the page's own button: what it says now is up to date
    until(page, lambda: runs_of_the_page(page) > before, "another run of the page")
    assert runs_of_the_page(page) == before + 1


def test_the_server_hears_of_the_step_at_which_the_playhead_rests_and_only_of_that(played):
    page = played
    at_rest(page, last(page))
    before = runs_of_the_page(page)
    scrubber(page).focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    at_rest(page, last(page) - 5)
    assert runs_of_the_page(page) <= before + 2


def test_a_rerun_page_hears_where_the_playhead_rests(visitors):
    page = drawn(visitors(link(seed=3) + LOOP))
    press(page, "Train")
    until_row(page, 3)
    button(page, "Again").click()
    expect(page.get_by_text(re.compile(r"at step \d+, moving"))).to_be_visible()
    press(page, "Reset")
    at_rest(page, 0)


OVERTAKEN = """async ({ script, data, kept }) => {
    const address = performance.getEntriesByType("resource").find(({ name }) => name.endsWith("/player.js")).name
    const { mount } = (await import(address))[script]
    const place = document.createElement("div")
    place.innerHTML = `<div class="${script === "player" ? "player" : "static-chart"}"></div>`
    if (script === "player") place.firstChild.innerHTML = document.querySelector(".player").innerHTML
    place.querySelector(".player-grid")?.replaceChildren()
    document.body.append(place)
    const component = { data, parentElement: place, setStateValue() {}, setTriggerValue() {} }
    const silent = { hello() {}, request() {}, stopRequests() {}, sendRequest() {}, close() {} }
    const where = { connect: () => silent }
    const task = () => new Promise((end) => setTimeout(end, 100))
    const ends = [mount(component, where)]
    await task()
    const before = place.querySelector(kept)
    ends.push(mount(component, where))
    ends[1]()
    await task()
    ends.push(mount(component, where))
    await task()
    const same = place.querySelector(kept) === before
    const plays = [...place.querySelectorAll("button")].some((button) => button.textContent === "Pause")
    const { length } = place.querySelectorAll(kept)
    place.remove()
    ends[2]()
    return [Boolean(before), same, length, plays]
}"""
PLAYER = {
    "name": "mounted", "ticket": "", "beside": [], "runs": [{"link": "", "seeds": 1, "last": 9}],
    "panels": [{"kind": "heading", "key": "one", "title": "Mounted", "run": 0, "span": 12, "row": 0}],
    "at": [0, False], "reports": "never", "keys": "", "scenes": [], "facts": [], "names": [], "start": "now", "messages": [],
    "badge_help": {},
}  # fmt: skip
STATIC = {
    "title": "Mounted",
    "height": 200,
    "figure": {"data": [{"x": [0, 1], "y": [1, 2]}], "layout": {"margin": {"t": 8}}},
}


@pytest.mark.parametrize(
    ("script", "data", "kept", "plays"),
    [("player", PLAYER, ".player-heading", True), ("static_chart", STATIC, ".player-chart", False)],
)
def test_what_streamlit_overtakes_goes_on_as_it_was(resting, script, data, kept, plays):
    asked = {"script": script, "data": data, "kept": kept}
    assert resting.evaluate(OVERTAKEN, asked) == [True, True, 1, plays]


def test_a_drag_redraws_charts_and_sentences_while_the_mouse_is_down(played):
    page = played
    box = scrubber(page).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 8, middle)
    page.mouse.down()
    seen = set()
    for at in range(10):
        page.mouse.move(box["x"] + box["width"] * (0.9 - at / 12), middle)
        step = row(page)
        until(page, lambda step=step: sentence(page, "Loss").startswith(f"Step {step}: "), "the sentence of the step")
        until(
            page, lambda step=step: chart(page, "Loss").evaluate("el => el.layout.shapes.at(-1).x0") == step, "its line"
        )
        seen.add(step)
    page.mouse.up()
    assert len(seen) == 10


def test_step_goes_one_row_on_and_rests_there(visitors):
    page = drawn(visitors(link(seed=3)))
    press(page, "Step")
    press(page, "Step")
    assert row(page) == 2
    until(page, lambda: sentence(page, "Loss").startswith("Step 2: "), "the second row")
    at_rest(page, 2)
    expect(button(page, "Train")).to_be_visible()


def test_zoom_and_hover_hold_while_the_run_plays(visitors):
    page = drawn(visitors(link(seed=7) + LOOP))
    press(page, "Train")
    until_row(page, 40)
    zoomed = zoom(page, "Loss")
    before = row(page)
    until_row(page, before + 20)
    assert ranges(page, "Loss") == zoomed
    press(page, "Pause")


def test_two_runs_move_under_one_player_to_the_longest_end(visitors):
    page = drawn(visitors(link(seed=9, count=2)))
    press(page, "Train")
    until_row(page, last(page))
    expect(status(page)).to_contain_text("all are done")
    assert len(chart(page, "Loss").evaluate(NAMES)) == 2


def test_the_keys_of_the_projector_move_the_playhead_outside_of_fields(visitors):
    page = drawn(visitors(link(seed=10, keys=1)))
    page.locator("body").press("ArrowRight")
    until_last(page, 1)
    page.keyboard.press(" ")
    until_row(page, 5)
    page.keyboard.press(" ")
    button(page, "Train").wait_for()
    page.keyboard.press("r")
    until_last(page, 0)
    field = page.get_by_role("textbox", name="A field")
    field.click()
    field.press_sequentially("r ")
    expect(field).to_have_value("r ")
    assert row(page) == 0


def test_a_tab_that_was_hidden_goes_on_from_where_it_stood(visitors, demo):
    page = visitors.tab()
    page.add_init_script(
        """const next = window.requestAnimationFrame.bind(window), waiting = [], seen = (window.seen = [])
        window.requestAnimationFrame = (then) => (window.covered ? waiting.push(then) : next(then))
        window.cover = () => {
            window.covered = true
            return new Promise((then) => next(() => next(then))) // what was due before is drawn
        }
        window.uncover = () => {
            const player = document.querySelector(".player")
            new MutationObserver(() => seen.push(Number(player.dataset.step))).observe(player, { attributeFilter: ["data-step"] })
            window.covered = false
            waiting.splice(0).forEach((then) => next(then))
        }"""
    )
    page.goto(demo.url + link(seed=31, steps=600, reports="never"))
    press(drawn(page), "Train")
    until_row(page, 5)
    page.evaluate("() => window.cover()")
    stood = row(page)
    until(page, lambda: demo.health()["training"] == 0, "the end of a run that nobody sees")
    assert row(page) == stood
    page.evaluate("() => window.uncover()")
    until_last(page, 600)
    seen = page.evaluate("() => window.seen")
    assert seen == sorted(seen)
    assert seen[0] - stood < 40  # a quarter of a second, at eight seconds for the whole log
    assert len(seen) > 20


def test_without_plotly_a_sentence_says_so_and_the_tables_have_the_numbers(visitors):
    page = visitors.tab()
    page.route("**/plotly-cartesian.min.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto(visitors.server.url + link(seed=12))
    expect(status(page)).to_contain_text("Charts cannot be drawn here, their tables can be opened")
    assert chart(page, "Signal by depth").bounding_box()["height"] > 200
    press(page, "Train")
    until_row(page, last(page))
    page.get_by_role("button", name="Table of Loss").click()
    assert page.get_by_role("region", name="Loss, table").get_by_role("row").count() > 50


def test_whoever_wants_no_motion_sees_two_pictures_a_second(visitors):
    page = drawn(visitors(link(seed=13)))
    page.emulate_media(reduced_motion="reduce")
    seen = draws(page)
    press(page, "Train")
    until_row(page, last(page))
    assert draws(page) - seen <= 2 * 12 + 4  # a log is played in 6 to 10 seconds


def test_the_charts_take_the_theme_that_the_page_changes_to(resting):
    page = resting
    colour = "el => el._fullLayout.font.color"
    before = chart(page, "Loss").evaluate(colour)
    page.emulate_media(color_scheme="dark")
    until(page, lambda: chart(page, "Loss").evaluate(colour) != before, "the other theme")


def test_a_connection_that_is_cut_again_and_again_goes_on_from_the_rows_that_are_there(visitors):
    page = visitors.tab()
    cuts = []

    def through(socket):
        server = socket.connect_to_server()
        came = []

        def from_server(message):
            came.append(message)
            socket.send(message)
            if len(came) == 5 and len(cuts) < 3:
                cuts.append(len(came))
                socket.close(code=1011)

        server.on_message(from_server)

    page.route_web_socket(re.compile("/log$"), through)
    page.goto(visitors.server.url + link(seed=15) + LOOP)
    drawn(page)
    press(page, "Train")
    until(page, lambda: len(cuts) == 3, "three cuts")
    until_row(page, row(page) + 20)
    press(page, "Pause")
    steps = chart(page, "Loss").evaluate("el => [...el.data[0].x]")
    assert (steps[0], steps) == (0, sorted(set(steps)))


def test_a_block_of_the_stack_says_its_numbers(resting):
    page = resting
    group = page.get_by_role("group", name="Signal and gradient, run 1")
    blocks = group.get_by_role("button")
    expect(blocks).to_have_count(4)
    expect(blocks.nth(2)).to_have_accessible_name(
        re.compile(r"^block 3: signal [\d.]+, gradient [\d.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+, with residual")
    )
    blocks.nth(0).focus()
    page.keyboard.press("ArrowRight")
    expect(group.locator(".player-readout")).to_contain_text("block 2: signal")


def test_a_step_of_a_net_shows_what_it_says(visitors):
    page = drawn(visitors(link(seed=17, below=1)))
    expect(chart(page, "Digit mistakes")).to_have_text("The net has not been asked yet: press Train or Step.")
    press(page, "Train")
    until_row(page, last(page))
    drawn(page, "Gradient by layer and step", "Digit mistakes")
    cells = chart(page, "Gradient by layer and step").evaluate("el => [el.data[0].z.length, el.data[0].x.at(-1)]")
    assert cells == [5, last(page)]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_page(resting, width):
    resting.set_viewport_size({"width": width, "height": 720})
    assert resting.evaluate("document.scrollingElement.scrollWidth") <= width
    assert label(resting, "Loss").count() == 0
