"""The route `/tape`: one connection for each page, over which its runs come row by row, and which is the wish for them.

A run is wanted for as long as a connection wants it. Wishes are made for a few
seconds and made again, so that a tab that is closed, and one whose machine has
gone, end the work by themselves, while one that is loaded anew finds it going on.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import streamlit as st
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from components.stage.asked import Asked, Hello, Rate, Wish, read
from components.stage.files import module
from components.stage.lines import Line
from components.stage.news import News
from components.stage.recordings import Reel
from components.stage.tickets import TICKETS, At
from models.service.client import trainer

WISH_SECONDS = 5.0  # the grace after a connection has ended
RENEW_SECONDS = 2.0
TICK_SECONDS = 1.0  # between two looks at what no tape tells: the queue, the trainer, the speed
SEND_SECONDS = 10.0  # that a reader may take for one message
HELLO_SECONDS = 10.0
PAUSE_SECONDS, EACH_SECONDS = 0.05, 0.005  # between two messages of rows: at least, and for every connection there is
MOST_CONNECTIONS = 500
REFUSED, CROWDED = 1008, 1013  # of the codes with which a websocket ends

_open: set["Connection"] = set()
_news: dict[asyncio.AbstractEventLoop, News] = {}


def routes() -> list[BaseRoute]:
    """The routes of the stage, below the server's base path: its rows, and its scripts."""
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    below = f"/{base}" if base else ""
    return [WebSocketRoute(f"{below}/tape", tape), Route(f"{below}/stage/{{version}}/{{name}}", module)]


async def tape(websocket: WebSocket) -> None:
    """Answers one connection until it ends."""
    if not _is_origin_allowed(websocket.headers.get("origin"), websocket.headers.get("host")):
        await websocket.close(REFUSED)
        return
    await websocket.accept()
    if len(_open) >= MOST_CONNECTIONS:
        await websocket.close(CROWDED, "too many connections")
        return
    connection = Connection(websocket)
    _open.add(connection)
    try:
        await connection.run()
    finally:
        _open.discard(connection)


class Connection:
    """One page: reads what it wants, and sends what it does not have yet.

    Nothing is queued for it: rows are taken from the tape when the one before has gone, so that whoever reads slowly
    gets more of them in one message, and whoever does not read is let go.
    """

    def __init__(self, websocket: WebSocket) -> None:
        self.websocket = websocket
        self.lines: list[Line | Reel] = []
        self.wake = asyncio.Event()
        self.ticket, self.ticket_holds = "", False
        loop = asyncio.get_running_loop()
        self.news = _news.setdefault(loop, News(loop))
        self._renewed = 0.0
        self._told: dict[str, Any] = {}

    async def run(self) -> None:
        """Until the browser goes, says something that it may not, or does not read."""
        sender = asyncio.create_task(self._send_all())
        reader = asyncio.create_task(self._read_all())
        done, pending = await asyncio.wait({sender, reader}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        self.news.follow(self.wake, ())
        TICKETS.note(self.ticket, frozenset(), None)
        reason = next((str(error) for task in done if isinstance(error := task.exception(), ValueError)), "")
        if self.websocket.application_state is WebSocketState.CONNECTED and reason:
            await self.websocket.close(REFUSED, reason[:100])
        for task in done:
            if (error := task.exception()) and not isinstance(
                error, ValueError | WebSocketDisconnect | OSError | RuntimeError
            ):
                raise error

    async def _read_all(self) -> None:
        rate = Rate()
        async with asyncio.timeout(HELLO_SECONDS) as patience:
            while True:
                message = await self.websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                if message.get("text") is None:
                    raise ValueError("bytes, where text is due")
                rate.spend()
                self._hear(read(message["text"]))
                patience.reschedule(None)

    def _hear(self, said: Hello | Wish) -> None:
        if isinstance(said, Hello):
            owner = TICKETS.owner(said.ticket)
            self.ticket, self.ticket_holds = said.ticket, owner is not None
            self.lines = [
                Line(at, asked, owner, said.turn) if isinstance(asked, Asked) else Reel(at, asked, said.turn)
                for at, asked in enumerate(said.runs)
            ]
            self.news.follow(self.wake, [key for line in self.lines for key in line.keys])
        elif len(said.wants) != len(self.lines):
            raise ValueError("a wish for other runs than those of the hello")
        else:
            for line, want in zip(self.lines, said.wants, strict=True):
                line.want = want
            TICKETS.note(self.ticket, frozenset(line.key for line in self.lines if line.key), At(said.at, said.playing))
        self._renewed = 0.0
        self.wake.set()

    async def _send_all(self) -> None:
        looked = 0.0
        while True:
            service, now = trainer(), time.monotonic()
            self.news.of(service)
            lines, tick = self.lines, now - looked > TICK_SECONDS
            if lines and now - self._renewed > RENEW_SECONDS:
                self._renewed = now
                for line in lines:
                    line.wish(service, WISH_SECONDS)
            if tick:
                looked = now
            for line in lines:
                await self._send(line.messages(service, rate=tick), line)
            if lines and tick:
                await self._say_how_it_is(service)
            await asyncio.sleep(max(PAUSE_SECONDS, EACH_SECONDS * len(_open)))
            try:
                async with asyncio.timeout(TICK_SECONDS):
                    await self.wake.wait()
            except TimeoutError:
                pass
            self.wake.clear()

    async def _send(self, messages: Iterable[str | bytes], line: Line | Reel) -> None:
        for message in messages:
            if line not in self.lines:
                return  # another hello has come meanwhile, and this run has another number
            async with asyncio.timeout(SEND_SECONDS):
                if isinstance(message, str):
                    await self.websocket.send_text(message)
                else:
                    await self.websocket.send_bytes(message)

    async def _say_how_it_is(self, service: Any) -> None:
        status = service.status()
        sentence = "" if status.state == "ready" else status.sentence
        told = {"state": status.state, "sentence": sentence, "wanted": status.wanted, "ticket": self.ticket_holds}
        if told != self._told:
            self._told = told
            async with asyncio.timeout(SEND_SECONDS):
                await self.websocket.send_json({"kind": "trainer"} | told)
