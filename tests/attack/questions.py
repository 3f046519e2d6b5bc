"""Attacks by what is asked of the trainer: long texts, many configurations, refused questions, many sessions."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from urllib.parse import urlencode

from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from models.service.client import key_of
from models.spec import RunConfig
from tests.attack.attack import Attack
from tests.load.server import Server
from tests.load.viewer import PAGE, Viewer

LENS = "net=transformer&task=book&depth=1&width=16&heads=1&batch=8&steps=60&instrument=attention-and-lens"
LONG = 7_800_000  # characters: in JSON, where each of them takes six, more than a line of the worker's may have
TAKEN, MANY = 900_000, 20  # characters of the longest text that a connection takes: a longer one ends it
CONFIGURATIONS, AT_ONCE, BURST = 3000, 8, 60  # runs of a hello, hellos of a connection
SESSIONS, COLUMNS = 17, 4


@asynccontextmanager
async def typist(server: Server) -> AsyncIterator[Viewer]:
    """Somebody who has opened the instrument that asks the trainer about a text."""
    async with Viewer(server.url, PAGE, LENS) as viewer:
        await viewer.until(lambda: "Measured at step 0" in viewer.text, "the first answer")
        await viewer.settled()
        yield viewer


async def types(viewer: Viewer, text: str) -> None:
    """Claims to have typed a text, whatever its field allows."""
    await viewer.forge(WidgetState(id=viewer.widget("text_input", "Text").id, string_value=text))


async def one_long_text(server: Server) -> None:
    async with typist(server) as viewer:
        await types(viewer, "\x01" * TAKEN)
        await viewer.settled()
        await types(viewer, "\x01" * LONG)  # said again whenever the connection that it ends has come back
        await asyncio.sleep(10)


async def many_refused_texts(server: Server) -> None:
    async with typist(server) as viewer:
        for at in range(MANY):
            await types(viewer, f"{at} " + "\x01" * TAKEN)
            await viewer.settled()


def many_overrides(seed: int) -> RunConfig:
    """A configuration that takes much memory: each block differs from the one before."""
    odd = [(block, key, value) for block in range(1, 129, 2) for key, value in (("norm", "none"), ("residual", False))]
    return RunConfig(depth=128, seed=seed, overrides=tuple(odd))


async def many_configurations(server: Server) -> None:
    address, seeds = server.url.replace("http", "ws", 1) + "/log", iter(range(CONFIGURATIONS))

    async def ask() -> None:
        async with connect(address) as socket:
            with suppress(ConnectionClosed):
                for _, mine in zip(range(BURST), zip(*[seeds] * AT_ONCE, strict=False), strict=False):
                    runs = [{"link": key_of(many_overrides(seed)), "want": 100} for seed in mine]
                    await socket.send(json.dumps({"kind": "hello", "runs": runs}))
                    await socket.recv()

    await asyncio.gather(*(ask() for _ in range(CONFIGURATIONS // (AT_ONCE * BURST) + 1)))


@asynccontextmanager
async def many_comparisons(server: Server) -> AsyncIterator[list[Viewer]]:
    """Sessions that each train as many long runs as a page can show."""
    async with AsyncExitStack() as stack:
        viewers = []
        for first in range(0, SESSIONS * COLUMNS, COLUMNS):
            columns = {letter: f"steps=5000&seed={1000 + first + at}" for at, letter in enumerate("abcd"[:COLUMNS])}
            viewer = Viewer(server.url, "compare", urlencode(columns))
            viewers.append(await stack.enter_async_context(viewer))
        for viewer in viewers:
            await viewer.until(lambda viewer=viewer: viewer.player.connected, "the player")  # type: ignore[misc]
            viewer.train()
        yield viewers


async def stay(_server: Server) -> None:
    await asyncio.sleep(10)


ATTACKS: tuple[Attack, ...] = (
    Attack(1, "one text of 7.8 MB", one_long_text),
    Attack(5, f"{CONFIGURATIONS} configurations without a ticket", many_configurations),
    Attack(6, f"{MANY} refused questions of 0.9 MB", many_refused_texts),
    Attack(8, f"{SESSIONS} sessions with {COLUMNS} long runs each", stay, setting=many_comparisons),
)
