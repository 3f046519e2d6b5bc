"""The stage in one Chromium: redraws, drags and keys on the playground."""

import shutil
import time
from collections.abc import Iterator
from importlib.util import find_spec
from statistics import median
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.load.server import serving
from tests.load.viewer import PAGE

BEFORE = 2.0  # redraws a second of each chart when the server drew every frame, at commit 67bd60d

# Counts how often plotly is asked to draw the loss, and how long the page takes for each of its frames.
WATCH = """() => {
  window.seen = { drawn: 0, at: 0, frames: [] }
  const react = window.Plotly.react
  window.Plotly.react = (...all) => {
    const done = react(...all)
    window.seen.drawn += all[0].getAttribute("aria-label").startsWith("Loss")
    Promise.resolve(done).then(() => { window.seen.at = performance.now() })
    return done
  }
  window.addEventListener("keydown", () => { window.seen.pressed = performance.now() }, true)
  let before = performance.now()
  const frame = (now) => { window.seen.frames.push(now - before); before = now; requestAnimationFrame(frame) }
  requestAnimationFrame(frame)
}"""
SHOWN = """() => {
  const el = document.querySelector('[role=figure][aria-label^="Loss"]')
  return el?.layout?.shapes?.findLast((shape) => shape.yref === "paper")?.x0 ?? -1
}"""


def stage(seconds: float = 5.0, keys: int = 15, **size: int) -> list[Figure]:
    """A run of `size` that plays, a drag over the whole scrubber, and so many arrow keys."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None or find_spec("playwright") is None:
        return [Figure("redraws a second while training", None, note="no chromium or no playwright here")]
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, serving() as app:
        driven = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        app.wait_for(b'"ready"')
        tab = driven.new_context(viewport={"width": 1280, "height": 900}).new_page()
        tab.set_default_timeout(120_000)
        tab.goto(f"{app.url}/{PAGE}?" + "&".join(f"{name}={value}" for name, value in {"seed": 77, **size}.items()))
        for name in ("Activation", "Gradient", "Loss"):
            tab.locator(f'[role=figure][aria-label^="{name}"] .main-svg').first.wait_for()
        tab.evaluate(WATCH)
        figures = [*_played(tab, seconds), *_scrubbed(tab, seconds, keys)]
        driven.close()
    return figures


def _played(tab: Any, seconds: float) -> Iterator[Figure]:
    tab.get_by_role("button", name="Train").first.click()
    tab.get_by_role("button", name="Pause").first.wait_for()
    tab.wait_for_function(f"() => ({SHOWN})() > 0")
    tab.evaluate("() => { window.seen.drawn = 0; window.seen.frames = [] }")
    began = time.perf_counter()
    tab.wait_for_timeout(1000 * seconds)
    drawn, frames = tab.evaluate("() => [window.seen.drawn, window.seen.frames]")
    rate = drawn / (time.perf_counter() - began)
    note = f"{BEFORE:g} when the server drew every frame (67bd60d)"
    yield Figure("redraws a second while training", rate, at_least=8 * BEFORE, note=note)
    slow = sum(frame > 100 for frame in frames) / max(len(frames), 1)
    note = f"{len(frames)} frames, median {median(frames):.0f} ms" if frames else ""
    yield Figure("frames over 100 ms while training", slow, at_most=0.05, note=note)


def _scrubbed(tab: Any, seconds: float, keys: int) -> Iterator[Figure]:
    """A drag over the whole scrubber, and single keys, once the run is over."""
    tab.get_by_role("button", name="Train").first.wait_for()
    handle = tab.get_by_role("slider", name="Step shown")
    box = handle.bounding_box()
    tab.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.evaluate("() => { window.seen.drawn = 0 }")
    began = time.perf_counter()
    while (gone := (time.perf_counter() - began) / seconds) < 1:
        tab.mouse.move(box["x"] + (box["width"] - 16) * (1 - 0.95 * gone), box["y"] + box["height"] / 2)
        tab.wait_for_timeout(12)  # as often as a mouse tells
    rate = tab.evaluate("() => window.seen.drawn") / (time.perf_counter() - began)
    tab.mouse.up()
    yield Figure("redraws a second in a drag", rate, at_least=8)
    tab.wait_for_timeout(1500)  # the server's answer to the drag
    handle.focus()
    taken = [_pressed(tab) for _ in range(keys)]
    yield Figure("arrow key to the redrawn chart", median(taken), "ms", at_most=100, note=spread(taken))


def _pressed(tab: Any) -> float:
    """Milliseconds from a key to the end of the last picture that it makes."""
    before = tab.evaluate(SHOWN)
    tab.keyboard.press("ArrowRight" if before < 5 else "ArrowLeft")
    tab.wait_for_function(f"(before) => ({SHOWN})() !== before && window.seen.at > window.seen.pressed", arg=before)
    return float(tab.evaluate("() => window.seen.at - window.seen.pressed"))
