"""The server opens as many files as it may; and the name of Uvicorn's that bounds a message is there."""

import asyncio
import socket
from typing import Any

import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from components.server import sockets
from components.server.sockets import raise_file_limit
from models.spec import bounds


@pytest.mark.skipif(sockets.resource is None, reason="no such limit here")
def test_as_many_files_may_be_open_as_the_system_allows():
    soft, hard = sockets.resource.getrlimit(sockets.resource.RLIMIT_NOFILE)
    try:
        sockets.resource.setrlimit(sockets.resource.RLIMIT_NOFILE, (min(300, hard), hard))
        assert raise_file_limit() == min(hard, bounds.MAX_FILES)
        assert sockets.resource.getrlimit(sockets.resource.RLIMIT_NOFILE)[1] == hard
    finally:
        sockets.resource.setrlimit(sockets.resource.RLIMIT_NOFILE, (soft, hard))


def test_a_longer_message_than_may_be_ends_its_connection() -> None:
    """Where this fails, Uvicorn has changed: a message may be as long as one to a page."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        sockets.limit_message_size(receive)
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
            async with connect(f"ws://127.0.0.1:{own.getsockname()[1]}/") as page:
                await page.send("x" * bounds.MAX_MESSAGE_BYTES)
                assert await page.recv() == "heard"
                await page.send("x" * (bounds.MAX_MESSAGE_BYTES + 1))
                with pytest.raises(ConnectionClosed) as ended:
                    await page.recv()
            assert ended.value.rcvd is not None
            assert ended.value.rcvd.code == 1009
            server.should_exit = True
            await serving

    asyncio.run(story())
