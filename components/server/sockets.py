"""Ends sockets that occupy places without using them: idle ones, and those with messages that never end.

Uvicorn waits for ever for a first request and for the rest of a message, and shows neither to an application. So this
module inspects uvicorn's connections once a second. `tests/server/test_sockets.py` checks the private names it uses.
"""

import asyncio
import logging
from collections.abc import Collection
from contextlib import suppress
from typing import Any, NamedTuple

from starlette.types import Receive

from models.log import error_facts, event
from models.spec import bounds

try:
    import resource
except ImportError:  # Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

INSPECTION_SECONDS = 1.0


def raise_file_limit() -> int:
    """Raises the limit of open files and sockets to MAX_FILES or the hard limit; returns the new limit.

    0 on Windows, which has no such limit.
    """
    if resource is None:
        return 0
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = bounds.MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, bounds.MAX_FILES)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return soft
    with suppress(ValueError, OSError):  # macOS allows fewer than its hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def limit_message_size(receive: Receive) -> None:
    """Bounds a websocket's incoming messages; Streamlit's option of that name would bound outgoing ones too."""
    conn = getattr(getattr(receive, "__self__", None), "conn", None)
    if conn is not None and hasattr(conn, "max_message_size"):
        conn.max_message_size = bounds.MAX_MESSAGE_BYTES


class _Wait(NamedTuple):
    """A wait for one request or message, during which `token` stays the same object. `since`: on the loop's clock."""

    token: object
    since: float


class SocketWatch:
    """Ends connections that wait too long, the oldest of too many idle ones, and the largest unfinished messages."""

    def __init__(self) -> None:
        self._waiting: dict[Any, _Wait] = {}  # by connection
        self._task: asyncio.Task[None] | None = None

    def begin(self, receive: Receive) -> None:
        """Starts to watch the connections of a server, at its first request."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch(_connections(receive)))

    async def _watch(self, connections: Collection[Any]) -> None:
        while True:
            await asyncio.sleep(INSPECTION_SECONDS)
            try:
                for connection in self.connections_to_end(connections, asyncio.get_running_loop().time()):
                    connection.transport.abort()
            except Exception as error:
                event("failed", logging.ERROR, **error_facts(error))

    def connections_to_end(self, connections: Collection[Any], now: float) -> list[Any]:
        """The connections beyond a bound at time `now` of the loop's clock. Stores since when each one waits."""
        self._waiting = {
            connection: self._wait_of(connection, now) for connection in connections if _is_waiting(connection)
        }
        oldest_first = sorted(self._waiting, key=lambda connection: self._waiting[connection].since)
        idle = [connection for connection in oldest_first if not _is_websocket(connection)]
        unfinished = sorted(set(oldest_first) - set(idle), key=_unfinished_bytes)
        to_end = idle[: max(0, len(idle) - bounds.MAX_IDLE_CONNECTIONS)]
        total_bytes = 0
        for connection in unfinished:
            total_bytes += _unfinished_bytes(connection)
            if total_bytes > bounds.MAX_UNFINISHED_BYTES:
                to_end.append(connection)
        for waiting, seconds in ((idle, bounds.IDLE_SECONDS), (unfinished, bounds.MESSAGE_SECONDS)):
            to_end += [connection for connection in waiting if now - self._waiting[connection].since > seconds]
        return list(dict.fromkeys(to_end))

    def _wait_of(self, connection: Any, now: float) -> _Wait:
        """The wait of a connection: the stored one if it still lasts, else a new one."""
        token = _wait_token(connection)
        stored = self._waiting.get(connection)
        return stored if stored is not None and stored.token is token else _Wait(token, now)


def _connections(receive: Receive) -> Collection[Any]:
    """All connections of the server that received a request."""
    owner = getattr(receive, "__self__", None)  # a websocket, or one request of a connection
    owner = getattr(getattr(owner, "on_response", None), "__self__", owner)
    connections: Collection[Any] = getattr(owner, "connections", ())
    return connections


def _is_websocket(connection: Any) -> bool:
    return hasattr(connection, "frames")


def _is_waiting(connection: Any) -> bool:
    """Whether the server waits for a connection's request, or for the rest of its message."""
    if _is_websocket(connection):
        return bool(_unfinished_bytes(connection)) and not connection.read_paused
    return connection.cycle is None or connection.cycle.response_complete


def _wait_token(connection: Any) -> object:
    """An object that uvicorn replaces once the wait is over."""
    return connection.frames if _is_websocket(connection) else connection.cycle


def _unfinished_bytes(websocket: Any) -> int:
    return sum(map(len, websocket.frames)) + len(websocket.conn.reader.buffer)
