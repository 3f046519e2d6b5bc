"""What goes wrong in a lecture, on a real server, through Streamlit's own protocol: nobody else notices, and it is over soon.

Tests wait for content. What a browser shows of such things is in tests/browser/test_failures.py.
"""

import asyncio
import math
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.serving import PAGE, ready, sites_of, step_of
from models.service import client
from models.service.client import WorkerTrainer
from models.spec import RunConfig, knobs
from models.spec.budget import affordable, over_budget
from models.training import Run
from tests.load.server import Server, serving
from tests.load.viewer import Viewer
from tests.waiting import PATIENCE

SILENCE = 10
SMALL = "depth=4&width=16&batch=16&steps=5000"
NEIGHBOUR = f"{SMALL}&seed=1000"
NO_FILES = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")  # whoever writes to a file is told that it cannot grow


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(PLAYGROUND_SILENCE=str(SILENCE)) as running:
        running.wait_for(b'"ready"')
        yield running


def played(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


@asynccontextmanager
async def visit(server: Server, query: str) -> AsyncIterator[Viewer]:
    """A viewer who pauses before leaving, else the run would be trained on during the next test."""
    async with Viewer(server.url, PAGE, query) as viewer:
        yield viewer
        if viewer.shows("Pause"):
            await viewer.press("Pause")
            await viewer.settled()


async def trains(viewer: Viewer, further: int = 1) -> int:
    """Waits until a viewer's run, started where it is not, has gone so many steps further; the step shown then."""
    if not viewer.polls:
        await viewer.press("Train")
    reached = step_of(viewer) + further
    await viewer.until(lambda: step_of(viewer) >= reached, f"step {reached}", PATIENCE)
    return step_of(viewer)


def loss_of(viewer: Viewer) -> list[float]:
    """The losses on the page, one per step."""
    figure = viewer.figure("Loss")
    return list(figure["data"][0]["y"]) if figure and figure["data"] else []


def test_a_worker_that_is_killed_ten_times_computes_the_same_rows_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SETTLED_SECONDS", 0.0)  # lives are short here
    cfg = RunConfig(depth=2, width=16, batch=16, steps=800, device="cpu")
    trainer = WorkerTrainer(back_off=[0.0])

    async def killed() -> None:
        tape, pids = trainer.want(cfg, cfg.steps, seconds=PATIENCE), set()
        for _ in range(10):
            while not (tape.length and tape.deaths == 0 and trainer.status().state == "ready"):  # this life has brought rows
                await asyncio.sleep(0.01)
            pids.add(trainer.status().pid)
            os.kill(trainer.status().pid, signal.SIGKILL)
            while trainer.status().state == "ready":
                await asyncio.sleep(0.01)
        while not (tape.done or tape.error):
            await asyncio.sleep(0.01)
        assert (len(pids), tape.error, trainer.status().ending) == (10, "", "by SIGKILL")
        run = Run(cfg)
        run.advance(cfg.steps)
        run.close()
        trace = tape.trace()
        assert trace is not None
        np.testing.assert_array_equal(trace.loss, run.trace().loss)

    try:
        played(asyncio.wait_for(killed(), PATIENCE))
    finally:
        trainer.close()


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
def test_a_step_that_hangs_is_ended_said_and_computed_again(server: Server) -> None:
    async def hang() -> None:
        async with visit(server, f"{SMALL}&seed=1") as viewer:
            await ready(viewer)
            before, worker = await trains(viewer, 5), server.worker()
            os.kill(worker, signal.SIGSTOP)
            said = f"the trainer ended because it had said nothing for {SILENCE} s and was restarted"
            await viewer.until(lambda: said in viewer.text, "what happened", PATIENCE)
            assert step_of(viewer) >= before
            await trains(viewer, 5)
            assert server.worker() not in (0, worker)
            assert viewer.exceptions == []

    played(hang())


def test_after_a_restart_of_the_server_the_link_brings_back_the_configuration_and_the_same_run() -> None:
    async def before(left: Viewer) -> list[float]:
        async with left:
            await ready(left)
            await left.slide("Depth", 6)
            await left.until(lambda: sites_of(left) == 7, "seven points")
            await left.settled()
            await left.press("Train")
            await left.until(lambda: len(loss_of(left)) >= 20, "twenty losses", PATIENCE)
            return loss_of(left)

    async def after(url: str, query: str, seen: list[float]) -> None:
        async with Viewer(url, PAGE, query) as back:
            await ready(back)
            assert (sites_of(back), step_of(back)) == (7, 0)
            await back.press("Train")
            await back.until(lambda: len(loss_of(back)) >= len(seen), "as many losses", PATIENCE)
            assert loss_of(back)[: len(seen)] == seen
            assert back.exceptions == []

    with serving() as first:
        first.wait_for(b'"ready"')
        left = Viewer(first.url, PAGE, "depth=4&width=16&batch=16&steps=200&seed=2")
        seen = asyncio.run(before(left))
    with serving() as second:
        second.wait_for(b'"ready"')
        played(after(second.url, left.query, seen))


def test_whoever_loses_the_connection_comes_back_to_the_same_place(server: Server) -> None:
    async def cut() -> None:
        async with visit(server, NEIGHBOUR) as neighbour, visit(server, f"{SMALL}&seed=3") as viewer:
            await ready(viewer)
            await ready(neighbour)
            for _ in range(3):
                before = await trains(viewer, 5)
                await viewer.cut()
                await trains(neighbour)
                await viewer.reconnect()
                await viewer.settled()
                assert step_of(viewer) >= before
                assert viewer.polls  # still the session that plays
            assert [viewer.exceptions, neighbour.exceptions] == [[], []]

    played(cut())


def test_a_visitor_who_never_reads_holds_up_nobody(server: Server) -> None:
    async def deaf() -> None:
        async with Viewer(server.url, PAGE, f"{SMALL}&seed=4") as viewer, visit(server, NEIGHBOUR) as neighbour:
            await ready(viewer)
            await ready(neighbour)
            await trains(viewer)
            viewer.stop_reading()
            for _ in range(300):
                await viewer.forge()
                await asyncio.sleep(0.01)
            await trains(neighbour, 20)
            assert neighbour.exceptions == []
            assert server.health()["trainer"] == "ready"
            await viewer.cut()

    played(deaf())


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
    yield WidgetState(id=viewer.widget("button", "Train").id, int_value=-1)


def test_a_visitor_who_forges_values_spoils_at_most_an_own_page(server: Server) -> None:
    async def forge() -> None:
        async with visit(server, NEIGHBOUR) as neighbour:
            await ready(neighbour)
            worker, count = server.worker(), 0
            while True:
                async with Viewer(server.url, PAGE, f"{SMALL}&seed=5") as viewer:
                    await ready(viewer)
                    states = list(forged(viewer))
                    await viewer.forge(states[count])
                    await viewer.settled()
                    assert 0 <= sites_of(viewer) <= 2 * knobs()["depth"][1].high + 1
                    assert "Traceback" not in viewer.text
                count += 1
                if count == len(states):
                    break
            await trains(neighbour, 5)
            assert neighbour.exceptions == []
            assert server.worker() == worker
            async with Viewer(server.url, PAGE, f"{SMALL}&seed=5") as newcomer:
                await ready(newcomer)
                assert sites_of(newcomer) == 5

    played(forge())


def test_a_scrubber_that_was_taken_away_moves_nothing_and_the_next_starts_where_the_run_stands(server: Server) -> None:
    async def stale() -> None:
        async with visit(server, f"{SMALL}&seed=9") as viewer:
            await ready(viewer)
            old = WidgetState(id=viewer.widget("slider", "Step shown").id)
            old.double_array_value.data.append(0.0)
            await viewer.forge(old)  # from now on every message says so, as those of a slow browser do
            await viewer.settled()
            await trains(viewer, 20)
            await viewer.press("Pause")
            await viewer.until(lambda: viewer.shows("Train"), "the pause")
            scrubber = viewer.widget("slider", "Step shown")
            assert scrubber.id != old.id
            assert list(scrubber.default) == [step_of(viewer)]
            assert step_of(viewer) >= 20
            assert viewer.exceptions == []

    played(stale())


def test_clearing_the_cache_takes_nothing_from_anybody(server: Server) -> None:
    async def clear() -> None:
        async with visit(server, NEIGHBOUR) as neighbour, visit(server, f"{SMALL}&seed=6") as viewer:
            await ready(viewer)
            await ready(neighbour)
            before, worker = await trains(neighbour, 5), server.worker()
            await trains(viewer)
            await viewer.clear_cache()
            await viewer.forge()
            await viewer.settled()
            assert sites_of(viewer) == 5
            assert await trains(neighbour) > before
            assert [viewer.exceptions, neighbour.exceptions] == [[], []]
            assert server.worker() == worker

    played(clear())


def test_a_hundred_sessions_that_open_and_close_leave_the_server_as_it_was(server: Server) -> None:
    async def come_and_go(seed: int) -> None:
        async with Viewer(server.url, PAGE, f"{SMALL}&seed={seed}"):
            pass

    async def hundred() -> None:
        async with visit(server, NEIGHBOUR) as neighbour:
            await ready(neighbour)
            await trains(neighbour)
            for first in range(0, 100, 10):
                await asyncio.gather(*(come_and_go(seed) for seed in range(first, first + 10)))
            await trains(neighbour, 5)
            async with Viewer(server.url, PAGE, f"{SMALL}&seed=7") as newcomer:
                await ready(newcomer)
                assert (sites_of(newcomer), newcomer.exceptions, neighbour.exceptions) == (5, [], [])

    played(hundred())


def test_a_configuration_at_every_limit_at_once_is_refused_with_what_fits(server: Server) -> None:
    query = {name: f"{knob.high:.15g}" for name, (_, knob) in knobs().items() if knob.high}
    cfg, _ = RunConfig.from_query(query)
    assert (cfg.depth, cfg.width, cfg.batch, cfg.steps) == (128, 512, 512, 5000)

    async def every_limit() -> None:
        worker = server.worker()
        async with Viewer(server.url, PAGE, urlencode(query)) as viewer:
            await viewer.until(lambda: str(over_budget(cfg)) in viewer.text, "the refusal")
            await ready(viewer)
            field, value = affordable(cfg)
            assert f"{knobs()[field][1].label} {value}." in viewer.text
            assert viewer.exceptions == []
        assert server.worker() == worker

    played(every_limit())


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's limit")
def test_a_full_disk_stops_nobody() -> None:
    async def scene(full: Server) -> None:
        async with Viewer(full.url, PAGE, f"{SMALL}&seed=8") as viewer:
            await ready(viewer)
            await trains(viewer, 5)
            assert viewer.exceptions == []

    with serving(before=NO_FILES) as full:
        full.wait_for(b'"ready"')
        played(scene(full))
