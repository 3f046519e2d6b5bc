"""What a visitor does and sees on a page: buttons by their names, charts by theirs. Waits for content, never for time."""

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from playwright.sync_api import TimeoutError as NothingYet
from playwright.sync_api import expect

PATIENCE = 150_000  # milliseconds that a visitor waits for content
PROFILES = ("Signal by depth", "Gradient by depth")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SMALL = "depth=3&width=16&batch=16&steps=40"
# Every page of the navigation, as somebody finds it who has pressed nothing yet.
PAGES = (
    "/",
    "/story",
    f"/playground?{SMALL}",
    f"/compare?a={quote(SMALL)}&b={quote(SMALL + '&residual=false')}",
    "/recordings",
    f"/anatomy?{SMALL}",
    "/maps",
    "/labs",
    "/normalization",
    "/attention",
    "/gradients",
    "/residual",
    "/autoregression",
    "/lessons?lesson=final",
    "/claims",
    "/papers",
    "/glossary",
    "/teacher",
    "/question",
)


def link(**query: object) -> str:
    """The playground with a small network, and what the test wants different."""
    fields = {"depth": 4, "width": 16, "batch": 16, "steps": 60} | query
    return "/playground?" + "&".join(f"{key}={value}" for key, value in fields.items())


def button(page: Any, name: str) -> Any:
    """The button of the main area whose name starts with these words."""
    return page.get_by_role("main").get_by_role("button", name=re.compile(rf"^{name}(?!\w)"))


def by_menu(page: Any, menu: str, name: str) -> None:
    """To a page by a menu of the navigation."""
    page.get_by_role("navigation", name="App pages").get_by_role("button", name=menu, exact=True).click()
    page.get_by_role("menuitem", name=name, exact=True).click()


def choose(page: Any, select: str, option: str) -> None:
    """Picks a word of a select."""
    box = page.get_by_role("combobox", name=select, exact=True)
    if box.evaluate("el => el.tagName") == "SELECT":
        box.select_option(option)
        return
    box.click()
    page.get_by_role("option", name=option, exact=True).click()


def text(page: Any) -> str:
    """The prompt and what the net writes after it at the playhead, as the player shows them."""
    return str(page.locator(".player-text").inner_text())


def arrange(page: Any, name: str) -> None:
    """Picks an arrangement of the menu."""
    page.get_by_role("button", name=re.compile("^Arrangement: ")).click()
    page.get_by_role("menuitem", name=name, exact=True).click()


def settled(page: Any) -> Any:
    """The page, once no script runs and all its widgets have been
    loaded: what is clicked earlier may be about to be replaced.
    """
    at_rest = '[data-testid="stApp"][data-test-script-state="notRunning"]'
    page.locator(f'{at_rest}:not(:has([data-testid="stSkeleton"]))').wait_for()
    return page


def listens(page: Any) -> Any:
    """The page, once it stands still and hears the keys of a class."""
    page.locator("html.class-listens").wait_for(state="attached")
    return settled(page)


OVERLAPS = """(parts) => parts.flatMap((one, at) => parts.slice(at + 1).filter((other) => {
    const [a, b] = [one, other].map((el) => el.getBoundingClientRect())
    return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1
}).map((other) => `${one.outerHTML.slice(0, 80)} lies over ${other.outerHTML.slice(0, 80)}`))"""


def laid_out(page: Any, *parts: Any) -> None:
    """Fails where a part of the page is out of view, is cut off, or lies over another."""
    for part in parts:
        expect(part).to_be_in_viewport(ratio=0.99)
    assert page.evaluate(OVERLAPS, [part.element_handle() for part in parts]) == []


# Half a second of frames in which nothing in the page has changed.
STILL = """() => new Promise((then) => {
    let frames = 0
    const changes = new MutationObserver(() => { frames = 0 })
    changes.observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true })
    const next = () => (++frames > 30 ? then(changes.disconnect()) : requestAnimationFrame(next))
    next()
})"""


def still(page: Any) -> Any:
    """The page, once nothing in it moves or is written any more."""
    page.evaluate(STILL)
    return page


def press(page: Any, name: str) -> None:
    """Clicks a button of the main area."""
    button(page, name).click()


def chart(page: Any, name: str) -> Any:
    """A live chart by the start of its accessible name."""
    return page.get_by_role("figure", name=re.compile(f"^{name}"))


def drawn(page: Any, *names: str) -> Any:
    """The page, once these charts (the two profiles and the loss, where none are named) are drawn."""
    for name in names or (*PROFILES, "Loss"):
        chart(page, name).locator(".main-svg").first.wait_for()
    return page


NAMES = "el => (el.data ?? []).filter(({ mode }) => mode !== 'text').map((trace) => trace.name)"  # of a chart's lines


def line(page: Any, name: str, dash: str = "solid") -> list[float | None]:
    """The y values of a chart's line by its dash: solid is now, dot the previous profile. Empty where there is none."""
    return chart(page, name).evaluate(
        """(el, dash) => {
            const found = (el.data || []).find((t) => t.type === "scatter" && !["markers", "text"].includes(t.mode)
                && (t.line.dash || "solid") === dash)
            return found ? [...found.y] : []
        }""",
        dash,
    )


