"""The app as visitors find it: a real server, a real worker, and viewers that speak the protocols of page and player."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Figure
from benchmarks.timing import spread
from tests.load.server import Server, serving
from tests.load.viewer import PAGE, Viewer


@dataclass(frozen=True)
class Move:
    """A page's address, the new depth on its slider, the points of the new profile, and the goal in seconds."""

    net: str
    query: str
    depth: int
    sites: int
    goal: float


MOVES = (
    Move("MLP", "depth=32", 64, 65, 0.4),
    Move("transformer", "net=transformer&task=book&batch=32&depth=6&optimizer=adam&lr=0.001", 12, 25, 0.8),
)


def controls(rounds: int = 7, moves: Sequence[Move] = MOVES) -> list[Figure]:
    """From a moved control to the new profile; the page is open and the worker warm."""

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


def with_server(
    measure: Callable[[Server], Coroutine[Any, Any, list[Figure]]], script: str | Path = "app.py"
) -> list[Figure]:
    """Measures with a new server that accepts connections; its trainer may still be loading torch."""
    with serving(script) as server:
        server.wait_for(path="/_stcore/health")
        return asyncio.run(measure(server))


async def _moved(server: Server, rounds: int, move: Move) -> Figure:
    taken = []
    for seed in range(1, rounds + 1):  # a new seed each round, because known answers come at once
        async with Viewer(server.url, PAGE, f"{move.query}&seed={seed}") as viewer:
            await viewer.ready()
            began = time.perf_counter()
            await viewer.slide("Depth", move.depth)
            await viewer.until(lambda viewer=viewer: viewer.sites == move.sites, "the new profile")  # type: ignore[misc]
            taken.append(time.perf_counter() - began)
    return Figure(
        f"Depth moved to new profile, {move.net} depth {move.depth}",
        median(taken),
        "s",
        at_most=move.goal,
        note=spread(taken),
    )
