"""The route `/log`: one websocket per page, which asks for runs and receives them row by row.

A run is trained while some connection wants it. A request lasts a few seconds and is renewed: the work ends by itself
when a tab is closed or its machine is gone, and goes on when a tab is reloaded.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from components.player.asked import AskedRun, Hello, Rate, Request, heavy, said, understood
from components.player.feed import RunFeed
from components.player.news import News
from components.player.recordings import RecordingFeed
from components.server.connection import Crowd, PageConnection, serve
from components.server.tickets import TICKETS, At
from components.shell.assets import base_path
from components.shell.player_files import module
from models.service.client import Trainer, trainer
from models.spec import bounds

REQUEST_SECONDS = 5.0  # that a run is still wanted after its connection has ended
RENEW_SECONDS = 2.0
TICK_SECONDS = 1.0  # between two looks at what is not news: the queue, the trainer, the speed
PAUSE_SECONDS, EACH_SECONDS = 0.05, 0.005  # between two sends: at least, and for every ticketed client

CROWD = Crowd()
_news: dict[asyncio.AbstractEventLoop, News] = {}
_reading: dict[tuple[asyncio.AbstractEventLoop, bool], asyncio.Lock] = {}


def routes() -> list[BaseRoute]:
    """The routes of the player's connections and scripts, below the server's base path."""
    base = base_path()
    return [WebSocketRoute(f"{base}/log", log), Route(f"{base}/player/{{version}}/{{name}}", module)]


async def log(websocket: WebSocket) -> None:
    """Serves a connection until it ends."""
    await serve(websocket, CROWD, Connection)


class Connection(PageConnection):
    """The connection of a page: reads what it wants, and sends what it does not have yet.

    Nothing is queued: rows are taken from the log once the last message is sent, so that a slow browser gets more of
    them in a message, and one that does not read is disconnected.
    """

    def __init__(self, websocket: WebSocket) -> None:
        super().__init__(websocket)
        self.lines: list[RunFeed | RecordingFeed] = []
        self.loop = asyncio.get_running_loop()
        self.news = _news.setdefault(self.loop, News(self.loop))
        self._renewed = 0.0
        self._told: dict[str, Any] = {}

    async def run(self) -> None:
        """Runs until the browser leaves, sends an illegal message or stops reading, or its place is needed."""
        try:
            await self.work(self._send_all(), self._read_all())
        finally:
            self.news.follow(self.wake, ())
            TICKETS.note(self.ticket, frozenset(), None)

    async def _read_all(self) -> None:
        rate = Rate()
        async with asyncio.timeout(bounds.HELLO_SECONDS) as patience:
            while True:
                message = await self.websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                if message.get("text") is None:
                    raise ValueError("bytes, where text is due")
                rate.spend()
                self._hear(await self._understood(message["text"]))
                patience.reschedule(None)

    async def _understood(self, text: str) -> Hello | Request:
        """What a message means. A heavy one is read beside the loop: one with a ticket and one without at a time."""
        message = said(text)
        if not heavy(message):
            return understood(message)
        ticketed = TICKETS.owner(message["ticket"]) is not None
        async with _reading.setdefault((self.loop, ticketed), asyncio.Lock()):
            return await asyncio.to_thread(understood, message)

    def _hear(self, heard: Hello | Request) -> None:
        if isinstance(heard, Hello):
            owner = TICKETS.owner(heard.ticket)
            if owner is not None:
                owner = owner._replace(connection=id(self))
            self.ticket = heard.ticket if owner is not None else ""
            CROWD.shown(self)
            self.lines = [
                RunFeed(number, run, owner, heard.turn)
                if isinstance(run, AskedRun)
                else RecordingFeed(number, run, heard.turn)
                for number, run in enumerate(heard.runs)
            ]
            self.news.follow(self.wake, [key for line in self.lines for key in line.keys])
        elif len(heard.wants) != len(self.lines):
            raise ValueError("a request for other runs than those of the hello")
        else:
            for line, want in zip(self.lines, heard.wants, strict=True):
                line.want = want
            TICKETS.note(
                self.ticket, frozenset(line.key for line in self.lines if line.key), At(heard.at, heard.playing)
            )
        self._renewed = 0.0
        self.wake.set()

    async def _send_all(self) -> None:
        await self.wake.wait()  # for a hello
        looked = 0.0
        while True:
            service, now = trainer(), time.monotonic()
            self.news.of(service)
            lines, tick = self.lines, now - looked > TICK_SECONDS
            if lines and now - self._renewed > RENEW_SECONDS:
                self._renewed = now
                for line in lines:
                    line.request(service, REQUEST_SECONDS)
            if tick:
                looked = now
            for line in lines:
                new = line.read() if isinstance(line, RecordingFeed) else _each(line.messages(service, rate=tick))
                await self._send_new(new, line)
            if lines and tick:
                await self._send_status(service)
            await asyncio.sleep(max(PAUSE_SECONDS, EACH_SECONDS * (CROWD.ticketed if self.ticket else len(CROWD))))
            await self.woken(TICK_SECONDS)
            self.wake.clear()

    async def _send_new(self, messages: AsyncIterator[str | bytes], line: RunFeed | RecordingFeed) -> None:
        async for message in messages:
            if line not in self.lines:
                return  # a new hello has come meanwhile
            await self.send(message)

    async def _send_status(self, service: Trainer) -> None:
        status = service.status()
        sentence = "" if status.state == "ready" else status.sentence
        told = {"state": status.state, "sentence": sentence, "ticket": bool(self.ticket)}
        if told != self._told:
            self._told = told
            await self.send({"kind": "trainer"} | told)


async def _each(messages: Iterable[str | bytes]) -> AsyncIterator[str | bytes]:
    for message in messages:
        yield message
