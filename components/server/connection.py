"""The connection of a page, and the crowd in which it has a place until the browser leaves or others need the place.

A ticketed client has shown a valid ticket. Those without end first, and do not slow the news of the ticketed.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from components.server.address import address_of
from models.spec import bounds

REFUSED, CROWDED = 1008, 1013  # websocket close codes
TOO_MANY = "too many connections"


class PageConnection(ABC):
    """A member of a crowd. `wake` is set when there is news for it; `ticket`: a valid one, empty without one."""

    def __init__(self, websocket: WebSocket) -> None:
        self.websocket = websocket
        self.address = address_of(websocket.scope)
        self.ticket = ""
        self.wake, self._ended = asyncio.Event(), asyncio.Event()

    @abstractmethod
    async def run(self) -> None:
        """Runs until the browser leaves, sends an illegal message or stops reading, or its place is needed."""

    def end(self) -> None:
        """Ends the connection, because others need its place."""
        self._ended.set()

    async def work(self, *parts: Coroutine[Any, Any, None]) -> None:
        """Works on all parts until one of them or the connection ends; the browser is sent a part's ValueError."""
        tasks = [asyncio.create_task(part) for part in (*parts, self._ended.wait())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for task in done if (error := task.exception()) is not None]
        reason = next((str(error) for error in errors if isinstance(error, ValueError)), "")
        if self.websocket.application_state is WebSocketState.CONNECTED and (reason or self._ended.is_set()):
            await self.websocket.close(*((REFUSED, reason[:100]) if reason else (CROWDED, TOO_MANY)))
        for error in errors:
            if not isinstance(error, ValueError | WebSocketDisconnect | OSError | RuntimeError):
                raise error

    async def send(self, message: str | bytes | dict[str, Any]) -> None:
        """Sends text, bytes or JSON; TimeoutError where the browser does not take it."""
        async with asyncio.timeout(bounds.SEND_SECONDS):
            if isinstance(message, str):
                await self.websocket.send_text(message)
            elif isinstance(message, bytes):
                await self.websocket.send_bytes(message)
            else:
                await self.websocket.send_json(message)

    async def woken(self, seconds: float) -> None:
        """Waits for news, so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wake.wait()


@dataclass
class Crowd:
    """The open connections, in the order in which they came."""

    most: int = bounds.MAX_PAGES
    most_of_address: int = bounds.MAX_PAGES_PER_ADDRESS
    most_of_ticket: int = bounds.MAX_PAGES_PER_TICKET
    _open: list[PageConnection] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def ticketed(self) -> int:
        """How many have shown a valid ticket."""
        return sum(bool(member.ticket) for member in self._open)

    def admit(self, newcomer: PageConnection) -> bool:
        """Takes a connection in; where there is no place, another one ends, or there is none for it: False."""
        neighbours = [member for member in self._open if member.address == newcomer.address]
        crowded_address = len(neighbours) >= self.most_of_address
        if crowded_address or len(self._open) >= self.most:
            first = self._first_to_go([one for one in neighbours if not one.ticket] if crowded_address else self._open)
            if first is None or (first.ticket and first.address == newcomer.address):
                return False  # nobody of a class is sent away for one more of it
            self._end(first)
        self._open.append(newcomer)
        return True

    def shown(self, member: PageConnection) -> None:
        """Notes that a connection has shown a ticket: of too many with the same one, the oldest end."""
        same = [one for one in self._open if one.ticket and one.ticket == member.ticket and one is not member]
        for one in same[: max(0, len(same) + 1 - self.most_of_ticket)]:
            self._end(one)

    def leave(self, member: PageConnection) -> None:
        """Notes that a connection has ended."""
        if member in self._open:
            self._open.remove(member)

    def _first_to_go(self, among: Iterable[PageConnection]) -> PageConnection | None:
        """The first to end: without a ticket first, then of the most crowded address, then the oldest."""
        of_address = Counter(member.address for member in self._open)
        return min(among, key=lambda one: (bool(one.ticket), -of_address[one.address]), default=None)

    def _end(self, member: PageConnection) -> None:
        self.leave(member)
        member.end()


async def serve(websocket: WebSocket, crowd: Crowd, kind: type[PageConnection]) -> None:
    """Serves a connection until it ends, if a crowd has a place for it."""
    await websocket.accept()
    connection = kind(websocket)
    if not crowd.admit(connection):
        await websocket.close(CROWDED, TOO_MANY)
        return
    try:
        await connection.run()
    finally:
        crowd.leave(connection)
