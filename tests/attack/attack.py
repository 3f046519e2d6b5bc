"""What a stranger does to a server, and what the others notice of it meanwhile and afterwards.

An attack is bounded in count and time, and goes to a server of its own on this machine.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, closing, nullcontext, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from threading import Event
from urllib.parse import urlsplit

from tests.load.server import Server
from tests.load.viewer import PAGE, Viewer

MAX_SECONDS = 20.0  # of an attack
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
        over = Event()
        watching = asyncio.create_task(asyncio.to_thread(_worst_health, server, over))
        attacking = asyncio.create_task(carried_out(attack, server))
        await asyncio.sleep(0.5)
        came = None
        with suppress(AssertionError):
            came = await first_row(server, seed=91)
        await attacking
        over.set()
    worst = await watching
    await asyncio.sleep(AFTERWARDS)
    return Harm(worst, came, server.memory() - before)


async def carried_out(attack: Attack, server: Server) -> None:
    """Carries out an attack, and no longer than it may last."""
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_SECONDS):
            await attack.carry_out(server)


async def first_row(server: Server, seed: int = 91) -> float:
    """Seconds from Train to the first trained row of somebody who has just come. AssertionError if none comes."""
    async with Viewer(server.url, PAGE, f"depth=4&width=16&batch=16&steps=60&seed={seed}") as viewer:
        await viewer.ready()
        began = time.perf_counter()
        viewer.train()
        await viewer.until(lambda: viewer.step > 0, "the first row")
        return time.perf_counter() - began


def _worst_health(server: Server, over: Event) -> float:
    """The longest that /healthz took, until it is over. In a thread, for an attack keeps its own loop busy."""
    address, worst = urlsplit(server.url), 0.0
    while not over.wait(LOOK_SECONDS):
        began = time.perf_counter()
        with (
            suppress(OSError),
            closing(HTTPConnection(str(address.hostname), address.port, timeout=MAX_SECONDS)) as to,
        ):
            to.request("GET", "/healthz")
            to.getresponse().read()
        worst = max(worst, time.perf_counter() - began)
    return worst
