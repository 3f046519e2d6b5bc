"""The connection of a page."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from models.spec import bounds

REFUSED = 1008  # websocket close code


class PageConnection:
    """A websocket of a page. `wake` is set when there is news for it; `ticket` is empty unless it is valid."""

    def __init__(self, websocket: WebSocket) -> None:
        self.websocket = websocket
        self.ticket = ""
        self.wake = asyncio.Event()

    async def run_until_first_ends(self, *coroutines: Coroutine[Any, Any, None]) -> None:
        """Runs coroutines until one of them ends; sends the browser a ValueError of theirs."""
        tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        errors = [error for task in done if (error := task.exception()) is not None]
        reason = next((str(error) for error in errors if isinstance(error, ValueError)), "")
        if reason and self.websocket.application_state is WebSocketState.CONNECTED:
            await self.websocket.close(REFUSED, reason[:100])
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
