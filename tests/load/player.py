"""The player of a viewer's page: its connection, which comes back by itself, and a playhead at the end of what is there."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

from tests.load.logs import Came, Logs

BACK_OFF = 0.5  # seconds before a connection is tried again
NOTE_PAUSE = 0.25  # between two words on where the playhead is
REFUSED = 1008


class Player(Logs):
    """`url`: of the page's server. `changed` is awaited whenever something has come.

    The playhead is as fast as its logs: while it plays it stands at the last row. `told`: where the page was told that
    it is. `refusal`: why the server has ended the connection for good. `failure`: what is wrong with this client
    itself.
    """

    def __init__(self, url: str, headers: dict[str, str], changed: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.url, self.headers, self.changed = url, headers, changed
        self.data: dict[str, Any] = {}
        self.head, self.playing, self.told = 0, False, (0, False)
        self.refusal = ""
        self.failure: BaseException | None = None
        self.connected = False
        self.connections = 0
        self.socket: ClientConnection | None = None
        self._noted: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._noting = False

    @property
    def last(self) -> int:
        """The last step of the longest run."""
        return max((int(run["last"]) for run in self.data.get("runs", [])), default=0)

    @property
    def links(self) -> list[str]:
        """The runs that are shown."""
        return [str(run["link"]) for run in self.data.get("runs", [])]

    @property
    def here(self) -> bool:
        """Whether the browser trains the runs, and asks the server for nothing."""
        here = self.data.get("here") or {"always": False}
        return bool(here["always"] and not here["refusal"])

    @property
    def there(self) -> int:
        """The step that all of its runs have reached; those that are over hold nobody back."""
        if self.here:
            return self.last
        going = [came for came in self.runs if not came.over] or self.runs
        ends = [max(0, len(came.rows) - 1) for came in going]
        return min(ends) if any(not came.over for came in self.runs) else max(ends, default=0)

    @property
    def step(self) -> int:
        """The step that is shown."""
        return min(self.head, self.there)

    @property
    def over(self) -> bool:
        """Whether no run goes on."""
        return all(came.over for came in self.runs)

    def declare(self, data: dict[str, Any]) -> None:
        """What the page shows now. Other runs come with a playhead at the beginning."""
        before, self.data = self.data, data
        fresh = [(run["link"], run["seeds"]) for run in data["runs"]] != [
            (run["link"], run["seeds"]) for run in before.get("runs", [])
        ]
        if fresh:
            self.runs = [Came() for _ in data["runs"]]
            self.head, self.playing, self.told = 0, False, (0, False)
        self.draw(data["messages"])
        if self.here:
            return
        if not before:
            self._spawn(self._hold())
        elif fresh or before["ticket"] != data["ticket"]:
            self.refusal = ""
            self._spawn(self._greet())

    def play(self) -> None:
        """Moves on from where it stands; from the beginning, where it stands at the end."""
        if self.head >= self.last or (self.over and self.head >= self.there):
            self.head = 0
        self.playing = True
        if self.here:
            self.head, self.playing = self.last, False
            return
        self._move()
        self._spawn(self._wish())

    def rest(self, row: int) -> None:
        """Stands at a step, whether it is there yet or not."""
        self.head, self.playing = min(max(row, 0), self.last), False
        self._spawn(self._wish())

    def abort(self) -> None:
        """Loses the connection without a goodbye."""
        if self.socket is not None:
            self.socket.transport.abort()

    async def say(self, message: Any) -> None:
        """Says anything."""
        if self.socket is not None:
            with suppress(WebSocketException):
                await self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    async def leave(self) -> None:
        """Closes the connection."""
        for task in self._tasks:
            task.cancel()
        if self.socket is not None:
            await self.socket.close()

    def _spawn(self, what: Any) -> None:
        task = asyncio.create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self.failure = self.failure or task.exception()

    async def _hold(self) -> None:
        """Keeps the connection until the server refuses it."""
        origin = Origin("/".join(self.url.split("/")[:3]))
        address = self.url.replace("http", "ws", 1) + "/log"
        how: dict[str, Any] = {
            "origin": origin,
            "additional_headers": self.headers,
            "max_size": None,
            "ping_interval": None,
        }
        while not self.refusal:
            try:
                async with connect(address, **how) as self.socket:
                    self.connected, self.connections = True, self.connections + 1
                    await self._greet()
                    async for message in self.socket:
                        self.file(message)
                        self._move()
                        await self.changed()
            except (OSError, WebSocketException):
                pass
            self.connected = False
            if self.socket is not None and self.socket.close_code == REFUSED:
                self.refusal = self.socket.close_reason or ""
            await self.changed()
            await asyncio.sleep(BACK_OFF)

    async def _greet(self) -> None:
        """Says what is shown and which rows of it are here."""
        wants = self._requests()["wants"]
        runs = [
            {"link": run["link"], "seeds": run["seeds"], "have": came.has, "want": want}
            for run, came, want in zip(self.data["runs"], self.runs, wants, strict=True)
        ]
        self._noted = {}
        await self.say(self.greeting(self.data["ticket"], runs))
        await self._wish()

    async def _wish(self) -> None:
        """How many rows are wanted, which is shown, and whether that moves on."""
        requests = self._requests()
        if self.connected and requests != self._noted:
            self._noted = requests
            await self.say({"kind": "request", **requests})

    def _requests(self) -> dict[str, Any]:
        wanted = self.last + 1 if self.playing else self.head + 1 if self.head else 0
        wants = [min(wanted, int(run["last"]) + 1) for run in self.data["runs"]]
        return {"wants": wants, "at": self.step, "playing": self.playing}

    def _move(self) -> None:
        """While it plays: to the last row, and at rest where nothing more comes."""
        if not self.playing:
            return
        self.head = max(self.head, self.there)
        if self.over and self.head >= self.there:
            self.head, self.playing = self.there, False
        if not self._noting:
            self._noting = True
            self._spawn(self._note())

    async def _note(self) -> None:
        await asyncio.sleep(NOTE_PAUSE)
        self._noting = False
        await self._wish()
