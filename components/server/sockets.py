"""Sockets that hold places without using them: idle ones, and messages that are begun and never end.

Uvicorn waits for ever for a first request and for the rest of a message, and lets no application see either. So this
looks at its connections once a second, by names of its own that `tests/server/test_sockets.py` keeps watch over.
"""

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from starlette.types import Receive

from models.log import event, told
from models.spec import bounds

try:
    import resource
except ImportError:  # Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

LOOK_SECONDS = 1.0


def more_files() -> int:
    """Raises the number of files and sockets that this process may open as far as it is allowed; returns it."""
    if resource is None:
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = bounds.MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, bounds.MAX_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return soft
    with suppress(ValueError, OSError):  # macOS allows fewer than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def short_messages(receive: Receive) -> None:
    """Bounds what a websocket takes in; what Streamlit sends, which has the same option, may be longer."""
    conn = getattr(getattr(receive, "__self__", None), "conn", None)
    if conn is not None and hasattr(conn, "max_message_size"):
        conn.max_message_size = bounds.MAX_MESSAGE_BYTES


class Watch:
    """Ends connections that keep the server waiting too long; of too many idle ones those that came first, and of too
    many bytes of unfinished messages the largest.
    """

    def __init__(self) -> None:
        self._since: dict[Any, tuple[object, float]] = {}  # what a connection is waited for with, and since when
        self._task: asyncio.Task[None] | None = None

    def begin(self, receive: Receive) -> None:
        """Looks at the connections of a server from its first request on."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look(_connections(receive)))

    async def _look(self, connections: Collection[Any]) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                for due in self.due(connections, asyncio.get_running_loop().time()):
                    due.transport.abort()
            except Exception as error:
                event("failed", logging.ERROR, **told(error))

    def due(self, connections: Collection[Any], now: float) -> list[Any]:
        """The connections to end at a time of the loop's clock."""
        before, self._since = self._since, {}
        for connection in connections:
            if waited_with := _waited_for(connection):
                known = before.get(connection)
                self._since[connection] = known if known and known[0] is waited_with[0] else (*waited_with, now)
        oldest_first = sorted(self._since, key=lambda connection: self._since[connection][1])
        idle = [connection for connection in oldest_first if not hasattr(connection, "frames")]
        unfinished = sorted(set(oldest_first) - set(idle), key=_unfinished_bytes)
        due = idle[: max(0, len(idle) - bounds.MAX_IDLE_CONNECTIONS)]
        total = 0
        for connection in unfinished:
            total += _unfinished_bytes(connection)
            if total > bounds.MAX_UNFINISHED_BYTES:
                due.append(connection)
        for waiting, seconds in ((idle, bounds.IDLE_SECONDS), (unfinished, bounds.MESSAGE_SECONDS)):
            due += [one for one in waiting if now - self._since[one][1] > seconds]
        return list(dict.fromkeys(due))


def _connections(receive: Receive) -> Collection[Any]:
    """All connections of the server that a request came by."""
    carrier = getattr(receive, "__self__", None)  # a websocket, or one request of a connection
    carrier = getattr(getattr(carrier, "on_response", None), "__self__", carrier)
    connections: Collection[Any] = getattr(carrier, "connections", ())
    return connections


def _waited_for(connection: Any) -> tuple[object] | None:
    """What is the same as long as a connection waits for one request or one message; None while it waits for none."""
    if hasattr(connection, "frames"):  # a websocket
        return (connection.frames,) if _unfinished_bytes(connection) and not connection.read_paused else None
    cycle = connection.cycle
    return (cycle,) if cycle is None or cycle.response_complete else None


def _unfinished_bytes(websocket: Any) -> int:
    return sum(map(len, websocket.frames)) + len(websocket.conn.reader.buffer)
