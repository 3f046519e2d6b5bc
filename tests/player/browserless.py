"""A browser's side of the player's connection as tests of the
route use it: says what it is told to, and waits for what comes.
"""

import json
from typing import Any

from websockets.sync.client import ClientConnection, connect

from models.service.client import key_of
from models.spec import RunConfig
from tests.load.logs import Came, Logs
from tests.waiting import PATIENCE


class Browser(Logs):
    """One connection, closed at the end of a `with` block."""

    def __init__(self, url: str, **how: Any) -> None:
        super().__init__()
        self._context = connect(url, max_size=None, open_timeout=PATIENCE, **how)
        self.socket: ClientConnection = self._context.__enter__()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Closes the connection."""
        self._context.__exit__(None, None, None)

    def hello(self, *cfgs: RunConfig, ticket: str = "", want: int = 0, have: int = 0, seeds: int = 1) -> "Browser":
        self.runs = [Came() for _ in cfgs]
        runs = [{"link": key_of(cfg), "seeds": seeds, "have": have, "want": want} for cfg in cfgs]
        self.say(self.greeting(ticket, runs))
        return self

    def request(self, *wants: int) -> None:
        self.say({"kind": "request", "wants": wants})

    def say(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def take(self) -> None:
        """Files the next message."""
        self.file(self.socket.recv(timeout=PATIENCE))

    def until_done(self, *which: int) -> "Browser":
        """Until these runs, all where none are named, are over and all of their rows have come."""
        for at in which or range(len(self.runs)):
            while not self.runs[at].over:
                self.take()
        return self

    def until_rows(self, count: int, run: int = 0) -> "Browser":
        """Until so many rows have come."""
        while len(self.runs[run].rows) < count:
            self.take()
        return self
