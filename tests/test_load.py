"""Several people at once, through Streamlit's own protocol: the page answers all of them, and every run goes on."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from benchmarks.serving import PAGE, ready, sites_of, step_of
from tests.load.server import Server, serving
from tests.load.viewer import Viewer

SMALL = "depth=4&width=16&batch=16&steps=5000"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        running.wait_for(b'"ready"')
        yield running


def test_three_people_train_a_run_each_and_every_run_advances(server: Server) -> None:
    async def class_of_three() -> None:
        async with AsyncExitStack() as stack:
            viewers = [await stack.enter_async_context(Viewer(server.url, PAGE, f"{SMALL}&seed={seed}")) for seed in range(3)]
            for viewer in viewers:
                await ready(viewer)
                await viewer.press("Train")
            for viewer in viewers:
                await viewer.until(lambda viewer=viewer: step_of(viewer) > 0, "the first steps")  # type: ignore[misc]
            before = [step_of(viewer) for viewer in viewers]
            for viewer, step in zip(viewers, before, strict=True):
                await viewer.until(lambda viewer=viewer, step=step: step_of(viewer) > step, "further steps")  # type: ignore[misc]
            assert [viewer.exceptions for viewer in viewers] == [[], [], []]
            assert [f"seed {seed}, 1 seed" in viewer.text for seed, viewer in enumerate(viewers)] == [True] * 3

    asyncio.run(class_of_three())


def test_a_moved_control_redraws_the_profile_and_writes_the_link(server: Server) -> None:
    async def one_move() -> None:
        async with Viewer(server.url, PAGE, SMALL) as viewer:
            await ready(viewer)
            assert sites_of(viewer) == 5
            await viewer.slide("Depth", 7)
            await viewer.until(lambda: sites_of(viewer) == 8, "eight points")
            await viewer.settled()
            assert "depth=7" in viewer.query
            assert viewer.exceptions == []

    asyncio.run(one_move())


def test_a_paused_page_asks_for_nothing_more(server: Server) -> None:
    async def play_and_pause() -> None:
        async with Viewer(server.url, PAGE, f"{SMALL}&seed=9") as viewer:
            await ready(viewer)
            assert not viewer.polls
            await viewer.press("Train")
            await viewer.until(lambda: viewer.polls and step_of(viewer) > 0, "the first steps")
            await viewer.press("Pause")
            await viewer.until(lambda: not viewer.polls, "the timers' end")

    asyncio.run(play_and_pause())
