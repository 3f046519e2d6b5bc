"""The player in one Chromium: redraws, drags and keys on the playground."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.browser.chromium import MISSING, chromium
from tests.load.server import serving
from tests.load.viewer import PAGE

# Counts how often plotly is asked to draw each chart, and how long the page takes for each of its frames.
WATCH = """() => {
  window.seen = { drawn: {}, at: {}, frames: [] }
  const react = window.Plotly.react
  window.Plotly.react = (...all) => {
    const done = react(...all)
    const chart = all[0].getAttribute("aria-label").match(/\\w+/)[0]
    window.seen.drawn[chart] = 1 + (window.seen.drawn[chart] ?? 0)
    Promise.resolve(done).then(() => { window.seen.at[chart] = performance.now() })
    return done
  }
  window.addEventListener("keydown", () => { window.seen.pressed = performance.now() }, true)
  let before = performance.now()
  const frame = (now) => { window.seen.frames.push(now - before); before = now; requestAnimationFrame(frame) }
  requestAnimationFrame(frame)
}"""
STEP = "() => Number(document.querySelector('.player[data-step]')?.dataset.step)"
PROFILES = ("Signal", "Gradient")  # what moves with the playhead; the loss grows while a run trains
FEWEST = "(charts) => Math.min(...charts.map((chart) => window.seen.drawn[chart] ?? 0))"
LATEST = """(charts) => {
  const at = charts.map((chart) => window.seen.at[chart] ?? 0)
  return Math.min(...at) > window.seen.pressed && Math.max(...at) - window.seen.pressed
}"""


# Milliseconds from a press on what is `named` in the drawing of a net until its blocks say other sizes.
PRESS = """(named) => new Promise((then) => {
  const blocks = document.querySelector(".breaks .player-blocks")
  const sizes = () => [...blocks.children].map((block) => block.ariaLabel.match(/signal.*gradient [^,;]*/)?.[0]).join()
  const [before, began] = [sizes(), performance.now()]
  const look = new MutationObserver(() => {
    if (sizes() === before) return
    look.disconnect()
    then(performance.now() - began)
  })
  look.observe(blocks, { subtree: true, childList: true, attributeFilter: ["aria-label"] })
  document.querySelector(named).click()
})"""

NO_BROWSER = Figure("redraws a second while training", None, note=MISSING)


@contextmanager
def _tab(size: dict[str, int]) -> Iterator[Any]:
    """A browser's only tab on the playground, with its charts drawn and counted; None where there is no browser."""
    with ExitStack() as stack:
        driven = stack.enter_context(chromium())
        if driven is None:
            yield None
            return
        app = stack.enter_context(serving())
        app.wait_for(b'"ready"')
        tab = driven.new_context(viewport={"width": 1280, "height": 900}).new_page()
        tab.set_default_timeout(120_000)
        tab.goto(f"{app.url}/{PAGE}?" + "&".join(f"{name}={value}" for name, value in {"seed": 77, **size}.items()))
        for name in (*PROFILES, "Loss"):
            tab.locator(f'[role=figure][aria-label^="{name}"] .main-svg').first.wait_for()
        tab.evaluate(WATCH)
        yield tab


def player(seconds: float = 5.0, keys: int = 15, **size: int) -> list[Figure]:
    """Redraws of a run of `size` that plays, in a drag over the whole scrubber, and after arrow keys."""
    with _tab(size) as tab:
        return [NO_BROWSER] if tab is None else [*_played(tab, seconds), *_scrubbed(tab, seconds, keys)]


def deep(seconds: float = 5.0) -> list[Figure]:
    """A drag over a net of 128 blocks."""
    with _tab({"depth": 128, "width": 8, "batch": 8, "steps": 60}) as tab:
        if tab is None:
            return [NO_BROWSER]
        tab.get_by_role("button", name="Train").first.click()
        tab.wait_for_function("() => document.querySelector('.player[data-step]')?.dataset.step === '60'")
        return [_dragged(tab, seconds, at_least=8)]


def log(steps: int = 5000, seconds: float = 5.0, **size: int) -> list[Figure]:
    """The longest and deepest log: the memory of the page that holds all of it, and a drag over it."""
    size = {"depth": 128, "width": 8, "batch": 8} | size
    with _tab({"steps": steps, **size}) as tab:
        if tab is None:
            return [NO_BROWSER]
        tab.get_by_role("combobox", name="Speed", exact=True).select_option("full speed")
        tab.get_by_role("button", name="Train").first.click()
        tab.wait_for_function(
            f"() => document.querySelector('.player[data-step]')?.dataset.step === '{steps}'", timeout=1_800_000
        )
        note = f"{_proportional_bytes(tab) / 1e6:.0f} MB before the browser collected its garbage"
        tab.context.new_cdp_session(tab).send("HeapProfiler.collectGarbage")
        held = _proportional_bytes(tab) / 1e6
        return [
            Figure(f"memory of a page with {steps} steps", held, "MB", at_most=300, note=note),
            _dragged(tab, seconds, at_least=8),
        ]


