"""A class on one small server: all follow their teacher, train, move a control, leave, return, and close their tabs."""

import asyncio
import json
import random
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, parse_qsl, quote

from benchmarks.report import Figure
from benchmarks.timing import percentile, spread
from models.claims.claims import CLAIMS
from models.insight.path_outcome import PATH_OUTCOMES
from models.lessons.lessons import LESSONS
from models.service.client import Trainer, config_from
from tests.load import clocked
from tests.load.controls import with_server
from tests.load.pupil import Pupil
from tests.load.server import Server
from tests.load.viewer import PAGE, Viewer
from tests.waiting import PATIENCE

RETURN_SECONDS = 20.0  # within which a log that was left is shown again as far as it had been seen
MAX_WORK = 60.0


@dataclass
class Crowd:
    """Viewers of one server. `lost`: logs of which less could be seen later than before."""

    server: Server
    viewers: list[Viewer] = field(default_factory=list)
    lost: int = 0

    @property
    def problems(self) -> list[str]:
        """Exceptions that any page showed."""
        return [problem for viewer in self.viewers for problem in viewer.exceptions]

    @property
    def at_work(self) -> list[Viewer]:
        """Those whose run is not over."""
        return [viewer for viewer in self.viewers if viewer.playing]

    async def train(self, gap: float) -> None:
        """Everybody presses Train; returns when every run has begun."""
        for viewer in self.viewers:
            await viewer.ready()
            viewer.train()
            await asyncio.sleep(gap)
        for viewer in self.viewers:
            await viewer.until(lambda viewer=viewer: viewer.step, "the first step", MAX_WORK)  # type: ignore[misc]

    async def rest(self) -> None:
        """Everybody pauses."""
        for viewer in self.viewers:
            viewer.pause()
        for viewer in self.viewers:
            await viewer.rested()

    async def move(self, viewer: Viewer, depth: int) -> float:
        """Moves a control and trains the new net; seconds from the move to the end of the page's rerun."""
        before = len(viewer.reruns)
        await viewer.slide("Depth", depth)
        await viewer.ready()
        viewer.train()
        return viewer.reruns[before]

    async def pause_and_go_on(self, viewer: Viewer) -> None:
        """Pauses, and trains on from there."""
        before = viewer.step
        viewer.pause()
        await viewer.rested()
        viewer.train()
        await self._seen_again(viewer, before)

    async def leave_and_return(self, viewer: Viewer) -> None:
        """Closes the tab, opens the link again in a new one, and trains: the log is still there."""
        before = viewer.step
        async with Viewer(self.server.url, PAGE, viewer.query) as again:
            await again.ready()
            again.train()
            await self._seen_again(again, before)
            viewer.exceptions += again.exceptions

    async def _seen_again(self, viewer: Viewer, before: int) -> None:
        try:
            await viewer.until(lambda: viewer.step >= before, "what had been seen", RETURN_SECONDS)
        except AssertionError:
            self.lost += 1


@asynccontextmanager
async def crowd(server: Server, queries: list[str], gap: float) -> AsyncIterator[Crowd]:
    """One viewer per query, `gap` seconds apart, for a `with` block, at whose end all tabs close."""
    async with AsyncExitStack() as stack:
        people = Crowd(server)
        for query in queries:
            people.viewers.append(await stack.enter_async_context(Viewer(server.url, PAGE, query)))
            await asyncio.sleep(gap)
        yield people


def classroom(
    sessions: int = 30, seconds: float = 30.0, gap: float = 0.2, query: str = "steps=5000"
) -> Iterator[Figure]:
    """A class with a run each, a class on one preset, two classes on as many runs, and two that are led as one.

    `gap`: seconds between visitors.
    """
    for students in (sessions, 2 * sessions):
        yield from led(students, gap)
    yield from different(sessions, sessions, seconds, gap, query, late=0.5, lesson=True)
    yield from preset(sessions, seconds, gap, query)
    yield from different(2 * sessions, sessions, seconds, gap, query, late=1.0)


