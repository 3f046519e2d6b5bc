"""The stage beside the page of today: redraws, drags and keys in one Chromium, and what a viewer costs the server."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import uvicorn
from starlette.applications import Starlette
from websockets.asyncio.client import connect

from benchmarks.report import Figure
from benchmarks.serving import PAGE, ready
from benchmarks.timing import percentile, spread
from components.stage.lines import HEAD
from components.stage.route import routes
from components.stage.tickets import TICKETS
from models.service.client import Owner, close_trainer, key_of, trainer
from models.spec import RunConfig
from tests.load.server import Server, serving
from tests.load.viewer import Viewer

DEMO = Path("tests/stage/demo.py")
OLD, NEW = "today's page", "the stage"
ALL = 10**6

# Counts what plotly is asked to draw, and how long the page takes for each of its frames.
WATCH = """() => {
  window.seen = { drawn: 0, at: 0, frames: [] }
  const react = window.Plotly.react
  window.Plotly.react = (...all) => {
    const done = react(...all)
    window.seen.drawn += 1
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


def stage(
    seconds: float = 5.0, keys: int = 15, viewers: int = 10, crowd: tuple[int, ...] = (30, 60), **size: int
) -> Iterator[Figure]:
    """Both pages with the same three charts, one after the other; then the server with many who watch. `size`: of the net."""
    yield from _browsers(seconds, keys, size)
    yield from _processor(seconds, viewers, size)
    for many in crowd:
        yield _arrivals(many, seconds, size)


def _query(**fields: int) -> str:
    return "&".join(f"{name}={value}" for name, value in fields.items())


def _browsers(seconds: float, keys: int, size: dict[str, int]) -> Iterator[Figure]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None or find_spec("playwright") is None:
        yield Figure("redraws a second while training", None, note="no chromium or no playwright here")
        return
    from playwright.sync_api import sync_playwright

    rates = {}
    with sync_playwright() as playwright, serving("app.py") as app, serving(DEMO) as demo:
        driven = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for what, server, path in ((OLD, app, "/playground"), (NEW, demo, "/")):
            server.wait_for(b'"ready"')
            tab = driven.new_context(viewport={"width": 1280, "height": 900}).new_page()
            tab.set_default_timeout(120_000)
            tab.goto(f"{server.url}{path}?{_query(seed=77, **size)}&tells=never")
            for name in ("Activation", "Gradient", "Loss"):
                tab.locator(f'[role=figure][aria-label^="{name}"] .main-svg').first.wait_for()
            tab.evaluate(WATCH)
            rates[what], figures = _played(tab, what, seconds)
            yield from figures
            yield from _scrubbed(tab, what, seconds, keys)
            tab.context.close()
        driven.close()
    yield Figure("redraws a second, the stage / today's page", rates[NEW] / max(rates[OLD], 1e-9), at_least=8)


def _played(tab: Any, what: str, seconds: float) -> tuple[float, list[Figure]]:
    tab.get_by_role("button", name="Train").first.click()
    tab.get_by_role("button", name="Pause").first.wait_for()
    tab.wait_for_function(f"() => ({SHOWN})() > 0")
    tab.evaluate("() => { window.seen.drawn = 0; window.seen.frames = [] }")
    began = time.perf_counter()
    tab.wait_for_timeout(1000 * seconds)
    drawn, frames = tab.evaluate("() => [window.seen.drawn, window.seen.frames]")
    rate = drawn / 3 / (time.perf_counter() - began)
    slow = sum(frame > 100 for frame in frames) / max(len(frames), 1)
    note = f"{len(frames)} frames, median {median(frames):.0f} ms" if frames else ""
    return rate, [
        Figure(f"redraws a second of each chart while training, {what}", rate),
        Figure(f"frames over 100 ms, {what}", slow, at_most=0.05 if what == NEW else None, note=note),
    ]


def _scrubbed(tab: Any, what: str, seconds: float, keys: int) -> list[Figure]:
    """A drag over the whole scrubber, and single keys, once the run is over."""
    tab.get_by_role("button", name="Train").first.wait_for()
    handle = tab.get_by_role("slider", name="Step shown")
    track = handle if what == NEW else tab.locator('[data-testid="stSlider"]').filter(has=handle).last
    box, thumb = track.bounding_box(), handle.bounding_box()
    middle = thumb["y"] + thumb["height"] / 2
    tab.mouse.move(box["x"] + box["width"] - 8, middle)
    tab.mouse.down()
    tab.evaluate("() => { window.seen.drawn = 0 }")
    began = time.perf_counter()
    while (gone := (time.perf_counter() - began) / seconds) < 1:
        tab.mouse.move(box["x"] + (box["width"] - 16) * (1 - 0.95 * gone), middle)
        tab.wait_for_timeout(12)  # as often as a mouse tells
    rate = tab.evaluate("() => window.seen.drawn") / 3 / (time.perf_counter() - began)
    tab.mouse.up()
    tab.wait_for_timeout(1500)  # the server's answer to the drag, where there is one
    handle.focus()
    taken = [_pressed(tab) for _ in range(keys)]
    at_most, at_least = (100, 8) if what == NEW else (None, None)
    return [
        Figure(f"redraws a second in a drag, {what}", rate, at_least=at_least),
        Figure(f"arrow key to the redrawn chart, {what}", median(taken), "ms", at_most=at_most, note=spread(taken)),
    ]


def _pressed(tab: Any) -> float:
    """Milliseconds from a key to the end of the last picture that it makes."""
    before = tab.evaluate(SHOWN)
    tab.keyboard.press("ArrowRight" if before < 5 else "ArrowLeft")
    tab.wait_for_function(f"(before) => ({SHOWN})() !== before && window.seen.at > window.seen.pressed", arg=before)
    return float(tab.evaluate("() => window.seen.at - window.seen.pressed"))


# --- the server ---


def _spent(server: Server) -> float:
    """Processor seconds of the server's own process (Linux)."""
    spent = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


def _processor(seconds: float, viewers: int, size: dict[str, int]) -> Iterator[Figure]:
    """Processor time of the server's own process for each viewer of a run of his own, in shares of a core."""
    fields = {"steps": 5000} | size

    async def old(server: Server) -> float:
        async with AsyncExitStack() as stack:
            for at in range(viewers):
                viewer = await stack.enter_async_context(Viewer(server.url, PAGE, _query(seed=at, **fields)))
                await ready(viewer)
                await viewer.press("Train")
            before, began = _spent(server), time.perf_counter()
            await asyncio.sleep(seconds)
            return (_spent(server) - before) / (time.perf_counter() - began) / viewers

    with serving("app.py") as app:
        app.wait_for(b'"ready"')
        today = asyncio.run(old(app))
    before = 0.0
    with _crowd(viewers, seconds, fields) as (_, share):
        before = share() / viewers
    yield Figure(f"share of a core for each of {viewers} viewers, {OLD}", today)
    yield Figure(f"share of a core for each of {viewers} viewers, {NEW}", before, at_most=today / 5)


def _arrivals(viewers: int, seconds: float, size: dict[str, int]) -> Figure:
    """From a row that the trainer has filed to the browser that has it."""
    with _crowd(viewers, 3 * seconds, {"steps": 5000} | size) as (late, _):  # the first of many runs take a while to begin
        goal = 0.5 if viewers <= 30 else 1.0
        what = f"p95 of a row's way to its viewer, {viewers} runs"
        return Figure(what, percentile(late, 95), "s", at_most=goal, note=spread(late))


@contextmanager
def _crowd(viewers: int, seconds: float, fields: dict[str, int]) -> Iterator[tuple[list[float], Any]]:
    """The route in this process, and as many clients in another, each with a run of his own.

    Gives the seconds that every row took from the trainer's message to its client, and the share of a core that it cost here.
    """
    cfgs = [
        RunConfig.from_query({name: str(value) for name, value in {**fields, "seed": at}.items()})[0] for at in range(viewers)
    ]
    filed: dict[str, list[tuple[float, int]]] = {key_of(cfg): [] for cfg in cfgs}
    tapes = {key_of(cfg): trainer().tape(cfg) for cfg in cfgs}

    def hear(key: str) -> None:
        if key in filed:
            filed[key].append((time.monotonic(), tapes[key].length))

    trainer().listen(hear)
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port = asked.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes()), host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    runs = {key: TICKETS.hand(Owner(f"viewer {at}", "", "", frozenset({key}))) for at, key in enumerate(filed)}
    while trainer().status().state == "starting" or not server.started:
        time.sleep(0.05)
    began, spent = time.monotonic(), time.process_time()
    task = json.dumps({"url": f"ws://127.0.0.1:{port}/tape", "runs": runs, "seconds": seconds})
    told = subprocess.run([sys.executable, "-m", "benchmarks.stage"], input=task, capture_output=True, text=True, check=True)
    share = (time.process_time() - spent) / (time.monotonic() - began)
    server.should_exit = True
    thread.join()
    close_trainer()
    late = []
    for key, came in json.loads(told.stdout).items():
        waiting = list(filed[key])
        for at, length in came:
            while waiting and waiting[0][1] <= length:
                late.append(max(0.0, at - waiting.pop(0)[0]))
    yield late or [0.0], lambda: share


async def _client(url: str, key: str, ticket: str, end: float) -> list[tuple[float, int]]:
    """One viewer: when how many rows had come."""
    came = []
    async with connect(url, max_size=None) as connection:
        run = {"link": key, "want": ALL}
        await connection.send(json.dumps({"kind": "hello", "turn": 1, "ticket": ticket, "runs": [run]}))
        try:
            async with asyncio.timeout(end - time.monotonic()):
                async for message in connection:
                    if isinstance(message, bytes):
                        _, start, count, _ = HEAD.unpack_from(message)
                        came.append((time.monotonic(), start + count))
        except TimeoutError:
            pass
    return came


async def _clients(task: dict[str, Any]) -> dict[str, list[tuple[float, int]]]:
    end = time.monotonic() + task["seconds"]
    came = await asyncio.gather(*(_client(task["url"], key, ticket, end) for key, ticket in task["runs"].items()))
    return dict(zip(task["runs"], came, strict=True))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_clients(json.load(sys.stdin)))))
