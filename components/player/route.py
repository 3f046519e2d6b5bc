"""The route `/log`: one websocket per page, which requests runs and receives them row by row.

A run trains while some connection requests it. A request lasts a few seconds and is renewed, so that training stops
when a tab closes or its machine disappears, and continues when the tab is reloaded.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from components.player.browser_messages import (
    Ask,
    Hello,
    MessageRate,
    Request,
    ShownRun,
    decode,
    is_slow_to_decode,
    parse,
)
from components.player.drawn_net import measured
from components.player.engine import serve_engine
from components.player.feed import RunFeed
from components.player.news import News
from components.player.recordings import RecordingFeed
from components.server.connection import PageConnection
from components.server.tickets import TICKETS, Playhead
from components.shell.assets import base_path
from components.shell.player_files import serve_script
from models.service.client import Trainer, trainer
from models.spec import RunConfig

REQUEST_SECONDS = 5.0  # a run stays requested this long after its connection has ended
RENEW_SECONDS = 2.0  # between two renewals of a request
TICK_SECONDS = 1.0  # between two updates without news: queue, trainer, speed
MIN_PAUSE_SECONDS = 0.05  # between two sends
PAUSE_SECONDS_PER_CLIENT = 0.005  # the pause between two sends grows with the connections
MAX_MEASURING = 2  # nets that drawings ask for: the threads, 5 at least, are also search's and slow hellos'

_open: set["Connection"] = set()
_news: dict[asyncio.AbstractEventLoop, News] = {}
_decoding: dict[tuple[asyncio.AbstractEventLoop, bool], asyncio.Lock] = {}  # by loop and whether there is a ticket
_measuring: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


def routes() -> list[BaseRoute]:
    """The routes of the player's connections and scripts, below the server's base path."""
    base = base_path()
    return [
        WebSocketRoute(f"{base}/log", serve_log),
        Route(f"{base}/player/{{version}}/engine.json", serve_engine),
        Route(f"{base}/player/{{version}}/{{name}}", serve_script),
    ]


async def serve_log(websocket: WebSocket) -> None:
    await websocket.accept()
    await Connection(websocket).run()


class Connection(PageConnection):
    """The connection of a page: reads its requests, and sends the rows that it lacks.

    There is no queue of messages: rows are taken from the log once the last message is sent. A slow browser gets more
    rows a message, and one that does not read is disconnected.
    """

    def __init__(self, websocket: WebSocket) -> None:
        super().__init__(websocket)
        self.feeds: list[RunFeed | RecordingFeed] = []
        self.loop = asyncio.get_running_loop()
        self.news = _news.setdefault(self.loop, News(self.loop))
        self._renewed_at = 0.0
        self._sent_status: dict[str, Any] = {}
        self._question: tuple[RunConfig, dict[str, Any]] | None = None  # a drawing's last: its run, and the net
        self._has_question = asyncio.Event()

    async def run(self) -> None:
        """Runs until the browser leaves, sends an illegal message or stops reading."""
        _open.add(self)
        try:
            await self.run_until_first_ends(self._send_all(), self._read_all(), self._measure_asked())
        finally:
            _open.discard(self)
            self.news.follow(self.wake, ())
            TICKETS.record_playhead(self.ticket, frozenset(), None)

    async def _read_all(self) -> None:
        rate_limit = MessageRate()
        while True:
            message = await self.websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if message.get("text") is None:
                raise ValueError("bytes, where text is due")
            rate_limit.spend()
            self._receive(await self._decode(message["text"]))

    async def _measure_asked(self) -> None:
        """Sends the last net that a drawing asked for as soon as it is measured, one at a time."""
        while True:
            await self._has_question.wait()
            async with _measuring.setdefault(self.loop, asyncio.Semaphore(MAX_MEASURING)):
                self._has_question.clear()
                message = await asyncio.to_thread(measured, *self._question) if self._question else None
            if message is not None:
                await self.send(message)

    async def _decode(self, text: str) -> Hello | Request | Ask:
        """The decoded message. Slow ones are decoded in threads, one at a time with a ticket and one without."""
        message = parse(text)
        if not is_slow_to_decode(message):
            return decode(message)
        has_ticket = TICKETS.owner(message["ticket"]) is not None
        async with _decoding.setdefault((self.loop, has_ticket), asyncio.Lock()):
            return await asyncio.to_thread(decode, message)

    def _receive(self, message: Hello | Request | Ask) -> None:
        if isinstance(message, Ask):
            if self.ticket and self.feeds and isinstance(self.feeds[0], RunFeed):
                self._question = self.feeds[0].cfg, message.net
                self._has_question.set()
            return
        if isinstance(message, Hello):
            self._apply_hello(message)
        elif len(message.target_rows) != len(self.feeds):
            raise ValueError("a request for other runs than those of the hello")
        else:
            for feed, target_row in zip(self.feeds, message.target_rows, strict=True):
                feed.target_row = target_row
                if not target_row:  # at once: it may be the connection's last word
                    feed.request(trainer(), 0.0)
            keys = frozenset(feed.key for feed in self.feeds if isinstance(feed, RunFeed) and feed.owner)
            TICKETS.record_playhead(self.ticket, keys, Playhead(message.step, message.is_playing))
        self._renewed_at = 0.0
        self.wake.set()

    def _apply_hello(self, hello: Hello) -> None:
        owner = TICKETS.owner(hello.ticket)
        if owner is not None:
            owner = owner._replace(connection=id(self))
        self.ticket = hello.ticket if owner is not None else ""
        before = self.feeds
        self.feeds = [
            RunFeed(number, run, owner, hello.turn)
            if isinstance(run, ShownRun)
            else RecordingFeed(number, run, hello.turn)
            for number, run in enumerate(hello.runs)
        ]
        for feed in before:
            if feed.key not in {shown.key for shown in self.feeds}:
                feed.target_row = 0
                feed.request(trainer(), 0.0)
        self.news.follow(self.wake, [key for feed in self.feeds for key in feed.keys])

    async def _send_all(self) -> None:
        await self.wake.wait()  # for a hello
        ticked_at = 0.0
        while True:
            service = trainer()
            self.news.subscribe_to(service)
            feeds = self.feeds
            now = time.monotonic()
            is_tick = now - ticked_at > TICK_SECONDS
            if feeds and now - self._renewed_at > RENEW_SECONDS:
                self._renewed_at = now
                for feed in feeds:
                    feed.request(service, REQUEST_SECONDS)
            if is_tick:
                ticked_at = now
            for feed in feeds:
                if isinstance(feed, RecordingFeed):
                    await self._send_new(feed.read(), feed)
                else:
                    await self._send_new(_async_iterator(feed.messages(service, rate=is_tick)), feed)
            if feeds and is_tick:
                await self._send_status(service)
            await asyncio.sleep(max(MIN_PAUSE_SECONDS, PAUSE_SECONDS_PER_CLIENT * self._clients()))
            await self.wait_for_news(TICK_SECONDS)
            self.wake.clear()

    def _clients(self) -> int:
        """The open connections; for one with a ticket, those with a ticket, so that strangers do not slow it down."""
        return sum(bool(other.ticket) for other in _open) if self.ticket else len(_open)

    async def _send_new(self, messages: AsyncIterator[str | bytes], feed: RunFeed | RecordingFeed) -> None:
        async for message in messages:
            if feed not in self.feeds:
                return  # a new hello has come meanwhile
            await self.send(message)

    async def _send_status(self, service: Trainer) -> None:
        status = service.status()
        sentence = "" if status.state == "ready" else status.sentence
        content = {"state": status.state, "sentence": sentence, "ticket": bool(self.ticket)}
        if content != self._sent_status:
            self._sent_status = content
            await self.send({"kind": "trainer"} | content)


async def _async_iterator(messages: Iterable[str | bytes]) -> AsyncIterator[str | bytes]:
    for message in messages:
        yield message