def different(
    sessions: int, runs: int, seconds: float, gap: float, query: str, *, late: float, lesson: bool = False
) -> list[Figure]:
    """Everybody trains, `runs` runs in all. `late`: the goal for a row's delay. `lesson`: some come late or leave."""

    async def measure(server: Server) -> list[Figure]:
        queries = [f"{query}&seed={at + 1}" for at in range(runs)]
        async with crowd(server, [queries[at % runs] for at in range(sessions)], gap) as people:
            await people.train(gap)
            what = f"{sessions} on {runs} runs"
            figures = await _watched(people, queries, seconds, what, late)
            figures += await _controls(people, seconds, what)
            if lesson:
                figures += [await _newcomer(server, query, sessions), await _clicks(people)]
            figures += [
                Figure(f"errors, {what}", len(people.problems), at_most=0, note="; ".join(people.problems[:1])),
                Figure(f"memory, {what}", server.memory() / 1e9, "GB", at_most=1.5),
            ]
        return figures + ([await _end(server)] if lesson else [])

    return with_server(measure, clocked.SCRIPT)


def preset(sessions: int, seconds: float, gap: float, query: str) -> list[Figure]:
    """Everybody watches the same run, which is computed once."""

    async def measure(server: Server) -> list[Figure]:
        async with crowd(server, [f"{query}&seed=1"] * sessions, gap) as people:
            await people.train(gap)
            training, spent = server.health()["training"], server.processor_seconds()
            began = time.monotonic()
            await asyncio.sleep(seconds)
            what = f"{sessions} on one run"
            steps = max(viewer.step for viewer in people.viewers)
            note = f"{steps} steps; {server.processor_seconds() - spent:.1f} s of the trainer's time in {seconds:g} s"
            figures = [_late(await _ways(people, began), what, 0.5)]
            figures.append(
                Figure(f"errors, {what}", len(people.problems), at_most=0, note="; ".join(people.problems[:1]))
            )
            return [*figures, Figure(f"runs trained for {what}", training, at_most=1, note=note)]

    return with_server(measure, clocked.SCRIPT)


CLAIM = "norm-alone"


def own_runs(sessions: int = 60, gap: float = 0.2, query: str = "steps=100") -> list[Figure]:
    """A class whose students explore, a run each, trained by the server and in their browsers: what that costs it."""
    return [figure for here in (False, True) for figure in _own_runs(sessions, gap, query, here=here)]


def _own_runs(sessions: int, gap: float, query: str, *, here: bool) -> list[Figure]:
    async def measure(server: Server) -> list[Figure]:
        async with Viewer(server.url, "teacher") as desk, AsyncExitStack() as stack:
            await desk.settled()
            if here:
                await desk.turn("Students' runs train", True)
            for button in ("Open a class", "Let students explore"):
                await desk.settled()
                await desk.press(button)
            await desk.settled()
            (code,) = parse_qs(desk.query)["class"]
            server.wait_for(b'"ready"')
            before = server.served_seconds(), server.processor_seconds()
            people = Crowd(server)
            for seed in range(sessions):
                student = Pupil(server.url, PAGE, f"{query}&seed={seed}&class={code}")
                people.viewers.append(await stack.enter_async_context(student))
                await asyncio.sleep(gap)
            for student in people.viewers:
                await student.ready()
                student.train()
            for student in people.viewers:
                await student.until(lambda one=student: one.step == one.player.last, "the end of the run", 1800)  # type: ignore[misc]
                await student.rested()
            page, steps = (
                (now - then) / sessions
                for now, then in zip((server.served_seconds(), server.processor_seconds()), before, strict=True)
            )
        what = f"{sessions} trained {'in their browsers' if here else 'by the server'}"
        note = f"{page:.2g} s for pages and rows, {steps:.2g} s for steps"
        return [
            Figure(f"processor seconds a student, {what}", page + steps, "s", note=note),
            Figure(f"errors, {what}", len(people.problems), at_most=0, note="; ".join(people.problems[:1])),
        ]

    return with_server(measure)


