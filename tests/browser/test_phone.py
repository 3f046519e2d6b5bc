"""A finger on a small screen: it scrolls the page wherever it is put down, and nothing lies over what is read."""

import math
import re

import pytest
from playwright.sync_api import expect

from components.charts.diagram import MIN_SCALE
from tests.browser.page import (
    PHONE,
    button,
    chart,
    drag,
    drawn,
    laid_out,
    link,
    ranges,
    row,
    scrubber,
    settled,
    still,
    swipe,
    until,
    until_row,
)

BESIDE = 22  # pixels of the handle's target, on both sides of the plot
CALLS_ITSELF_A_PHONE = {"user_agent": "Mozilla/5.0 (iPhone) Mobile/15E148"}


@pytest.mark.parametrize(
    ("path", "name"), [(link(seed=20), "Signal by depth"), ("/maps", "Map of pre-norm, final loss")]
)
def test_a_swipe_over_a_chart_scrolls_the_page_and_leaves_its_axes(visitors, path, name):
    page = drawn(visitors(path, **PHONE), name)
    expect(page.locator(".modebar-btn")).to_have_count(0)  # a bar of buttons would lie over the chart's title
    figure, before = chart(page, name), ranges(page, name)
    for across in (0.5, 0.03):  # over the plot, and over the numbers of its axis
        figure.scroll_into_view_if_needed()
        top = figure.bounding_box()["y"]
        swipe(page, figure, across)
        page.wait_for_function(
            "([el, top]) => el.getBoundingClientRect().y < top - 50", arg=[figure.element_handle(), top]
        )
    assert ranges(page, name) == before


def test_a_swipe_on_the_loss_only_scrolls(visitors):
    page = drawn(visitors(link(seed=20), **PHONE))
    seen = page.evaluate_handle(
        """() => {
            const seen = [], player = document.querySelector(".player.pinned")
            new MutationObserver(() => seen.push(player.dataset.step)).observe(player, { attributeFilter: ["data-step"] })
            return seen
        }"""
    )
    figure = chart(page, "Signal by depth")
    for wander in (2, 9):  # steep and slanting
        page.get_by_role("heading", level=1).scroll_into_view_if_needed()
        for _ in range(2):  # where the player stands in the page, and where it is pinned
            top = figure.bounding_box()["y"]
            swipe(page, scrubber(page), 0.4, wander)
            page.wait_for_function(
                "([el, top]) => el.getBoundingClientRect().y < top - 50", arg=[figure.element_handle(), top]
            )
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert row(page) == 0
    assert set(seen.json_value()) <= {"0"}


def test_a_tap_and_a_sideways_drag_on_the_loss_move_the_step(visitors):
    page = settled(drawn(visitors(link(seed=20), **PHONE)))
    box = scrubber(page).bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    until_row(page, 29)
    assert row(page) <= 31
    drag(page, scrubber(page), 0.2, 0.8)
    step = 60 * (0.8 * box["width"] - BESIDE) / (box["width"] - 2 * BESIDE)
    until_row(page, math.floor(step) - 1)
    assert row(page) <= step + 2


@pytest.mark.parametrize("agent", [{}, CALLS_ITSELF_A_PHONE], ids=["a narrow window", "a phone"])
def test_the_drawer_is_closed_when_another_page_is_shown_and_after_a_reload(visitors, agent):
    page = drawn(visitors(link(seed=20), **PHONE, **agent))
    expand = page.get_by_role("button", name="Expand sidebar")
    for name in ("Anatomy", "Maps"):
        expand.tap()
        page.get_by_role("link", name=name, exact=True).tap()
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
        expect(expand).to_be_visible()
    expand.tap()
    expect(expand).to_be_hidden()
    page.reload()
    expect(expand).to_be_visible()


def test_a_button_opens_the_drawer_at_the_settings_and_it_can_be_closed_there(visitors):
    page = drawn(visitors(link(seed=20), **PHONE))
    copy = page.get_by_role("button", name="Copy link")
    for _ in range(2):
        button(page, "Settings").tap()
        expect(page.get_by_role("combobox", name="Norm")).to_be_in_viewport()
        expect(copy).to_be_hidden()
        page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").tap()
        expect(page.get_by_role("button", name="Expand sidebar")).to_be_visible()
    expect(copy).to_be_visible()


