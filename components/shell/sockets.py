"""Sockets that hold places without using them: idle ones, and messages that are begun and never end.

Uvicorn waits for ever for a first request and for the rest of a message, and lets no application see either. So this
looks at its connections once a second, by names of its own that `tests/shell/test_sockets.py` keeps watch over.
"""

import asyncio
import gc
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.types import Receive

from models.log import event, told

try:
    import resource
except ImportError:  # Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

LOOK_SECONDS = 1.0
IDLE_SECONDS = 15.0  # without a whole request; Uvicorn itself waits five after an answer
MESSAGE_SECONDS = 30.0  # from a message's first byte to its last
LONGEST_MESSAGE = 2**20  # bytes of a visitor's message; a pasted configuration has at most 400,000
MOST_IDLE = 1000
MOST_UNFINISHED = 2**24  # bytes of all messages that have begun and not ended
MOST_FILES = 2**16  # descriptors that are asked for


def more_files() -> int:
    """Raises the number of files and sockets that this process may open as far as it is allowed; returns it."""
    if resource is None:
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return soft
    with suppress(ValueError, OSError):  # macOS allows fewer than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def short_messages(receive: Receive) -> None:
    """Bounds what a websocket takes in; what Streamlit sends, which has the same option, may be longer."""
    conn = getattr(getattr(receive, "__self__", None), "conn", None)
    if conn is not None and hasattr(conn, "max_message_size"):
        conn.max_message_size = LONGEST_MESSAGE


class Watch:
    """Ends connections that keep the server waiting, idle or in the middle of a message.

    Each may wait for so long. Of idle ones, there may be so many: the longest idle ends first. Unfinished messages may
    hold so much memory: the largest ends first.
    """

    def __init__(self) -> None:
        self._waits: dict[Any, tuple[object, float]] = {}  # what a connection is waited for with, and since when

    async def look(self) -> None:
        """Looks for ever, at every server of this process."""
        servers = [one for one in gc.get_objects() if type(one) is uvicorn.Server]
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = asyncio.get_running_loop().time()
            for one in self.due([found for server in servers for found in server.server_state.connections], now):
                one.transport.abort()

    def due(self, connections: Iterable[Any], now: float) -> list[Any]:
        """The connections to end at a time of the loop's clock."""
        before, self._waits = self._waits, {}
        idle: list[Any] = []
        unfinished: list[Any] = []
        for one in connections:
            if not (at := _waited_for(one)):
                continue
            known = before.get(one)
            self._waits[one] = known if known is not None and known[0] is at[0] else (at[0], now)
            (idle if _held(one) is None else unfinished).append(one)
        return [*self._too_long(idle, IDLE_SECONDS, now, MOST_IDLE), *self._too_large(unfinished, now)]

    def _too_long(self, waiting: list[Any], seconds: float, now: float, most: int) -> list[Any]:
        waiting.sort(key=lambda one: self._waits[one][1])
        over = len(waiting) - most
        return [one for at, one in enumerate(waiting) if at < over or now - self._waits[one][1] > seconds]

    def _too_large(self, unfinished: list[Any], now: float) -> list[Any]:
        due = self._too_long(unfinished, MESSAGE_SECONDS, now, len(unfinished))
        rest = sorted(set(unfinished) - set(due), key=lambda one: _held(one) or 0)
        left = sum(_held(one) or 0 for one in rest)
        while left > MOST_UNFINISHED:
            left -= _held(rest[-1]) or 0
            due.append(rest.pop())
        return due


def _waited_for(connection: Any) -> tuple[object] | None:
    """What is the same as long as a connection waits for one request or one message; None while it waits for none."""
    if _held(connection) is None:
        cycle = connection.cycle
        return (cycle,) if cycle is None or cycle.response_complete else None
    return (connection.frames,) if _held(connection) and not connection.read_paused else None


def _held(connection: Any) -> int | None:
    """The bytes of a websocket's unfinished message; None for a connection that is no websocket."""
    if not hasattr(connection, "frames"):
        return None
    return sum(map(len, connection.frames)) + len(connection.conn.reader.buffer)


async def watch() -> None:
    """Watches over this process's sockets until it is cancelled, whatever goes wrong in a look."""
    while True:
        try:
            await Watch().look()
        except Exception as error:
            event("failed", logging.ERROR, **told(error))
            await asyncio.sleep(LOOK_SECONDS)
