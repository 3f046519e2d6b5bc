"""A class on one small server: everybody opens the page, then everybody trains a run of their own."""

import asyncio
from contextlib import AsyncExitStack
from statistics import median

from benchmarks.report import Figure
from benchmarks.serving import PAGE, ready, step_of, with_server
from benchmarks.timing import percentile, spread
from tests.load.server import Server
from tests.load.viewer import Viewer


def load(sessions: int = 30, seconds: float = 30.0, gap: float = 0.2, query: str = "steps=2000") -> list[Figure]:
    """Reruns, errors, progress and memory. `gap`: seconds between two visitors; the runs differ in their seeds."""

    async def measure(server: Server) -> list[Figure]:
        async with AsyncExitStack() as stack:
            viewers = []
            for at in range(sessions):
                viewers.append(await stack.enter_async_context(Viewer(server.url, PAGE, f"{query}&seed={at + 1}")))
                await asyncio.sleep(gap)
            opening = await _opened(viewers)
            await _train(viewers, gap)
            await asyncio.sleep(seconds / 2)
            halfway = [step_of(viewer) for viewer in viewers]
            await asyncio.sleep(seconds / 2)
            return [*_figures(viewers, halfway), opening, Figure("memory", server.memory() / 1e9, "GB", at_most=1.5)]

    return with_server(measure)


async def _opened(viewers: list[Viewer]) -> Figure:
    for viewer in viewers:
        await ready(viewer)
    reruns = [rerun for viewer in viewers for rerun in viewer.reruns]
    return Figure(f"p95 of a rerun while {len(viewers)} open the page", percentile(reruns, 95), "s", note=spread(reruns))


async def _train(viewers: list[Viewer], gap: float) -> None:
    for viewer in viewers:
        viewer.reruns.clear()
        await viewer.press("Train")
        await asyncio.sleep(gap)


def _figures(viewers: list[Viewer], halfway: list[int]) -> list[Figure]:
    reruns = [rerun for viewer in viewers for rerun in viewer.reruns]
    problems = [problem for viewer in viewers for problem in viewer.exceptions]
    advanced = [step_of(viewer) - before for viewer, before in zip(viewers, halfway, strict=True)]
    return [
        Figure(f"p95 of a rerun, {len(viewers)} training", percentile(reruns, 95), "s", at_most=0.8, note=spread(reruns)),
        Figure("errors", len(problems), at_most=0, note=problems[0] if problems else ""),
        Figure("steps of the slowest run, second half", min(advanced), at_least=1, note=f"median {median(advanced):g}"),
    ]
