"""Everybody can use it: axe-core on every page in both themes
and on a phone, the keyboard alone, no colour that stands alone.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.page import PAGES, PATIENCE, PHONE, button, chart, drawn, line, link, press, settled, train, until

SCRIPTS = Path(__file__).parents[2] / "pages"
CALM = {"reduced_motion": "reduce"}  # no colour is measured half way through a transition
# What axe finds in Streamlit's own markup, by rule: where, and why it stays. What is found elsewhere is ours.
STREAMLITS_OWN = {
    "scrollable-region-focusable": (
        ".katex-display",
        "an equation wider than its column scrolls; browsers let the keyboard scroll it, but it has no tabindex, and "
        "no option",
    ),
    "list": ('[data-testid="stSidebarNavItems"]', "the phone's navigation puts its sections in a div inside its list"),
    "listitem": ('[data-testid="stSidebarNavItems"] li', "the same: the entries of a section stand in a div"),
}

# Nothing runs, nothing is about to be replaced, every chart is drawn, no colour changes, and that for half a second.
QUIET = """() => {
    const colours = [...document.querySelectorAll("input, button, p")].map((el) => getComputedStyle(el).color).join()
    const quiet = document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning"
        && !document.querySelector('[data-stale="true"], [data-testid="stSkeleton"]')
        && [...document.querySelectorAll(".player-chart")].every((el) => el.querySelector(".main-svg") || !el.checkVisibility())
        && colours === window.colours
    window.colours = colours
    window.quietSince = quiet ? window.quietSince ?? performance.now() : undefined
    return quiet && performance.now() - window.quietSince > 500
}"""

# The inside of a chart is left out: axe cannot tell what is behind
# a text of SVG, and a figure is read by its name and table.
FINDINGS = """async (own) => {
    const { violations } = await axe.run({ exclude: [[".main-svg"]] }, { resultTypes: ["violations"] })
    return violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).flatMap(({ id, nodes }) => nodes
        .filter(({ target }) => !(own[id] && document.querySelector(target[0])?.matches(own[id])))
        .map(({ html, any, all, none }) => `${id}: ${html.slice(0, 200)} ${[...any, ...all, ...none][0]?.message}`))
}"""

# Pairs of series of one chart that differ in colour and in nothing else: dash, mark, fill or pattern.
BY_COLOUR_ALONE = """() => [...document.querySelectorAll(".player-chart")].flatMap((el) => {
    const seen = {}
    return el.data.filter(({ type, mode, visible }) => visible !== false && mode !== "text" && ["scatter", "bar"].includes(type)).flatMap((trace) => {
        const { type, mode, line, marker, fill } = trace
        const dash = mode === "markers" ? "" : line?.dash ?? "solid"
        const look = type === "bar" ? `bar ${marker?.pattern?.shape}`
            : `${mode} ${dash} ${mode === "lines" ? "" : marker?.symbol ?? "circle"} ${fill}`
        const colour = String((mode === "markers" || type === "bar" ? marker : line)?.color)
        const before = seen[look]
        seen[look] = { colour, name: trace.name }
        return before && before.colour !== colour ? [`${el.ariaLabel}: ${before.name} and ${trace.name}`] : []
    })
})"""

WIDTH = "document.documentElement.scrollWidth"

NAMELESS = """() => [...document.querySelectorAll(".js-plotly-plot, [data-testid=stDataFrame]")].filter((el) =>
    !(el.closest("[aria-label]") ?? el.querySelector("[aria-label]"))?.getAttribute("aria-label").trim()).length"""

# Streamlit slides an expander open by script, which no rule of style reaches.
MOVING = """() => document.getAnimations().filter((a) => a.transitionProperty || a.effect.getComputedTiming().duration > 1)
    .filter((a) => a.animationName || a.transitionProperty || !a.effect.target?.closest("[data-testid=stExpander]"))
    .map((a) => `${a.animationName ?? a.transitionProperty}: ${a.effect.target?.outerHTML.slice(0, 150)}`)"""


def quiet(page: Any) -> Any:
    """The page, once nothing in it changes any more."""
    page.wait_for_function(QUIET, polling=100)
    return page


def themed(page: Any, scheme: str) -> Any:
    """The page in a theme."""
    page.emulate_media(color_scheme=scheme, **CALM)
    root = "getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme"
    page.wait_for_function(f"scheme => {root} === scheme", arg=scheme)
    return quiet(page)


def findings(page: Any) -> list[str]:
    """What axe finds that is serious or critical and not Streamlit's own."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    return list(page.evaluate(FINDINGS, {rule: where for rule, (where, _) in STREAMLITS_OWN.items()}))


