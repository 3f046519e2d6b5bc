"""The connection of a page: it has a place in a crowd until the browser leaves or others need the place."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from components.shell.visitor import address_of
from components.stage.crowd import Crowd

HELLO_SECONDS = 10.0
SEND_SECONDS = 10.0  # that a browser may take to receive a message
REFUSED, CROWDED = 1008, 1013  # websocket close codes


class PageConnection(ABC):
    """A member of a crowd. `wake` is set when there is news for it."""

    def __init__(self, websocket: WebSocket) -> None:
        self.websocket = websocket
        self.address = address_of(websocket.scope)
        self.ticket = ""  # a valid one: a guest's
        self.wake, self._ended = asyncio.Event(), asyncio.Event()

    @abstractmethod
    async def run(self) -> None:
        """Runs until the browser leaves, sends an illegal message or stops reading, or its place is needed."""

    def end(self) -> None:
        """Ends the connection, because others need its place."""
        self._ended.set()

    async def work(self, *parts: Coroutine[Any, Any, None]) -> None:
        """Works on all parts until one of them or the connection ends; the browser is sent a part's ValueError."""
        tasks = [asyncio.create_task(one) for one in (*parts, self._ended.wait())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for task in done if (error := task.exception()) is not None]
        reason = next((str(error) for error in errors if isinstance(error, ValueError)), "")
        if self.websocket.application_state is WebSocketState.CONNECTED and (reason or self._ended.is_set()):
            crowded = CROWDED, "too many connections"
            await self.websocket.close(*((REFUSED, reason[:100]) if reason else crowded))
        for error in errors:
            if not isinstance(error, ValueError | WebSocketDisconnect | OSError | RuntimeError):
                raise error

    async def send(self, message: str | bytes | dict[str, Any]) -> None:
        """Sends text, bytes or JSON; TimeoutError where the browser does not take it."""
        async with asyncio.timeout(SEND_SECONDS):
            if isinstance(message, str):
                await self.websocket.send_text(message)
            elif isinstance(message, bytes):
                await self.websocket.send_bytes(message)
            else:
                await self.websocket.send_json(message)

    async def woken(self, seconds: float) -> None:
        """Waits for news, so many seconds at most."""
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            pass


async def serve(websocket: WebSocket, crowd: Crowd, kind: type[PageConnection]) -> None:
    """Serves a connection until it ends, if a crowd has a place for it."""
    await websocket.accept()
    connection = kind(websocket)
    if not crowd.admit(connection):
        await websocket.close(CROWDED, "too many connections")
        return
    try:
        await connection.run()
    finally:
        crowd.leave(connection)
