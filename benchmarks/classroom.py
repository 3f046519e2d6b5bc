"""A class on one small server: everybody opens the page, trains, clicks, leaves, comes back, and in the end all tabs close."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from statistics import median

from benchmarks.report import Figure
from benchmarks.serving import PAGE, ready, step_of, with_server
from benchmarks.timing import percentile, spread
from tests.load.server import Server
from tests.load.viewer import Viewer

RETURN_SECONDS = 20.0  # within which a tape that was left is shown again as far as it had been seen
LONGEST_WORK = 120.0


@dataclass
class Crowd:
    """Viewers of one server, each with what was seen last of its run. `lost`: tapes that were shorter later than before."""

    server: Server
    viewers: list[Viewer] = field(default_factory=list)
    lost: int = 0

    @property
    def reruns(self) -> list[float]:
        """Seconds of all reruns."""
        return [rerun for viewer in self.viewers for rerun in viewer.reruns]

    @property
    def problems(self) -> list[str]:
        """Exceptions that any page showed."""
        return [problem for viewer in self.viewers for problem in viewer.exceptions]

    async def train(self, gap: float) -> None:
        """Everybody presses Train; from now on reruns count."""
        for viewer in self.viewers:
            await ready(viewer)
            viewer.reruns.clear()
            await viewer.press("Train")
            await asyncio.sleep(gap)

    async def pause_and_go_on(self, viewer: Viewer) -> None:
        """Pauses, and trains on from there."""
        before = step_of(viewer)
        await viewer.press("Pause")
        await viewer.until(lambda: viewer.shows("Train"), "the pause")
        await viewer.press("Train")
        await self._seen_again(viewer, before)

    async def leave_and_return(self, viewer: Viewer) -> None:
        """Closes the tab, opens the link again in a new one, and trains: the tape is still there."""
        before = step_of(viewer)
        async with Viewer(self.server.url, PAGE, viewer.query) as again:
            await ready(again)
            await again.press("Train")
            await self._seen_again(again, before)
            viewer.exceptions += again.exceptions

    async def _seen_again(self, viewer: Viewer, before: int) -> None:
        try:
            await viewer.until(lambda: step_of(viewer) >= before, "what had been seen", RETURN_SECONDS)
        except AssertionError:
            self.lost += 1


@asynccontextmanager
async def crowd(server: Server, queries: list[str], gap: float) -> AsyncIterator[Crowd]:
    """One viewer per query, so many seconds apart; all tabs close at the end of the block."""
    async with AsyncExitStack() as stack:
        people = Crowd(server)
        for query in queries:
            people.viewers.append(await stack.enter_async_context(Viewer(server.url, PAGE, query)))
            await asyncio.sleep(gap)
        yield people


def load(sessions: int = 30, seconds: float = 30.0, gap: float = 0.2, query: str = "steps=2000") -> Iterator[Figure]:
    """A class with a run each; the same class on one preset; two classes. `gap`: seconds between two visitors."""
    yield from different(sessions, seconds, gap, query, goal=0.8, lesson=True)
    yield from preset(sessions, seconds, gap, query)
    yield from different(2 * sessions, seconds, gap, query, goal=1.5)


def different(sessions: int, seconds: float, gap: float, query: str, *, goal: float, lesson: bool = False) -> list[Figure]:
    """Everybody trains a run of their own. `lesson`: also somebody comes late, some click, some leave, and it ends."""

    async def measure(server: Server) -> list[Figure]:
        queries = [f"{query}&seed={at + 1}" for at in range(sessions)]
        async with crowd(server, queries, gap) as people:
            await people.train(gap)
            figures = await _watched(people, seconds, f"{sessions} runs", goal)
            if lesson:
                figures += [await _newcomer(server, query, sessions), await _clicks(people)]
            figures.append(Figure(f"memory, {sessions} runs", server.memory() / 1e9, "GB", at_most=1.5))
        return figures + ([await _end(server)] if lesson else [])

    return with_server(measure)


def preset(sessions: int, seconds: float, gap: float, query: str) -> list[Figure]:
    """Everybody watches the same run: a tape that is computed once."""

    async def measure(server: Server) -> list[Figure]:
        async with crowd(server, [f"{query}&seed=1"] * sessions, gap) as people:
            await people.train(gap)
            training, spent = server.health()["training"], server.processor_seconds()
            figures = await _watched(people, seconds, f"{sessions} on one run", goal=0.5)
            steps = max(map(step_of, people.viewers))
            note = f"{steps} steps; {server.processor_seconds() - spent:.1f} s of the trainer's time in {seconds:g} s"
            return [*figures, Figure(f"runs trained for {sessions} on one run", training, at_most=1, note=note)]

    return with_server(measure)


async def _watched(people: Crowd, seconds: float, what: str, goal: float) -> list[Figure]:
    """Reruns while all train, errors, and whether every run goes on."""
    await asyncio.sleep(seconds / 2)
    halfway = [step_of(viewer) for viewer in people.viewers]
    await asyncio.sleep(seconds / 2)
    over = [viewer for viewer in people.viewers if not viewer.shows("Pause")]
    advanced = [
        step_of(viewer) - before for viewer, before in zip(people.viewers, halfway, strict=True) if viewer not in over
    ] or [0]
    return [
        Figure(f"p95 of a rerun, {what}", percentile(people.reruns, 95), "s", at_most=goal, note=spread(people.reruns)),
        Figure(f"errors, {what}", len(people.problems), at_most=0, note="; ".join(people.problems[:1])),
        Figure(
            f"steps of the slowest run, second half, {what}",
            min(advanced),
            at_least=1 if len(over) < len(people.viewers) else 0,
            note=f"median {median(advanced):g}; {len(over)} over",
        ),
    ]


async def _newcomer(server: Server, query: str, sessions: int) -> Figure:
    began = time.perf_counter()
    async with Viewer(server.url, PAGE, f"{query}&seed={sessions + 1}") as late:
        await ready(late)
        return Figure(f"a newcomer's page while {sessions} train", time.perf_counter() - began, "s", at_most=3.0)


async def _clicks(people: Crowd) -> Figure:
    """Half of them click, half of them leave and return, all at once."""
    at_work = [viewer for viewer in people.viewers if viewer.shows("Pause")]
    half = len(at_work) // 2
    await asyncio.gather(
        *(people.pause_and_go_on(viewer) for viewer in at_work[:half]),
        *(people.leave_and_return(viewer) for viewer in at_work[half:]),
    )
    return Figure("tapes lost to clicks, leaving and returning", people.lost, at_most=0, note=f"{len(at_work)} at work")


async def _end(server: Server) -> Figure:
    began = time.perf_counter()
    while server.health()["training"] and time.perf_counter() - began < LONGEST_WORK:
        await asyncio.sleep(0.5)
    return Figure("from the last tab closed to the end of all work", time.perf_counter() - began, "s", at_most=90)