def on_a_wide_screen(page: Any) -> list[str]:
    """What is found in the light on a wide screen."""
    return findings(themed(page, "light"))


def on_a_phone(page: Any) -> list[str]:
    """What is found in the dark on a phone."""
    page.set_viewport_size({"width": 390, "height": 844})
    return findings(themed(page, "dark"))


def in_both_themes(page: Any) -> list[str]:
    """What is found in the light on a wide screen, and in the dark on a phone."""
    return on_a_wide_screen(page) + on_a_phone(page)


def test_every_page_of_the_navigation_is_looked_at():
    scripts = {path.stem for path in SCRIPTS.glob("*.py")} - {"navigation", "static"}  # neither is a page
    assert {path.strip("/").split("?")[0] or "start" for path in PAGES} == scripts


LOOKED_AT_FIRST = {
    "/playground": on_a_wide_screen,
    "/lessons": on_a_phone,
}


@pytest.mark.parametrize(
    ("path", "look"),
    [
        pytest.param(
            path,
            look,
            id=f"{page} {look.__name__}",
            marks=[pytest.mark.first] if LOOKED_AT_FIRST.get(page) is look else [],
        )
        for path in PAGES
        for page in [path.split("?")[0]]
        for look in (on_a_wide_screen, on_a_phone)
    ],
)
def test_axe_finds_nothing_serious_that_is_ours(visitors, path, look):
    page = visitors(path, **CALM)
    page.get_by_role("heading", level=1).wait_for()
    assert look(quiet(page)) == []
    assert page.evaluate(WIDTH) <= page.viewport_size["width"], "wider than its screen"
    assert page.evaluate(NAMELESS) == 0


def test_axe_finds_nothing_serious_after_training_and_with_an_instrument_open(visitors):
    page = train(drawn(visitors(link(seed=61), **CALM)))
    settled(page).get_by_text("Residual", exact=True).click()
    page.wait_for_url("**residual=false**")
    page.get_by_text("Look deeper").click()
    page.get_by_role("radio", name="Collapse", exact=True).click()
    drawn(page, "Cosine of samples by depth")
    assert page.evaluate(BY_COLOUR_ALONE) == []
    assert in_both_themes(page) == []
    assert page.evaluate(WIDTH) <= 390


def test_no_two_lines_of_a_comparison_are_told_apart_by_colour_alone(visitors):
    columns = "&".join(f"{name}={'depth%3D3%26width%3D16%26steps%3D40%26seed%3D'}{name}" for name in "abcd")
    page = visitors(f"/compare?{columns.replace('seed%3Da', 'norm%3Dnone')}", **CALM)
    press(drawn(page), "Train all")
    until(page, lambda: len(line(page, "Loss")) == 41, "the losses to their end")
    assert page.evaluate(BY_COLOUR_ALONE) == []
    # What it looks for, it finds; in one turn, so that the player cannot draw in between.
    same = "chart.data.forEach((trace) => { if (trace.line) trace.line = { color: trace.line.color } })"
    assert chart(page, "Loss").evaluate(f"chart => {{ {same}; return ({BY_COLOUR_ALONE})() }}") != []


# --- by keyboard ---

STOP = """() => {
    const el = document.activeElement, { x, y, width, height } = el.getBoundingClientRect()
    return el === document.body ? null
        : { x, y, width, height, name: el.ariaLabel || el.innerText.split("\\n").at(-1) || el.tagName, at: el.className }
}"""


def stops(page: Any, most: int) -> list[dict[str, Any]]:
    """Where the Tab key leads from the top of the page, and whether the focus can be seen there."""
    found: list[dict[str, Any]] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None:
            break
        left, top = max(0, stop["x"] - 8), max(0, stop["y"] - 8)
        around = {"x": left, "y": top, "width": min(stop["width"] + 16, 400), "height": min(stop["height"] + 16, 200)}
        seen = page.screenshot(clip=around, caret="initial")
        page.evaluate("() => { window.was = document.activeElement; window.was.blur() }")
        stop["visible"] = page.screenshot(clip=around, caret="initial") != seen
        page.evaluate("() => window.was.focus({ focusVisible: true, preventScroll: true })")
        found.append(stop)
    return found