LAST = "((el) => (el.data ?? []).find(({ mode }) => mode?.includes('lines'))?.x.at(-1) ?? -1)"  # step of a chart's line


def last_step(page: Any) -> int:
    """The last step on the loss chart, or -1 before the first."""
    return int(chart(page, "Loss").evaluate(LAST))


def until_step(page: Any, least: int) -> None:
    """Waits until the loss chart has come to a step or past it."""
    element = chart(page, "Loss").element_handle()
    page.wait_for_function(f"([el, n]) => {LAST}(el) >= n", arg=[element, least])


def row(page: Any) -> int:
    """The step on the scrubber."""
    return int(scrubber(page).input_value())


def scrubber(page: Any) -> Any:
    """The thumb of the slider over the steps, of the first player of a page."""
    return page.get_by_role("slider", name="Step shown").first


def until(page: Any, true: Callable[[], bool], what: str) -> None:
    """Waits for something to come true that is asked from here."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not true():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        page.wait_for_timeout(100)


def until_row(page: Any, least: int) -> None:
    """Waits until the scrubber stands at a step or past it."""
    until(page, lambda: row(page) >= least, f"step {least} on the scrubber")


def until_line(page: Any, name: str, y: list[float | None]) -> None:
    """Waits until a chart's line has these values. What stands above a chart may be drawn before it."""
    until(page, lambda: line(page, name) == y, f"the line of {name}")


def until_at_rest(page: Any) -> None:
    """Waits until nothing moves any more: Train can be pressed."""
    button(page, "Train").wait_for()


def train(page: Any, steps: int = 60) -> Any:
    """Presses Train and waits for the end of a run of so many steps."""
    press(page, "Train")
    until_row(page, steps)
    until_at_rest(page)
    return page


def status(page: Any) -> Any:
    """The line that says at which step the page is, how fast and on what."""
    return page.locator(".player:not(.below) .player-status").first


def zoom(page: Any, name: str) -> list[list[float]]:
    """Draws a box with the mouse over the first third of a chart's plot; the ranges that the axes then have."""
    element = chart(page, name)
    box = element.locator(".nsewdrag").first.bounding_box()
    before = ranges(page, name)
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] - 2, steps=5)
    page.mouse.up()
    page.wait_for_function(
        "([el, end]) => el._fullLayout.xaxis.range[1] < 0.5 * end", arg=[element.element_handle(), before[0][1]]
    )
    return ranges(page, name)


def swipe(page: Any, over: Any, across: float, wander: float = 2) -> None:
    """Draws a finger 150 pixels up over an element, beginning so far across it and near its foot.

    `wander`: pixels that it goes to the right for every ten up.
    """
    box = over.bounding_box()
    x, y = box["x"] + across * box["width"], box["y"] + 0.7 * box["height"]
    finger(page, [(x + wander * at, y - 10 * at) for at in range(16)])


def drag(page: Any, over: Any, start: float, end: float) -> None:
    """Draws a finger sideways over the middle of an element, from one share of its width to another."""
    box = over.bounding_box()
    y = box["y"] + box["height"] / 2
    finger(page, [(box["x"] + (start + (end - start) * at / 15) * box["width"], y) for at in range(16)])


def finger(page: Any, points: list[tuple[float, float]]) -> None:
    """Puts a finger down on the first point, draws it over the others and lifts it."""
    finger = page.context.new_cdp_session(page)
    for at, (x, y) in enumerate(points):
        kind = "touchMove" if at else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    finger.detach()


def ranges(page: Any, name: str) -> list[list[float]]:
    """The ranges of a chart's two axes."""
    return chart(page, name).evaluate("el => [[...el._fullLayout.xaxis.range], [...el._fullLayout.yaxis.range]]")


def hover(page: Any, name: str, series: str) -> None:
    """Puts the mouse on the first visible point of a chart's series and waits for its label."""

    def labelled() -> bool:
        left, top = chart(page, name).evaluate(
            """(el, series) => {
                const box = el.getBoundingClientRect(), { xaxis, yaxis } = el._fullLayout
                const { x, y } = el.data.find((trace) => trace.name === series)
                const inside = (v, axis) => 0 < axis.d2p(v) && axis.d2p(v) < axis._length
                const at = x.findIndex((v, i) => inside(v, xaxis) && inside(y[i], yaxis))
                return [box.x + xaxis._offset + xaxis.d2p(x[at]), box.y + yaxis._offset + yaxis.d2p(y[at])]
            }""",
            series,
        )
        page.mouse.move(left - 3, top)
        page.mouse.move(left, top)
        try:
            label(page, name).wait_for(timeout=1000)
        except NothingYet:
            return False
        return True

    # A hand is never still; a mouse that is comes to nothing where the chart is being drawn at that moment.
    until(page, labelled, f"a label on {name}")


def label(page: Any, name: str) -> Any:
    """The label that a chart shows at the mouse."""
    return chart(page, name).locator(".hoverlayer .hovertext")


def address(page: Any) -> str:
    """Path and query of the address bar, which Playwright's own `page.url` lags behind."""
    return page.evaluate("location.pathname + location.search")