@pytest.mark.parametrize("net", ["mlp", "transformer"])
def test_the_diagram_of_a_block_is_whole(visitors, net):
    page = settled(visitors(f"/anatomy?depth=6&width=16&net={net}", **PHONE))
    diagram = page.get_by_role("img", name=f"Block diagram: {net}")
    expect(diagram).to_have_count(1)
    room = page.get_by_role("group", name="Block diagram").evaluate("el => [el.scrollWidth, el.clientWidth]")
    assert room[0] <= room[1]
    wide = float(diagram.get_attribute("viewBox").split()[2])
    assert diagram.bounding_box()["width"] >= MIN_SCALE * wide


def test_the_cosine_below_ten_samples_stands_on_one_line(visitors):
    page = visitors("/", **PHONE)
    outcome = page.get_by_text("After block 32 they stay distinct (mean cosine 0.53).")
    lines = """(el) => {
        const [words, range] = [el.firstChild, document.createRange()]
        range.setStart(words, words.data.indexOf("("))
        range.setEnd(words, words.length)
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
    }"""
    assert outcome.evaluate(lines) == 1


@pytest.mark.parametrize("width", [390, 1200])
def test_a_teachers_button_lies_over_nothing(visitors, width):
    page = settled(visitors("/teacher"))
    page.get_by_role("link", name="Playground").click()
    add = page.get_by_role("button", name="Add to the plan")
    add.wait_for()
    page.set_viewport_size({"width": width, "height": 844})
    header = page.get_by_test_id(re.compile("^(stTopNavLink|stTopNavSection|stExpandSidebarButton|stHeaderLogo)$"))
    title, copy = page.get_by_role("heading", level=1), page.get_by_role("button", name="Copy link")
    laid_out(still(page), add, copy, title, *(part for part in header.all() if part.is_visible()))


def test_the_menu_says_that_it_is_one(visitors):
    page = visitors("/", **PHONE)
    menu = page.get_by_role("button", name=re.compile("^Menu"))
    expect(menu).to_be_visible()
    assert menu.evaluate("el => getComputedStyle(el, '::after').content") == '"Menu"'
    box = menu.bounding_box()
    assert min(box["width"], box["height"]) >= 44
    laid_out(page, menu, page.get_by_role("button", name="Copy link"), page.get_by_test_id("stHeaderLogo"))
    menu.tap()
    expect(page.get_by_role("link", name="Anatomy", exact=True)).to_be_in_viewport()


def test_train_stands_on_start_s_first_screen(visitors):
    page = settled(visitors("/", **PHONE))
    until(page, lambda: page.locator(".sample-paths .dot").count() == 40, "forty digits")
    train = page.get_by_role("button", name="Train all four").bounding_box()
    tour = page.get_by_role("link", name="Next: the story").bounding_box()
    assert train["y"] + train["height"] <= tour["y"]
    guesses = page.locator(".sample-paths fieldset button").all()
    assert len(guesses) == 8
    for guess in guesses:
        guess.tap(trial=True)


# Every press on a page that is not Streamlit's own header or an instrument over a plot, smaller than a finger.
SMALL_TARGETS = """() => [...document.querySelectorAll("a[href], button, summary, select, input, [role=button], [role=radio]")].flatMap((el) => {
    const target = el.closest("label, .stSelectbox [role=group]") ?? el
    const { width, height } = target.getBoundingClientRect()
    const isSeen = el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && width > 1
    const isOwn = !el.closest("[data-testid=stHeader], [data-testid=stSidebar], .modebar, .stMarkdown p")
        && el.dataset.testid !== "stTooltipHoverTarget" && !el.closest("[data-testid=stTooltipIcon]")
    return isSeen && isOwn && Math.min(width, height) < 44 ? [`${el.ariaLabel || el.innerText} ${width}x${height}`] : []
})"""


@pytest.mark.parametrize("path", ["/", "/story", "/lessons"])
def test_everything_pressed_is_as_large_as_a_finger(visitors, path):
    page = settled(visitors(path, **PHONE))
    page.get_by_role("link", name=re.compile("^Next: ")).wait_for()
    until(page, lambda: page.locator(".player[data-draws]").count() or path == "/lessons", "the player")
    assert settled(page).evaluate(SMALL_TARGETS) == []


@pytest.mark.parametrize("norm", ["pre-norm", "post-norm"])
def test_the_labs_map_is_pressed_by_fingers(visitors, norm):
    page = settled(visitors(f"/labs?norm={norm}", **PHONE))
    page.get_by_role("button", name="attention", exact=True).tap()
    expect(page.get_by_role("heading", name="Attention", level=3)).to_be_visible()
    assert settled(page).evaluate(SMALL_TARGETS) == []
    desk = settled(visitors(f"/labs?norm={norm}"))
    box = desk.get_by_role("button", name="attention", exact=True).bounding_box()
    assert box["height"] < 30, "a mouse needs no more room"
