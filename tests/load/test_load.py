"""Several people at once, through Streamlit's own protocol: the page answers all of them, and every run goes on."""

import asyncio
from contextlib import AsyncExitStack

from tests.load.server import Server
from tests.load.viewer import PAGE, Viewer
from tests.service.test_faults import LONG
from tests.waiting import PATIENCE

SMALL = "depth=4&width=16&batch=16"


def test_three_people_train_a_run_each_and_every_run_advances(server: Server) -> None:
    async def class_of_three() -> None:
        async with AsyncExitStack() as stack:
            viewers = [
                await stack.enter_async_context(Viewer(server.url, PAGE, f"{LONG}&seed={seed}")) for seed in range(3)
            ]
            for viewer in viewers:
                await viewer.ready()
                viewer.train()
            for viewer in viewers:
                await viewer.until(lambda viewer=viewer: viewer.step > 0, "the first steps")  # type: ignore[misc]
            before = [viewer.step for viewer in viewers]
            for viewer, step in zip(viewers, before, strict=True):
                await viewer.until(lambda viewer=viewer, step=step: viewer.step > step, "further steps")  # type: ignore[misc]
            assert [viewer.exceptions for viewer in viewers] == [[], [], []]
            assert [viewer.player.data["facts"] for viewer in viewers] == [
                [f"seed {seed}, 1 seed"] for seed in range(3)
            ]
            assert len({tuple(viewer.losses[:20]) for viewer in viewers}) == 3

    asyncio.run(class_of_three())


def test_a_moved_control_redraws_the_profile_and_writes_the_link(server: Server) -> None:
    async def one_move() -> None:
        async with Viewer(server.url, PAGE, SMALL) as viewer:
            await viewer.ready()
            assert viewer.sites == 5
            await viewer.slide("Depth", 7)
            await viewer.until(lambda: viewer.sites == 8, "eight points")
            await viewer.settled()
            assert "depth=7" in viewer.query
            assert viewer.exceptions == []

    asyncio.run(one_move())


def test_the_page_runs_again_where_the_playhead_comes_to_rest_and_not_while_it_plays(server: Server) -> None:
    async def play_and_pause() -> None:
        async with Viewer(server.url, PAGE, f"{LONG}&seed=9") as viewer:
            await viewer.ready()
            drawn = len(viewer.reruns)
            viewer.train()
            await viewer.until(lambda: viewer.step > 20, "the first steps")
            assert len(viewer.reruns) == drawn
            viewer.pause()
            await viewer.rested()
            assert len(viewer.reruns) > drawn
            async with asyncio.timeout(PATIENCE):  # until nobody trains and a second brings nothing
                before = None
                while server.health()["training"] or before != (len(viewer.reruns), len(viewer.losses)):
                    before = len(viewer.reruns), len(viewer.losses)
                    await asyncio.sleep(1)

    asyncio.run(play_and_pause())
