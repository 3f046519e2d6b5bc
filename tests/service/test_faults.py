"""What goes wrong in a lecture, on a real server, through
Streamlit's own protocol: nobody else notices, and it is over soon.

Tests wait for content. What a browser shows of such things is in tests/browser/test_failures.py.
"""

import asyncio
import itertools
import json
import math
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState

from models.service.client import config_from
from models.spec import knobs
from models.training import Run
from tests.load.server import Server, serving
from tests.load.viewer import PAGE, Viewer
from tests.waiting import PATIENCE

SILENCE = 10
SMALL = "depth=4&width=16&batch=16&steps=5000"
LONG = "depth=32&width=64&batch=64&steps=5000"  # longer than a test


@pytest.fixture(scope="module")
def alone() -> Iterator[Server]:
    """A server of these tests' own, which soon takes a silent worker for one that hangs."""
    with serving(PLAYGROUND_SILENCE=str(SILENCE)) as running:
        running.wait_for(b'"ready"')
        yield running


_seeds = itertools.count(1000)


def own_run() -> str:
    """The link of somebody whose run is nobody else's, and not over within a test."""
    return f"{LONG}&seed={next(_seeds)}"


def played(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


@asynccontextmanager
async def visit(server: Server, query: str) -> AsyncIterator[Viewer]:
    """A viewer who pauses before leaving, else the run would be trained on during the next test."""
    async with Viewer(server.url, PAGE, query) as viewer:
        await viewer.ready()
        yield viewer
        if viewer.playing:
            viewer.pause()
            await viewer.rested()


async def trains(viewer: Viewer, further: int = 1) -> int:
    """Waits until a viewer's run, started where it is not, has gone so many steps further; the step shown then."""
    if not viewer.playing:
        viewer.train()
    reached = viewer.step + further
    await viewer.until(lambda: viewer.step >= reached, f"step {reached}", PATIENCE)
    return viewer.step


def as_computed(viewer: Viewer) -> bool:
    """Whether the rows that have come of a viewer's run are those that it has, bit for bit."""
    came = viewer.player.runs[0].matrix()
    run = Run(config_from(dict(parse_qsl(viewer.player.links[0]))))
    run.advance(len(came))
    run.close()
    return came.tobytes() == run.rows(0)[: len(came)].tobytes()


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
def test_a_step_that_hangs_is_ended_said_and_computed_again(alone: Server) -> None:
    async def hang() -> None:
        async with visit(alone, f"{LONG}&seed=1") as viewer:
            before, worker = await trains(viewer, 5), alone.worker()
            os.kill(worker, signal.SIGSTOP)
            said = f"The trainer ended because it had said nothing for {SILENCE} s and is being restarted"
            await viewer.until(lambda: said in viewer.player.trainer.get("sentence", ""), "what happened", PATIENCE)
            assert viewer.step >= before
            await trains(viewer, 20)
            assert alone.worker() not in (0, worker)
            assert as_computed(viewer)
            assert viewer.exceptions == []

    played(hang())


def forged(viewer: Viewer) -> Iterator[WidgetState]:
    """Values that no control of the page would send."""
    depth = viewer.widget("slider", "Depth").id
    for value in (1e9, -1.0, 0.5, math.nan, math.inf):
        state = WidgetState(id=depth)
        state.double_array_value.data.append(value)
        yield state
    many = WidgetState(id=depth)
    many.double_array_value.data.extend([1.0] * 10_000)
    yield many
    yield WidgetState(id=depth, string_value="128")
    yield WidgetState(id=depth, json_value="{")
    yield WidgetState(id=depth, bytes_value=b"\xff" * 1000)
    yield WidgetState(id="$$ID-nothing-nowhere", string_value="<script>")
    yield WidgetState(id=viewer.widget("button", "Rescale").id, int_value=-1)
    player, here = viewer.component().element.bidi_component.id, viewer.player.links
    yield WidgetState(id=player, json_value="[" * 9000)
    yield WidgetState(id=player, bytes_value=b"\xff" * 1000)
    for said in (
        7,
        {"at": [{}]},
        {"at": {"step": 10**30, "playing": "yes", "runs": here}},
        {"at": {"step": -1, "playing": True, "runs": here}},
        {"at": {"step": "1", "runs": ["depth=9999"]}},
        {"choice": {"depth": 10**30, "asked": 1}},
        {"choice": "all", "opened": -1},
    ):
        yield WidgetState(id=player, json_value=json.dumps(said))


@pytest.mark.first
def test_a_visitor_who_forges_values_spoils_at_most_an_own_page(server: Server) -> None:
    async def forge() -> None:
        async with visit(server, own_run()) as neighbour:
            worker, count = server.worker(), 0
            while True:
                async with Viewer(server.url, PAGE, f"{SMALL}&seed=5") as viewer:
                    await viewer.ready()
                    states = list(forged(viewer))
                    await viewer.forge(states[count])
                    await viewer.settled()
                    assert 0 <= viewer.sites <= 2 * knobs()["depth"][1].high + 1
                    assert "Traceback" not in viewer.text
                count += 1
                if count == len(states):
                    break
            await trains(neighbour, 5)
            assert neighbour.exceptions == []
            assert server.worker() == worker
            async with visit(server, f"{SMALL}&seed=5") as newcomer:
                assert newcomer.sites == 5

    played(forge())


def test_clearing_the_cache_takes_nothing_from_anybody(alone: Server) -> None:
    async def clear() -> None:
        async with visit(alone, own_run()) as neighbour, visit(alone, f"{LONG}&seed=6") as viewer:
            before, worker = await trains(neighbour, 5), alone.worker()
            await trains(viewer)
            await viewer.clear_cache()
            await viewer.forge()
            await viewer.settled()
            assert viewer.sites == 33
            assert await trains(neighbour) > before
            assert [viewer.exceptions, neighbour.exceptions] == [[], []]
            assert alone.worker() == worker

    played(clear())
