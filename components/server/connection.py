"""The connection of a page, and the crowd of all connections, which ends some to make room for others.

Connections without a valid ticket end first, and do not slow down those with one.
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
    """A member of a crowd. `wake` is set when there is news for it; `ticket` is empty unless it is valid."""

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

    async def run_until_first_ends(self, *coroutines: Coroutine[Any, Any, None]) -> None:
        """Runs coroutines until one of them or the connection ends; sends the browser a ValueError of theirs."""
        tasks = [asyncio.create_task(coroutine) for coroutine in (*coroutines, self._ended.wait())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for task in done if (error := task.exception()) is not None]
        reason = next((str(error) for error in errors if isinstance(error, ValueError)), "")
        if self.websocket.application_state is WebSocketState.CONNECTED:
            if reason:
                await self.websocket.close(REFUSED, reason[:100])
            elif self._ended.is_set():
                await self.websocket.close(CROWDED, TOO_MANY)
        for error in errors:
            if not isinstance(error, ValueError | WebSocketDisconnect | OSError | RuntimeError):
                raise error

    async def send(self, message: str | bytes | dict[str, Any]) -> None:
        """Sends text, bytes or JSON; TimeoutError if the browser does not read it."""
        async with asyncio.timeout(bounds.SEND_SECONDS):
            if isinstance(message, str):
                await self.websocket.send_text(message)
            elif isinstance(message, bytes):
                await self.websocket.send_bytes(message)
            else:
                await self.websocket.send_json(message)

    async def wait_for_news(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wake.wait()


@dataclass
class Crowd:
    """The open connections, oldest first."""

    max_connections: int = bounds.MAX_PAGES
    max_per_address: int = bounds.MAX_PAGES_PER_ADDRESS
    max_per_ticket: int = bounds.MAX_PAGES_PER_TICKET
    _open: list[PageConnection] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._open)

    @property
    def ticketed_count(self) -> int:
        return sum(bool(member.ticket) for member in self._open)

    def admit(self, newcomer: PageConnection) -> bool:
        """Adds a connection, and ends another one if there is no room. False if none may end for it."""
        neighbours = [member for member in self._open if member.address == newcomer.address]
        is_address_full = len(neighbours) >= self.max_per_address
        if is_address_full or len(self._open) >= self.max_connections:
            without_ticket = [neighbour for neighbour in neighbours if not neighbour.ticket]
            victim = self._first_to_end(without_ticket if is_address_full else self._open)
            if victim is None or (victim.ticket and victim.address == newcomer.address):
                return False  # a newcomer does not displace others of its class
            self._end(victim)
        self._open.append(newcomer)
        return True

    def limit_ticket(self, newest: PageConnection) -> None:
        """Ends the oldest connections with the ticket of `newest` beyond the bound for one ticket."""
        others = [
            other for other in self._open if other.ticket and other.ticket == newest.ticket and other is not newest
        ]
        for other in others[: max(0, len(others) + 1 - self.max_per_ticket)]:
            self._end(other)

    def leave(self, member: PageConnection) -> None:
        if member in self._open:
            self._open.remove(member)

    def _first_to_end(self, candidates: Iterable[PageConnection]) -> PageConnection | None:
        """The oldest connection of the most crowded address, if possible without a ticket."""
        of_address = Counter(member.address for member in self._open)
        return min(candidates, key=lambda member: (bool(member.ticket), -of_address[member.address]), default=None)

    def _end(self, member: PageConnection) -> None:
        self.leave(member)
        member.end()


async def serve(websocket: WebSocket, crowd: Crowd, kind: type[PageConnection]) -> None:
    """Serves a connection until it ends, if the crowd admits it."""
    await websocket.accept()
    connection = kind(websocket)
    if not crowd.admit(connection):
        await websocket.close(CROWDED, TOO_MANY)
        return
    try:
        await connection.run()
    finally:
        crowd.leave(connection)
