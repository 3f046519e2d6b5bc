"""What a first-time visitor meets: how soon there is a button and a picture that moves, and how much is to be read."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.browser.chromium import MISSING, chromium
from tests.load.server import serving

PRESSED, MOVES = 5.0, 1.0  # seconds: from the address to a button, from there to the picture
BUTTON = ":is(.player-main, button[kind=primary]):enabled"
PICTURES = {"/": ".sample-paths .playing", "/story": ".traveller", "/playground": ".player[data-draws]"}
# The words of each page, and at most how many: those of 2026-11-23 (e63b48e), of Start and the playground two thirds.
WORDS: dict[str, int] = {
    "/": 196,
    "/story": 287,
    "/playground": 261,
    "/compare": 221,
    "/recordings": 149,
    "/anatomy": 184,
    "/maps": 208,
    "/normalization": 133,
    "/attention": 282,
    "/gradients": 236,
    "/residual": 252,
    "/autoregression": 232,
    "/lessons": 103,
    "/claims": 353,
    "/papers": 300,
    "/glossary": 3803,
    "/teacher": 86,
}
# When each selector is first seen, in seconds since the address was opened.
WATCH = """(wanted) => {
    window.seen = {}
    const look = () => {
        for (const [name, selector] of Object.entries(wanted)) {
            if (name in seen || !document.querySelector(selector)?.checkVisibility()) continue
            seen[name] = performance.now() / 1000
        }
        requestAnimationFrame(look)
    }
    look()
}"""
# How many words of the page's main part can be seen, once they have been the same for three seconds: numbers are none,
# and what is said to a screen reader or waits in a closed list is not read.
READ = """() => new Promise((then) => {
    const clipped = (el) => {
        const { width, height } = el.getBoundingClientRect()
        return Math.min(width, height) <= 1 && getComputedStyle(el).overflow !== "visible"
    }
    const unseen = (el) => {
        if (el.closest("style, script, select, .katex-mathml")) return true
        if (!el.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return true
        for (let at = el; at; at = at.parentElement) if (clipped(at)) return true
        return false
    }
    const read = () => {
        const words = []
        const main = document.querySelector("main, [data-testid=stMain]")
        const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
        while (walk.nextNode()) {
            const { data, parentElement } = walk.currentNode
            const found = data.split(/\\s+/).filter((word) => /\\p{L}/u.test(word))
            if (found.length && !unseen(parentElement)) words.push(...found)
        }
        return words
    }
    let [last, since] = ["", performance.now()]
    const look = () => {
        const words = read()
        const text = words.join(" ")
        if (text !== last) [last, since] = [text, performance.now()]
        if (performance.now() - since > 3000) then(words.length)
        else setTimeout(look, 100)
    }
    look()
})"""


def eye(pictures: Mapping[str, str] = PICTURES, pages: Sequence[str] = tuple(WORDS), rounds: int = 5) -> list[Figure]:
    """Of the pages of some `pictures` how soon both are there, with an empty cache; of `pages` their words.

    Server and trainer are warm, and know the nets.
    """
    with chromium() as driven, serving() as app:
        if driven is None:
            return [Figure("address opened to a button", None, note=MISSING)]
        app.wait_for(b'"ready"')
        figures = []
        for path, picture in pictures.items():
            seen = [_seen(driven, app.url + path, picture) for _ in range(rounds + 1)][1:]  # the first warms all of it
            buttons = [one["button"] for one in seen]
            waits = [max(one["picture"] - one["button"], 0.0) for one in seen]
            figures += [
                Figure(f"{path} opened to a button", median(buttons), "s", at_most=PRESSED, note=spread(buttons)),
                Figure(f"{path} button to the picture", median(waits), "s", at_most=MOVES, note=spread(waits)),
            ]
        return figures + [
            Figure(f"{path} words", words(driven, app.url + path), at_most=WORDS.get(path)) for path in pages
        ]


def words(driven: Any, address: str) -> int:
    """How many words of a page can be seen before anything is pressed."""
    page = driven.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.goto(address)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"] :is(h1, .player-main)').first.wait_for()
    found = int(page.evaluate(READ))
    page.context.close()
    return found


def _seen(driven: Any, address: str, picture: str) -> dict[str, float]:
    page = driven.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.add_init_script(f"({WATCH})({{button: {BUTTON!r}, picture: {picture!r}}})")
    page.goto(address)
    page.wait_for_function("() => seen.button && seen.picture")
    found: dict[str, float] = page.evaluate("seen")
    page.context.close()
    return found