PLAN = f"start,vanishing,normalization,compare,claims?claim={CLAIM},playground"
GUESS = "a guess"
LED = (  # what the teacher presses, and what every student reads then
    ("Reveal", "The class guessed"),
    ("Next", LESSONS["vanishing"].question),
    ("Reveal", "The class guessed"),
    ("Next", "Each row is a group of cells"),
    ("Next", "Train two to five networks"),
    ("Next", CLAIMS[CLAIM].title),
    ("Reveal", "The class guessed"),
    ("Next", r"x \leftarrow"),  # the playground's equation
)


@dataclass
class Led:
    """Students of one class. `taken`: seconds from what a teacher did to each student's page that shows it, by name."""

    pupils: list[Pupil] = field(default_factory=list)
    taken: dict[str, list[float]] = field(default_factory=dict)

    async def all_show(self, what: str, shows: Callable[[Pupil], object]) -> None:
        """Waits until all show what the teacher has done just now."""
        began = time.monotonic()

        async def one(pupil: Pupil) -> float:
            await pupil.until(lambda: shows(pupil), what)
            return time.monotonic() - began

        self.taken.setdefault(what, []).extend(await asyncio.gather(*map(one, self.pupils)))

    def figures(self, server: Server) -> list[Figure]:
        """What everybody waited for, errors and memory."""
        what = f"{len(self.pupils)} led"
        problems = [problem for pupil in self.pupils for problem in pupil.exceptions]
        return [
            *(
                Figure(
                    f"from {name} to {'the teacher' if name == GUESS else 'all'}, {what}",
                    max(ways),
                    "s",
                    at_most=0.5 if name == GUESS else 2.0,
                    note=spread(ways),
                )
                for name, ways in self.taken.items()
            ),
            Figure(f"errors, {what}", len(problems), at_most=0, note="; ".join(problems[:1])),
            Figure(f"memory, {what}", server.memory() / 1e9, "GB", at_most=1.5),
        ]


def led(sessions: int, gap: float) -> list[Figure]:
    """Everybody follows a teacher through a plan: seconds to the last student whose page shows what the teacher did."""

    async def measure(server: Server) -> list[Figure]:
        led = Led()
        async with AsyncExitStack() as stack:
            async with Viewer(server.url, "teacher", f"plan={quote(PLAN)}") as desk:
                await desk.settled()
                await desk.press("Open a class")
                await desk.settled()
                query = desk.query
            teacher = await stack.enter_async_context(Pupil(server.url, "teacher", query))
            (code,) = parse_qs(query)["class"]
            for _ in range(sessions):
                led.pupils.append(await stack.enter_async_context(Pupil(server.url, "", f"class={code}")))
                await asyncio.sleep(gap)
            for number, pupil in enumerate(led.pupils, start=1):
                await pupil.settled()
                began = time.monotonic()
                await pupil.press(PATH_OUTCOMES[0])
                said = f"{number} of {sessions} answered"
                await teacher.until(lambda said=said: said in teacher.heard.get("attendance", ""), said)  # type: ignore[misc]
                led.taken.setdefault(GUESS, []).append(time.monotonic() - began)
            for button, words in LED:
                for one in (teacher, *led.pupils):
                    await one.settled()
                await teacher.press(button)
                await led.all_show(button, lambda pupil, words=words: words in pupil.text)  # type: ignore[misc]
            for one in (teacher, *led.pupils):
                await one.settled()
            await teacher.turn("Residual", False)
            await led.all_show("a changed net", lambda pupil: "residual=false" in pupil.query)
            return led.figures(server)

    return with_server(measure)


async def _watched(people: Crowd, queries: list[str], seconds: float, what: str, late: float) -> list[Figure]:
    """While all train: the delay of the rows, the cost of watching, and the runs' speed."""
    server, first = people.server, people.viewers[: len(queries)]
    served, began, steps = server.served_seconds(), time.monotonic(), [viewer.step for viewer in first]
    rate = await rate_of(lambda: [len(viewer.losses) for viewer in first], seconds)
    share = (server.served_seconds() - served) / (time.monotonic() - began) / len(people.viewers)
    ways = await _ways(people, began)
    advanced = [viewer.step - before for viewer, before in zip(first, steps, strict=True)]
    over = sum(not viewer.playing for viewer in first)
    await people.rest()
    unwatched = await rate_alone(queries, seconds)
    return [
        _late(ways, what, late),
        Figure(
            f"steps per second, {what}, watched / unwatched",
            rate / unwatched,
            at_least=0.95,
            note=f"{rate:.3g} steps/s watched",
        ),
        Figure(f"share of a core for each viewer, {what}", share),
        Figure(f"steps of the slowest run, {what}", min(advanced), at_least=0 if over else 1, note=f"{over} over"),
    ]


