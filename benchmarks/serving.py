"""The app as visitors find it: a real server, a real worker, and viewers that speak the protocols of page and stage."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import parse_qsl

from benchmarks.report import Figure
from benchmarks.timing import spread
from models.service.client import Trainer, config_from
from tests.load.server import Server, serving
from tests.load.viewer import PAGE, Viewer
from tests.waiting import PATIENCE


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


class Alone:
    """Runs that nobody watches, in a trainer of this process, for a `with` block."""

    def __init__(self, queries: Sequence[str]) -> None:
        self.cfgs = [config_from(dict(parse_qsl(query))) for query in queries]
        self.trainer = Trainer()

    def __enter__(self) -> "Alone":
        return self

    def __exit__(self, *_: object) -> None:
        self.trainer.close()

    async def rate(self, seconds: float) -> float:
        """Steps per second of all runs together, measured once each has begun."""
        tapes = [self.trainer.want(cfg, cfg.steps, PATIENCE) for cfg in self.cfgs]
        rate = await rate_of(lambda: [tape.length for tape in tapes], seconds)
        for cfg in self.cfgs:
            self.trainer.want(cfg, 0)
        return rate


async def rate_of(lengths: Callable[[], list[int]], seconds: float) -> float:
    """Rows per second of some runs together, measured for so long once each moves on."""
    start = lengths()
    while not all(now > before for now, before in zip(lengths(), start, strict=True)):
        await asyncio.sleep(0.01)
    before, began = sum(lengths()), time.perf_counter()
    await asyncio.sleep(seconds)
    return (sum(lengths()) - before) / (time.perf_counter() - began)


def watched(rounds: int = 5, seconds: float = 4.0, query: str = "steps=5000") -> list[Figure]:
    """Steps per second of one run, by turns watched on a page and left alone."""

    async def measure(server: Server) -> list[Figure]:
        pairs = []
        for at in range(rounds):
            own = f"{query}&seed={at}"
            with Alone([own]) as alone:
                async with Viewer(server.url, PAGE, own) as viewer:
                    await viewer.ready()
                    rates = {}
                    for seen in (bool(at % 2), not at % 2):
                        rates[seen] = await (_watched(viewer, seconds) if seen else alone.rate(seconds))
            pairs.append((rates[True], rates[False]))
        rate, ratio = median(seen for seen, _ in pairs), median(seen / unseen for seen, unseen in pairs)
        return [
            Figure("steps per second, watched / unwatched", ratio, at_least=0.95, note=f"{rate:.3g} steps/s watched")
        ]

    return with_server(measure)


async def _watched(viewer: Viewer, seconds: float) -> float:
    viewer.train()
    rate = await rate_of(lambda: [len(viewer.losses)], seconds)
    viewer.pause()
    await viewer.rested()
    return rate


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


def with_server(measure: Callable[[Server], Awaitable[list[Figure]]], script: str | Path = "app.py") -> list[Figure]:
    """Measures with a new server that accepts connections; its trainer may still be loading torch."""

    async def main(server: Server) -> list[Figure]:
        return await measure(server)

    with serving(script) as server:
        server.wait_for(path="/_stcore/health")
        return asyncio.run(main(server))


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