def _proportional_bytes(tab: Any) -> float:
    """Memory of the largest process that draws a page, what processes share divided among them."""
    session = tab.context.browser.new_browser_cdp_session()
    drawing = [
        one["id"] for one in session.send("SystemInfo.getProcessInfo")["processInfo"] if one["type"] == "renderer"
    ]
    rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in drawing]
    return max(float(re.findall(r"^Pss: +(\d+) kB", one, re.MULTILINE)[0]) * 1024 for one in rollups)


def press(times: int = 10, path: str = "") -> Iterator[Figure]:
    """From a press on the drawing of a net to the profile of the net that it makes, measured before and not."""
    with chromium() as driven, serving() as app:
        if driven is None:
            yield NO_BROWSER
            return
        app.wait_for(b'"ready"')
        tab = driven.new_context(viewport={"width": 1280, "height": 900}).new_page()
        tab.set_default_timeout(120_000)
        tab.goto(f"{app.url}/{path}")
        tab.locator(".breaks .player-blocks :nth-child(9)[aria-label*=gradient]").wait_for()
        blocks = [f".breaks .player-blocks :nth-child({2 + at})" for at in range(times)]
        # What the residual's first two presses lead to is not known.
        for what, pressed in {"another": blocks, "a known": [".breaks .player-line"] * (2 + times)}.items():
            taken = []
            for named in pressed:
                tab.wait_for_timeout(500)  # the answer to the last press
                taken.append(tab.evaluate(PRESS, named))
            name = f"drawing pressed to the profile of {what} net"
            yield Figure(name, median(taken[-times:]), "ms", at_most=100, note=spread(taken[-times:]))


def _played(tab: Any, seconds: float) -> Iterator[Figure]:
    tab.get_by_role("button", name="Train").first.click()
    tab.get_by_role("button", name="Pause").first.wait_for()
    tab.wait_for_function(f"() => ({STEP})() > 0")
    tab.evaluate("() => { window.seen.drawn = {}; window.seen.frames = [] }")
    began = time.perf_counter()
    tab.wait_for_timeout(1000 * seconds)
    rate = tab.evaluate(FEWEST, [*PROFILES, "Loss"]) / (time.perf_counter() - began)
    frames = tab.evaluate("() => window.seen.frames")
    yield Figure("redraws a second while training", rate, at_least=24)
    slow = sum(frame > 100 for frame in frames) / max(len(frames), 1)
    note = f"{len(frames)} frames, median {median(frames):.0f} ms" if frames else ""
    yield Figure("frames over 100 ms while training", slow, at_most=0.05, note=note)


def _scrubbed(tab: Any, seconds: float, keys: int) -> Iterator[Figure]:
    """A drag over the whole scrubber, and single keys, once the run is over."""
    yield _dragged(tab, seconds, at_least=12)
    tab.wait_for_timeout(1500)  # the server's answer to the drag
    tab.get_by_role("slider", name="Step shown").focus()
    taken = [_pressed(tab) for _ in range(keys)]
    yield Figure("arrow key to the redrawn chart", median(taken), "ms", at_most=60, note=spread(taken))


def _dragged(tab: Any, seconds: float, *, at_least: float) -> Figure:
    tab.get_by_role("button", name="Train").first.wait_for()
    box = tab.get_by_role("slider", name="Step shown").bounding_box()
    tab.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.evaluate("() => { window.seen.drawn = {} }")
    began = time.perf_counter()
    while (gone := (time.perf_counter() - began) / seconds) < 1:
        tab.mouse.move(box["x"] + (box["width"] - 16) * (1 - 0.95 * gone), box["y"] + box["height"] / 2)
        tab.wait_for_timeout(12)  # as often as a mouse tells
    rate = tab.evaluate(FEWEST, PROFILES) / (time.perf_counter() - began)
    tab.mouse.up()
    return Figure("redraws a second in a drag", rate, at_least=at_least)


def _pressed(tab: Any) -> float:
    """Milliseconds from a key to the end of the last redraw that it causes."""
    tab.keyboard.press("ArrowRight" if tab.evaluate(STEP) < 5 else "ArrowLeft")
    return float(tab.wait_for_function(LATEST, arg=PROFILES).json_value())