async def rate_alone(queries: list[str], seconds: float) -> float:
    """Rows per second of runs that nobody watches, together, in a trainer of this process."""
    cfgs, trainer = [config_from(dict(parse_qsl(query))) for query in queries], Trainer()
    try:
        logs = [trainer.request_rows(cfg, cfg.steps, PATIENCE) for cfg in cfgs]
        return await rate_of(lambda: [log.length for log in logs], seconds)
    finally:
        trainer.close()


async def rate_of(lengths: Callable[[], list[int]], seconds: float) -> float:
    """Rows per second of some runs together, measured for so long once each moves on."""
    start = lengths()
    while not all(now > before for now, before in zip(lengths(), start, strict=True)):
        await asyncio.sleep(0.01)
    before, began = sum(lengths()), time.perf_counter()
    await asyncio.sleep(seconds)
    return (sum(lengths()) - before) / (time.perf_counter() - began)


async def _controls(people: Crowd, seconds: float, what: str) -> list[Figure]:
    """Everybody trains, and each moves a control twice meanwhile."""
    await people.train(0.0)
    chance = random.Random(1)

    async def moves(viewer: Viewer) -> list[float]:
        taken = []
        for depth in chance.sample(range(2, 33), 2):
            await asyncio.sleep(seconds * chance.random() / 2)
            taken.append(await people.move(viewer, depth))
        return taken

    taken = [one for all_ in await asyncio.gather(*map(moves, people.viewers)) for one in all_]
    return [Figure(f"p95 of a control's rerun, {what}", percentile(taken, 95), "s", at_most=0.8, note=spread(taken))]


async def _ways(people: Crowd, since: float) -> list[float]:
    """Seconds from each row's computing to each viewer who has it, or to now; of slices begun after `since`."""
    now = time.monotonic()
    told = await asyncio.to_thread(urllib.request.urlopen, f"{people.server.url}/computed", timeout=60)
    slices = json.load(told)
    ways = []
    for viewer in people.viewers:
        came = iter(viewer.player.runs[0].arrivals)
        at, there = next(came, (now, 10**9))
        for begun, end, first, length in slices.get(viewer.player.links[0], []):
            for row in range(first, length) if begun >= since else ():
                while there <= row:
                    at, there = next(came, (now, 10**9))
                ways.append(max(0.0, at - (begun + (end - begun) * (row + 1 - first) / (length - first))))
    return ways


def _late(ways: list[float], what: str, goal: float) -> Figure:
    name = f"p95 from a row computed to its viewer, {what}"
    return (
        Figure(name, percentile(ways, 95), "s", at_most=goal, note=spread(ways))
        if ways
        else Figure(name, None, note="no rows")
    )


async def _newcomer(server: Server, query: str, sessions: int) -> Figure:
    began = time.perf_counter()
    async with Viewer(server.url, PAGE, f"{query}&seed={sessions + 1}") as late:
        await late.ready()
        return Figure(f"a newcomer's page while {sessions} train", time.perf_counter() - began, "s", at_most=3.0)


async def _clicks(people: Crowd) -> Figure:
    """Half of them click, half of them leave and return, all at once."""
    at_work = people.at_work
    half = len(at_work) // 2
    await asyncio.gather(
        *(people.pause_and_go_on(viewer) for viewer in at_work[:half]),
        *(people.leave_and_return(viewer) for viewer in at_work[half:]),
    )
    return Figure("logs lost to clicks, leaving and returning", people.lost, at_most=0, note=f"{len(at_work)} at work")


async def _end(server: Server) -> Figure:
    began = time.perf_counter()
    while server.health()["training"] and time.perf_counter() - began < MAX_WORK:
        await asyncio.sleep(0.1)
    return Figure("from the last tab closed to the end of all work", time.perf_counter() - began, "s", at_most=10)
