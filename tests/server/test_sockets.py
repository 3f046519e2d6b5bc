"""Connections that keep the server waiting are ended; and the names of Uvicorn's that this needs are there."""

import asyncio
import socket
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from components.server import sockets
from components.server.sockets import SocketWatch, raise_file_limit
from models.spec import bounds
from models.spec.bounds import IDLE_SECONDS, MESSAGE_SECONDS

TICKS = 1.0


@dataclass(eq=False)
class Asks:
    """A connection as Uvicorn has it before it is a websocket."""

    cycle: Any = None


@dataclass(eq=False)
class Says:
    """A websocket of Uvicorn's."""

    frames: list[bytes] = field(default_factory=list)
    read_paused: bool = False
    conn: Any = field(default_factory=lambda: SimpleNamespace(reader=SimpleNamespace(buffer=bytearray())))


def ended_at(watch: SocketWatch, connection: Any, until: float = 100.0) -> float | None:
    now = 0.0
    while now < until:
        if connection in watch.connections_to_end([connection], now):
            return now
        now += TICKS
    return None


def test_whoever_asks_nothing_is_ended_after_a_while():
    assert ended_at(SocketWatch(), Asks()) == pytest.approx(IDLE_SECONDS + TICKS)
    assert ended_at(SocketWatch(), Asks(SimpleNamespace(response_complete=True))) == pytest.approx(IDLE_SECONDS + TICKS)
    assert ended_at(SocketWatch(), Asks(SimpleNamespace(response_complete=False))) is None


def test_whoever_asks_again_is_waited_for_again():
    watch, connection = SocketWatch(), Asks()
    for now in range(100):
        connection.cycle = SimpleNamespace(response_complete=True) if now % 10 == 0 else connection.cycle
        assert watch.connections_to_end([connection], float(now)) == []


def test_a_message_that_does_not_end_ends_its_connection_and_many_that_do_are_taken():
    begun, quiet, busy = Says([b"x"]), Says(), Says()
    assert ended_at(SocketWatch(), begun) == pytest.approx(MESSAGE_SECONDS + TICKS)
    assert ended_at(SocketWatch(), quiet) is None
    watch = SocketWatch()
    for now in range(200):
        busy.frames = [b"x"]
        assert watch.connections_to_end([busy], float(now)) == []


def test_a_websocket_that_is_not_read_from_is_not_blamed():
    assert ended_at(SocketWatch(), Says([b"x"], read_paused=True)) is None


def test_of_too_many_idle_ones_the_first_go():
    few = [Asks() for _ in range(3)]
    watch = SocketWatch()
    watch.connections_to_end(few[:1], 0.0)
    waiting = watch._waiting
    assert list(waiting) == few[:1]
    many = [*few, *(Asks() for _ in range(bounds.MAX_IDLE_CONNECTIONS - 2))]
    assert watch.connections_to_end(many, 1.0) == few[:1]


def test_of_too_much_that_is_unfinished_the_largest_goes():
    small, large = Says([b"x" * 10**6]), Says([bytes(bounds.MAX_UNFINISHED_BYTES)])
    assert SocketWatch().connections_to_end([small, large], 0.0) == [large]


def test_what_ended_is_forgotten():
    watch = SocketWatch()
    watch.connections_to_end([Asks()], 0.0)
    watch.connections_to_end([], 1.0)
    assert watch._waiting == {}


@pytest.mark.skipif(sockets.resource is None, reason="no such limit here")
def test_as_many_files_may_be_open_as_the_system_allows():
    soft, hard = sockets.resource.getrlimit(sockets.resource.RLIMIT_NOFILE)
    try:
        sockets.resource.setrlimit(sockets.resource.RLIMIT_NOFILE, (min(300, hard), hard))
        assert raise_file_limit() == min(hard, bounds.MAX_FILES)
        assert sockets.resource.getrlimit(sockets.resource.RLIMIT_NOFILE)[1] == hard
    finally:
        sockets.resource.setrlimit(sockets.resource.RLIMIT_NOFILE, (soft, hard))


def test_uvicorns_own_names_are_those_that_the_watch_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this fails, Uvicorn has changed: idle connections and unfinished messages are held for ever."""
    monkeypatch.setattr(sockets, "INSPECTION_SECONDS", 0.05)
    monkeypatch.setattr(bounds, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(bounds, "MESSAGE_SECONDS", 0.2)
    longest, watch = [], SocketWatch()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        watch.begin(receive)
        if scope["type"] != "websocket":
            await PlainTextResponse("heard")(scope, receive, send)
            return
        sockets.limit_message_size(receive)
        longest.append(receive.__self__.conn.max_message_size)
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "text": "heard"})

    async def story() -> None:
        with socket.socket() as own:
            own.bind(("127.0.0.1", 0))
            own.listen()
            server = uvicorn.Server(
                uvicorn.Config(app, lifespan="off", log_level="error", ws="websockets-sansio", ws_max_size=2**23)
            )
            serving = asyncio.create_task(server.serve([own]))
            while not server.started:
                await asyncio.sleep(0)
            port = own.getsockname()[1]
            reader, _ = await asyncio.open_connection("127.0.0.1", port)
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert await asyncio.wait_for(_end_of(reader), 30) == b""
            async with connect(f"ws://127.0.0.1:{port}/") as page:
                for _ in range(3):
                    await page.send("whole")
                    assert await page.recv() == "heard"
                with pytest.raises(ConnectionClosed):
                    await page.send(_unfinished(page))
            async with connect(f"ws://127.0.0.1:{port}/") as page:
                await page.send("x" * (bounds.MAX_MESSAGE_BYTES + 1))
                with pytest.raises(ConnectionClosed) as ended:
                    await page.recv()
            assert ended.value.rcvd is not None
            assert ended.value.rcvd.code == 1009
            server.should_exit = True
            await serving

    asyncio.run(story())
    assert longest == [bounds.MAX_MESSAGE_BYTES] * 2


async def _end_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


async def _unfinished(page: Any) -> Any:
    """The fragments of a message whose last one never comes, until the connection has ended."""
    yield "begun"
    yield "and"
    await page.wait_closed()
    yield "too late"
