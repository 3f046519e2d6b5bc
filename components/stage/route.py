"""The route `/tape`: one websocket per page, which asks for runs and receives them row by row.

A run is trained while some connection wants it. A wish lasts a few seconds and is renewed: the work ends by itself when
a tab is closed or its machine is gone, and goes on when a tab is reloaded.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from components.shell.assets import base_path
from components.stage.asked import Asked, Hello, Rate, Wish, read
from components.stage.files import module
from components.stage.lines import Line
from components.stage.news import News
from components.stage.recordings import Reel
from components.stage.tickets import TICKETS, At
from models.service.client import Trainer, trainer

WISH_SECONDS = 5.0  # that a run is still wanted after its connection has ended
RENEW_SECONDS = 2.0
TICK_SECONDS = 1.0  # between two looks at what is not news: the queue, the trainer, the speed
SEND_SECONDS = 10.0  # that a browser may take to receive a message
HELLO_SECONDS = 10.0
PAUSE_SECONDS, EACH_SECONDS = 0.05, 0.005  # between two sends: at least, and for every open connection
MOST_CONNECTIONS = 500
REFUSED, CROWDED = 1008, 1013  # websocket close codes

_open: set["Connection"] = set()
_news: dict[asyncio.AbstractEventLoop, News] = {}


def routes() -> list[BaseRoute]:
    """The routes of the stage's connections and scripts, below the server's base path."""
    base = base_path()
    return [WebSocketRoute(f"{base}/tape", tape), Route(f"{base}/stage/{{version}}/{{name}}", module)]


async def tape(websocket: WebSocket) -> None:
    """Serves a connection until it ends."""
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
    """The connection of a page: reads what it wants, and sends what it does not have yet.

    Nothing is queued: rows are taken from the tape once the last message is sent, so that a slow browser gets more of
    them in a message, and one that does not read is disconnected.
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
        """Runs until the browser leaves, sends an illegal message, or stops reading."""
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
                Line(number, run, owner, said.turn) if isinstance(run, Asked) else Reel(number, run, said.turn)
                for number, run in enumerate(said.runs)
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
                await self._send_status(service)
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
                return  # a new hello has come meanwhile
            async with asyncio.timeout(SEND_SECONDS):
                if isinstance(message, str):
                    await self.websocket.send_text(message)
                else:
                    await self.websocket.send_bytes(message)

    async def _send_status(self, service: Trainer) -> None:
        status = service.status()
        sentence = "" if status.state == "ready" else status.sentence
        told = {"state": status.state, "sentence": sentence, "ticket": self.ticket_holds}
        if told != self._told:
            self._told = told
            async with asyncio.timeout(SEND_SECONDS):
                await self.websocket.send_json({"kind": "trainer"} | told)
