"""Attacks by connections: messages without a ticket, silent sockets, foreign origins, unfinished messages."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.typing import Origin, Subprotocol

from models.service.client import key_of
from models.spec import RunConfig
from models.spec.overrides import Override
from tests.attack.attack import Attack
from tests.load.server import Server

HOLD_SECONDS = 8.0
PIECE = b"x" * 2**16
EVIL = "evil.example"
NOWHERE = "http://10.255.255.1:9"  # an address that does not answer, like that of a firewall
LOG, STREAM = "/log", "/_stcore/stream"
NORM, PLACEMENT = ("layer norm", "dynamic tanh"), ("post-norm", "res-post-norm")
BLOCKS = "depth=128&overrides=" + "1-128.norm.none," * 1250


def socket_to(server: Server, path: str = LOG, **how: Any) -> connect:
    """A websocket of somebody who has no page."""
    subprotocols = [Subprotocol("streamlit")] if path == STREAM else None
    how = {"max_size": None, "ping_interval": None, "open_timeout": 20.0, "subprotocols": subprotocols} | how
    return connect(server.url.replace("http", "ws", 1) + path, **how)


async def all_opened(stack: AsyncExitStack, ways: Iterable[connect]) -> list[ClientConnection]:
    """Opens many at once; those that are refused are left out."""

    async def opened(way: connect) -> ClientConnection | None:
        with suppress(OSError, WebSocketException, TimeoutError):
            return await way
        return None

    found = [one for one in await asyncio.gather(*map(opened, ways)) if one is not None]
    for one in found:
        stack.callback(one.transport.abort)
    return found


async def said(page: ClientConnection, text: str) -> int:
    """Says something, and listens until it is answered or the connection ends; its close code, or 0."""
    with suppress(WebSocketException, TimeoutError):
        async with asyncio.timeout(HOLD_SECONDS):
            await page.send(text)
            await page.recv()
    return page.close_code or 0


def hello(*links: str) -> str:
    return json.dumps({"kind": "hello", "ticket": "", "runs": [{"link": link} for link in links]})


def longest_link() -> str:
    """A legal link with an exception for every block and key, none of which are a range with the next."""
    truths = False, True
    two: dict[str, tuple[str | bool, ...]] = {"residual": truths, "norm": NORM, "placement": PLACEMENT}
    two["identity"] = truths
    blocks: list[Override] = [(at, key, values[at % 2]) for at in range(1, 129) for key, values in two.items()]
    return key_of(RunConfig(depth=128, overrides=tuple(blocks)))


async def endless_blocks(server: Server, count: int = 10) -> list[int]:
    """So many hellos with six links of 160,000 blocks each, and as many with eight of the longest legal links."""
    async with AsyncExitStack() as stack:
        pages = await all_opened(stack, [socket_to(server) for _ in range(2 * count)])
        hellos = [hello(*[BLOCKS] * 6), hello(*[longest_link()] * 8)]
        return list(await asyncio.gather(*(said(page, hellos[at >= count]) for at, page in enumerate(pages))))


async def silent_sockets(server: Server, count: int = 500) -> None:
    """Opens so many connections and says nothing."""
    async with AsyncExitStack() as stack:
        await all_opened(stack, [socket_to(server) for _ in range(count)])
        await asyncio.sleep(HOLD_SECONDS)


async def idle_connections(server: Server, count: int = 1100) -> None:
    """Opens so many connections and asks nothing."""
    address, writers = urlsplit(server.url), []
    try:
        for _ in range(count):
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    writers.append((await asyncio.open_connection(address.hostname, address.port))[1])
        await asyncio.sleep(HOLD_SECONDS)
    finally:
        for writer in writers:
            writer.transport.abort()


async def foreign_origins(server: Server) -> list[int]:
    """Websockets of pages of another origin; the statuses with which they are refused."""

    async def status(path: str) -> int:
        try:
            async with socket_to(server, path, origin=Origin(f"https://{EVIL}")):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code

    return [await status(path) for path in (LOG, STREAM) * 3]


async def unfinished_messages(server: Server, count: int = 20, size: int = 7_800_000) -> list[int]:
    """Messages that begin on so many connections, have so many bytes and never end; their close codes, or 0."""

    async def pieces(page: ClientConnection) -> AsyncIterator[bytes]:
        for _ in range(size // len(PIECE)):
            yield PIECE
        await page.wait_closed()

    async def begun(page: ClientConnection) -> int:
        with suppress(WebSocketException, TimeoutError):
            async with asyncio.timeout(HOLD_SECONDS):
                await page.send(pieces(page))
        return page.close_code or 0

    async with AsyncExitStack() as stack:
        pages = await all_opened(stack, [socket_to(server, STREAM) for _ in range(count)])
        return list(await asyncio.gather(*map(begun, pages)))


async def rebinding(server: Server, name: str = "examples") -> list[int]:
    """A page of a foreign name that resolves to this machine asks for what is here; the statuses that it gets."""
    address, found = urlsplit(server.url), []
    host = f"{EVIL}:{address.port}"
    for path in ("/", "/healthz", f"/recordings?recording={name}"):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        found.append(int((await reader.readline()).split()[1]))
        writer.close()
    for path in (LOG, STREAM):
        try:
            async with connect(f"ws://{host}{path}", host=address.hostname, origin=Origin(f"http://{host}")):
                found.append(101)
        except InvalidStatus as refused:
            found.append(refused.response.status_code)
    return found


async def metrics(server: Server) -> list[int]:
    """Asks how many visitors there are and what they hold, which costs the server a walk through all of it."""
    address, found = urlsplit(server.url), []
    for _ in range(50):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"GET /_stcore/metrics HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n".encode())
        found.append(int((await reader.readline()).split()[1]))
        writer.close()
    return found


FEW_FILES = ("sh", "-c", 'ulimit -Sn 1024; exec "$@"', "sh")

ATTACKS: tuple[Attack, ...] = (
    Attack(2, "links of 160,000 blocks", endless_blocks),
    Attack(3, "500 silent sockets", silent_sockets),
    Attack(4, "1,100 idle connections", idle_connections, before=FEW_FILES),
    Attack(10, "foreign origins", foreign_origins, {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE}),
    Attack(14, "20 unfinished messages of 7.8 MB", unfinished_messages),
    Attack(16, "a foreign name for this machine", rebinding),
    Attack(17, "50 looks at the metrics", metrics),
)
