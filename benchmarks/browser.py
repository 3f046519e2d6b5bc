"""The engine in the browser beside torch: steps a second with whole rows, the first row, sizes, frames, memory."""

import gzip
import json
import time
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.report import Figure
from components.player.engine import engine
from components.player.file import player_file
from components.playground.picture import file_panels
from models.export import title_of
from models.spec import RunConfig
from models.training import Run
from tests.browser.chromium import MISSING, chromium

# Nets, and how many times torch's steps a second the engine should reach.
NETS = {
    RunConfig(depth=16, width=32, device="cpu", steps=5000): 3.0,
    RunConfig(depth=32, width=64, device="cpu", steps=5000): 1.2,
    RunConfig(net="transformer", device="cpu", steps=5000): None,
}
ROUNDS, STEPS = 12, 20  # of each engine in turn
LONG = 3000  # steps of a run whose memory is bounded
# Milliseconds until a worker has sent so many rows of a run.
OPEN = """([given, links]) => {
  const kernels = Uint8Array.from(atob(given.kernels), (letter) => letter.charCodeAt(0))
  window.engine = new Worker(URL.createObjectURL(new Blob([given.script])))
  engine.postMessage({ kind: "open", wants: [1], ...given, script: "", kernels, links })
}"""
TRAIN = """(want) => new Promise((resolve) => {
  const began = performance.now()
  engine.onmessage = ({ data }) => {
    if (data.kind === "rows" && data.start + data.count >= want) resolve(performance.now() - began)
  }
  engine.postMessage({ kind: "want", wants: [want] })
})"""
PRESS = """() => new Promise((resolve) => {
  const began = performance.now()
  const player = document.querySelector(".pinned")
  const look = () => {
    if (Number(player.dataset.step) > 0) resolve(performance.now() - began)
    else requestAnimationFrame(look)
  }
  player.querySelector(".player-main").click()
  look()
})"""
FRAMES = """() => new Promise((resolve) => {
  let [frames, began] = [0, performance.now()]
  const count = () => {
    frames++
    if (performance.now() - began < 2000) requestAnimationFrame(count)
    else resolve(frames / 2)
  }
  requestAnimationFrame(count)
})"""


def browser(rounds: int = ROUNDS, steps: int = STEPS, long: int = LONG) -> Iterable[Figure]:
    """Figures of Chromium on this machine; without one, of the sizes alone."""
    cfg = RunConfig(depth=16, width=32, device="cpu", steps=long)
    _, panels, under = file_panels(cfg)
    page = player_file(title_of(cfg), [cfg], panels, under=under, trains=True)
    yield Figure("a page that trains, with plotly", len(page.encode()) / 1e6, "MB", at_most=1.3)
    parts = (engine()["script"].encode(), b64decode(engine()["kernels"]), json.dumps(engine()["schema"]).encode())
    script, kernels, settings = (len(gzip.compress(part)) / 1e3 for part in parts)
    note = f"and {settings:.1f} kB of settings"
    yield Figure("the engine with its kernels, gzip", script + kernels, "kB", at_most=20, note=note)
    with chromium() as chrome, TemporaryDirectory() as folder:
        if chrome is None:
            yield Figure("steps a second over torch's", None, note=MISSING)
            return
        for cfg, goal in NETS.items():
            yield _steps(chrome.new_page(), cfg, goal, rounds, steps)
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        yield from _page(chrome.new_page(), file, long)


def _steps(tab: Any, cfg: RunConfig, goal: float | None, rounds: int, steps: int) -> Figure:
    run = Run(cfg)
    tab.goto("about:blank")
    tab.evaluate(OPEN, [engine(cfg.task), [cfg.to_query()]])
    ours, torchs = [], []
    for number in range(rounds):
        ours.append(tab.evaluate(TRAIN, (number + 1) * steps) / steps)
        began = time.perf_counter()
        run.advance(steps)
        torchs.append(1e3 * (time.perf_counter() - began) / steps)
    tab.close()
    note = f"best of {rounds}: {min(ours):.2f} ms a step here, {min(torchs):.2f} torch"
    name = f"steps a second over torch's, {cfg.net} of {cfg.depth} x {cfg.width}"
    return Figure(name, min(torchs) / min(ours), "times", at_least=goal, note=note)


def _page(tab: Any, file: Path, long: int) -> Iterable[Figure]:
    """Figures of a page that trains a run of `long` steps."""
    tab.goto(file.as_uri())
    status = tab.locator(".pinned .player-status")
    tab.locator(".pinned[data-draws]").wait_for()  # row 0 is there
    yield Figure("first row after the press", tab.evaluate(PRESS) / 1e3, "s", at_most=0.3)
    yield Figure("animation frames while it trains", tab.evaluate(FRAMES), "a second", at_least=50)
    status.get_by_text("done").wait_for(timeout=600_000)
    heap = tab.evaluate("performance.memory.usedJSHeapSize") / 1e6
    yield Figure(f"memory of the page after {long:,} steps", heap, "MB", at_most=200)
