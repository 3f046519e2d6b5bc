"""The app as its visitors find it: a real server, a real worker, and viewers that speak Streamlit's protocol."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.load.server import Server, serving
from tests.load.viewer import Viewer

PAGE = "playground"


@dataclass(frozen=True)
class Move:
    """A page's address, the depth that its slider is moved to, the points of the new profile, and the goal in seconds."""

    net: str
    query: str
    depth: int
    sites: int
    goal: float


MOVES = (
    Move("MLP", "depth=32", 64, 65, 0.4),
    Move("transformer", "net=transformer&task=book&batch=32&depth=6&optimizer=adam&lr=0.001", 12, 25, 0.8),
)


def watched(rounds: int = 5, seconds: float = 4.0, query: str = "steps=5000") -> list[Figure]:
    """Steps per second of one run, by turns watched at 2 Hz and left alone in a tab in the background."""

    async def measure(server: Server) -> list[Figure]:
        async with Viewer(server.url, PAGE, query) as viewer:
            await ready(viewer)
            await viewer.press("Train")
            await viewer.until(lambda: step_of(viewer) > 10, "the first steps")
            pairs = []
            for at in range(rounds):
                rates = {hidden: await _rate(viewer, hidden, seconds) for hidden in (bool(at % 2), not at % 2)}
                pairs.append((rates[False], rates[True]))
        rate, ratio = median(seen for seen, _ in pairs), median(seen / alone for seen, alone in pairs)
        return [Figure("steps per second, watched / unwatched", ratio, at_least=0.85, note=f"{rate:.3g} steps/s watched")]

    return with_server(measure)


def controls(rounds: int = 7, moves: Sequence[Move] = MOVES) -> list[Figure]:
    """From a moved control to the profile that it makes: the page is open and the worker warm."""

    async def measure(server: Server) -> list[Figure]:
        return [await _moved(server, rounds, move) for move in moves]

    return with_server(measure)


def startup(rounds: int = 5) -> list[Figure]:
    """From spawning the server to the end of the first run of the script."""

    async def measure(server: Server) -> list[Figure]:
        async with Viewer(server.url, PAGE) as viewer:
            await viewer.settled()
        return [Figure("", time.perf_counter() - server.spawned)]

    taken = [figure.value or 0.0 for _ in range(rounds) for figure in with_server(measure)]
    return [Figure("server spawned to first script run finished", median(taken), "s", at_most=2.0, note=spread(taken))]


def with_server(measure: Callable[[Server], Awaitable[list[Figure]]]) -> list[Figure]:
    """Measures with a server of its own that accepts connections; its trainer may still be loading torch."""

    async def main(server: Server) -> list[Figure]:
        return await measure(server)

    with serving() as server:
        server.wait_for(path="/_stcore/health")
        return asyncio.run(main(server))


async def ready(viewer: Viewer) -> None:
    """Waits until the page is drawn with its profile and nothing runs."""
    await viewer.until(lambda: sites_of(viewer), "the first profile")
    await viewer.settled()


def step_of(viewer: Viewer) -> int:
    """The step that the page shows."""
    found = re.search(r"^step (\d+) of", viewer.text, re.MULTILINE)
    return int(found[1]) if found else 0


def sites_of(viewer: Viewer) -> int:
    """The points of the profile that the page shows."""
    figure = viewer.figure("Activation by depth")
    return len(figure["data"][-1]["x"]) if figure and figure["data"] else 0


async def _rate(viewer: Viewer, hidden: bool, seconds: float) -> float:
    """Steps per second over so many seconds. A hidden tab asks for nothing in between; its wish for steps lives on."""
    await viewer.poll()
    viewer.hidden, start, began = hidden, step_of(viewer), time.perf_counter()
    await asyncio.sleep(seconds)
    viewer.hidden = False
    await viewer.poll()
    return (step_of(viewer) - start) / (time.perf_counter() - began)


async def _moved(server: Server, rounds: int, move: Move) -> Figure:
    taken = []
    for seed in range(1, rounds + 1):  # each round its own seed, else the answer would be known already
        async with Viewer(server.url, PAGE, f"{move.query}&seed={seed}") as viewer:
            await ready(viewer)
            began = time.perf_counter()
            await viewer.slide("Depth", move.depth)
            await viewer.until(lambda viewer=viewer: sites_of(viewer) == move.sites, "the new profile")  # type: ignore[misc]
            taken.append(time.perf_counter() - began)
    return Figure(
        f"Depth moved to new profile, {move.net} depth {move.depth}", median(taken), "s", at_most=move.goal, note=spread(taken)
    )