@pytest.mark.parametrize(
    ("path", "reached"),
    [
        (link(seed=62), ("Train", "Step", "Reset", "Table of Signal by depth", "Residual")),
        (
            f"/anatomy?{link(seed=62).split('?')[1]}",
            ("Block 1: residual, norm", "Block 4: residual, norm", "Table of Gradient by depth"),
        ),
    ],
    ids=["playground", "anatomy"],
)
def test_the_tab_key_reaches_everything_and_shows_where_it_is(visitors, path, reached):
    page = quiet(drawn(visitors(path, viewport={"width": 1280, "height": 2200}, **CALM), "Signal by depth"))
    found = stops(page, 130)
    names = [stop["name"] for stop in found]
    for name in reached:
        assert any(one.startswith(name) for one in names), (name, names)
    assert [stop for stop in found if not stop["visible"]] == []


def pressed_by_keyboard(page: Any, place: Any, key: str = "Enter") -> None:
    """Focus and a key: no mouse."""
    place.focus()
    page.keyboard.press(key)


def test_a_run_is_trained_scrubbed_and_read_as_a_table_by_keyboard(visitors):
    page = drawn(visitors(link(seed=63)))
    pressed_by_keyboard(page, button(page, "Train"))
    until(page, lambda: len(line(page, "Loss")) == 61, "the loss to its end")
    loss = [f"{value:.4g}" for value in line(page, "Loss") if value is not None]
    pressed_by_keyboard(page, settled(page).get_by_role("button", name="Table of Loss"))
    table = page.get_by_role("region", name="Loss, table")
    read = table.locator("tr").filter(has_text="training").locator("td:last-child")
    expect(read).to_have_count(61)
    assert [f"{float(value):.4g}" for value in read.all_inner_texts()] == loss
    assert findings(page) == []
    pressed_by_keyboard(page, page.get_by_role("button", name="Chart of Loss"), "Space")
    table.wait_for(state="hidden")


def test_a_table_that_is_open_follows_its_chart(visitors):
    page = drawn(visitors(link(seed=64)))
    page.get_by_role("button", name="Table of Signal by depth").click()
    cells = page.get_by_role("region", name="Signal by depth, table").locator("td:last-child")
    expect(cells).to_have_count(5)  # the points of a stream of four blocks
    before = cells.all_inner_texts()
    page.get_by_text("Residual", exact=True).click()
    page.wait_for_url("**residual=false**")
    until(page, lambda: cells.all_inner_texts() not in ([], before), "other numbers in the table")


def test_a_block_chosen_by_keyboard_keeps_the_focus(visitors):
    page = settled(drawn(visitors(f"/anatomy?{link(seed=65).split('?')[1]}"), "Signal by depth"))
    block = page.get_by_role("button", name="Block 4: residual, norm")
    pressed_by_keyboard(page, block)
    page.get_by_role("button", name="Block 4: residual, norm", pressed=True).wait_for()
    assert page.evaluate("document.activeElement.ariaLabel") == "Block 4: residual, norm"


# --- motion ---


def test_nothing_is_animated_for_those_who_want_no_motion(visitors):
    page = drawn(visitors(link(seed=66, steps=5000), **CALM))
    assert button(page, "Train").evaluate("el => parseFloat(getComputedStyle(el).transitionDuration)") <= 0.001
    seen: list[str] = page.evaluate(MOVING)
    press(page, "Train")
    element = chart(page, "Loss").element_handle()
    for least in (5, 40):
        page.wait_for_function("([el, n]) => el.data?.[0]?.x.at(-1) >= n", arg=[element, least], timeout=PATIENCE)
        seen += page.evaluate(MOVING)
    page.get_by_text("Expert", exact=True).click()
    seen += page.evaluate(MOVING)
    page.set_viewport_size(PHONE["viewport"])
    seen += page.evaluate(MOVING)
    assert seen == []
