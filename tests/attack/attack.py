"""What a stranger does to a server, and what the others notice of it meanwhile and afterwards.

An attack is bounded in count and time, and goes to a server of its own on this machine.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.load.server import Server
from tests.load.viewer import PAGE, Viewer

MOST_SECONDS = 20.0  # of an attack
AFTERWARDS = 10.0  # seconds after which memory is looked at
LOOK_SECONDS = 0.05  # between two looks at /healthz


@dataclass(frozen=True)
class Attack:
    """`number` and `what` as the table prints them.

    Of the server that is attacked: `environment` has variables, and `before` is a command that ends by becoming it.
    `setting`: what is there before the attack begins, and until what it did has been measured.
    """

    number: int
    what: str
    carry_out: Callable[[Server], Awaitable[object]]
    environment: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    setting: Callable[[Server], AbstractAsyncContextManager[object]] = lambda _server: nullcontext()


@dataclass(frozen=True)
class Harm:
    """Seconds of the worst answer of /healthz and of a newcomer's first row during an attack; bytes kept after it.

    `first_row`: None if none came.
    """

    health: float
    first_row: float | None
    kept: int


async def harm(attack: Attack, server: Server) -> Harm:
    """Carries out an attack on a server that is ready, and measures what it does to the others."""
    await first_row(server, seed=90)  # what the first visitor of a server loads is not the attack's
    before = server.memory()
    async with attack.setting(server):
        watching = asyncio.create_task(_worst_health(server))
        attacking = asyncio.create_task(carried_out(attack, server))
        await asyncio.sleep(0.5)
        came = None
        with suppress(AssertionError):
            came = await first_row(server, seed=91)
        await attacking
        watching.cancel()
    await asyncio.sleep(AFTERWARDS)
    return Harm(await watching, came, server.memory() - before)


async def carried_out(attack: Attack, server: Server) -> None:
    """Carries out an attack, and no longer than it may last."""
    with suppress(TimeoutError):
        async with asyncio.timeout(MOST_SECONDS):
            await attack.carry_out(server)


async def first_row(server: Server, seed: int = 91) -> float:
    """Seconds from Train to the first trained row of somebody who has just come. AssertionError if none comes."""
    async with Viewer(server.url, PAGE, f"depth=4&width=16&batch=16&steps=60&seed={seed}") as viewer:
        await viewer.ready()
        began = time.perf_counter()
        viewer.train()
        await viewer.until(lambda: viewer.step > 0, "the first row")
        return time.perf_counter() - began


async def _worst_health(server: Server) -> float:
    """The longest that /healthz took, until cancelled."""
    address, worst, began = urlsplit(server.url), 0.0, 0.0
    with suppress(asyncio.CancelledError):
        while True:
            began = time.perf_counter()
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(address.hostname, address.port)
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                await reader.read()
                writer.close()
            worst, began = max(worst, time.perf_counter() - began), 0.0
            await asyncio.sleep(LOOK_SECONDS)
    return max(worst, time.perf_counter() - began if began else 0.0)
