"""A long lecture: thirty click, leave, return and lose their connection; now and then the trainer is killed."""

import asyncio
import random
import time
from dataclasses import dataclass, field
from statistics import median

from benchmarks.report import Figure
from benchmarks.timing import percentile, spread
from tests.load.controls import with_server
from tests.load.server import Server
from tests.load.viewer import PAGE, Viewer

CUT_SHARE = 0.05  # of all deeds, those that lose the connection
PATIENCE = 120.0
SAMPLES = 60  # of memory, evenly over the soak; the first third is warming up


@dataclass(frozen=True)
class Lecture:
    """Its server, the links to choose from, the seconds between two deeds, and its end (`time.monotonic`)."""

    url: str
    queries: list[str]
    pace: float
    end: float


@dataclass
class Notes:
    """What happened: seconds of reruns, exceptions, runs that went no further, cuts, bytes of memory over time.

    `losses`: by link, the longest log that anybody has seen. `other`: how many logs did not agree with it.
    """

    reruns: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    losses: dict[str, list[float]] = field(default_factory=dict)
    stuck: int = 0
    other: int = 0
    cuts: int = 0
    unanswered: int = 0
    killed: int = 0
    memory: list[int] = field(default_factory=list)

    def seen(self, viewer: Viewer) -> None:
        """Compares a viewer's log with what others have seen of the same run."""
        link, mine = viewer.player.links[0], viewer.losses
        known = self.losses.get(link, [])
        self.other += str(mine[: len(known)]) != str(known[: len(mine)])  # as text, in which nan is nan
        self.losses[link] = max(known, mine, key=len)


def soak(
    minutes: float = 15.0,
    sessions: int = 30,
    kills: int = 10,
    pace: float = 8.0,
    query: str = "depth=16&width=32&steps=600",
) -> list[Figure]:
    """Everybody takes up one run after another, of as many runs as people. `pace`: seconds between two deeds."""

    async def measure(server: Server) -> list[Figure]:
        notes = Notes()
        lecture = Lecture(
            server.url, [f"{query}&seed={seed}" for seed in range(sessions)], pace, time.monotonic() + 60 * minutes
        )
        await asyncio.gather(
            *(_student(lecture, notes, random.Random(at)) for at in range(sessions)),
            _killer(server, notes, kills, 60 * minutes),
            _memory(server, notes, 60 * minutes),
        )
        return _figures(notes, minutes, sessions)

    return with_server(measure)


async def _student(lecture: Lecture, notes: Notes, chance: random.Random) -> None:
    """One run after another, until the end."""
    await asyncio.sleep(chance.random() * lecture.pace)
    while time.monotonic() < lecture.end:
        async with Viewer(lecture.url, PAGE, chance.choice(lecture.queries)) as viewer:
            try:
                await viewer.ready()
                viewer.train()
                for _ in range(chance.randrange(2, 8)):
                    await asyncio.sleep(lecture.pace * (0.5 + chance.random()))
                    await _deed(viewer, notes, chance)
                    if time.monotonic() >= lecture.end:
                        break
                notes.seen(viewer)
            except AssertionError as error:
                notes.problems.append(str(error).splitlines()[0])
            notes.reruns += viewer.reruns
            notes.problems += viewer.exceptions
            notes.unanswered += viewer.unanswered


async def _deed(viewer: Viewer, notes: Notes, chance: random.Random) -> None:
    """Loses both connections, pauses, or goes on; a run that plays then must move on."""
    if chance.random() < CUT_SHARE:
        notes.cuts += 1
        await viewer.cut()
        await viewer.settled()
    elif viewer.playing:
        viewer.pause()
        await viewer.rested()
    else:
        viewer.train()
    before = len(viewer.losses)
    try:
        await viewer.until(lambda: not viewer.playing or len(viewer.losses) > before, "further steps", PATIENCE)
    except AssertionError:
        notes.stuck += 1


async def _killer(server: Server, notes: Notes, kills: int, seconds: float) -> None:
    for _ in range(kills):
        await asyncio.sleep(seconds / (kills + 1))
        notes.killed += server.kill_worker()


async def _memory(server: Server, notes: Notes, seconds: float) -> None:
    for _ in range(SAMPLES):
        await asyncio.sleep(seconds / SAMPLES)
        notes.memory.append(server.memory())


def _figures(notes: Notes, minutes: float, sessions: int) -> list[Figure]:
    """Memory is compared between the second third and the last."""
    third = len(notes.memory) // 3
    middle, last = median(notes.memory[third : 2 * third]), median(notes.memory[2 * third :])
    what = f"{minutes:g} min, {sessions} at work"
    deaths = f"trainer killed {notes.killed} times, {notes.cuts} connections cut"
    lost = "Streamlit sent them to the lost connection; a click brings the page back"
    return [
        Figure(f"p95 of a rerun, {what}", percentile(notes.reruns, 95), "s", at_most=0.8, note=spread(notes.reruns)),
        Figure(f"errors, {what}", len(notes.problems), at_most=0, note="; ".join(notes.problems[:1])),
        Figure(f"runs that stood still, {what}", notes.stuck, at_most=0, note=deaths),
        Figure(
            f"logs that two people saw differently, {what}", notes.other, at_most=0, note=f"{len(notes.losses)} runs"
        ),
        Figure("first answers lost after a cut", notes.unanswered, note=lost),
        Figure(
            "memory, last third / middle third", last / middle, at_most=1.05, note=f"{last / 1e9:.2f} GB in the end"
        ),
    ]
