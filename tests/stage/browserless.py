"""A browser's side of the stage's connection, without a browser: says what it is told to, and files what comes."""

import json
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from websockets.sync.client import ClientConnection, connect

from models.service.client import key_of
from models.spec import RunConfig
from tests.waiting import PATIENCE

HEAD = struct.Struct("<IIII")


@dataclass
class Came:
    """What has come of one run."""

    header: dict[str, Any] = field(default_factory=dict)
    opening: dict[str, Any] = field(default_factory=dict)
    rows: dict[int, np.ndarray] = field(default_factory=dict)
    frames: list[dict[str, Any]] = field(default_factory=list)
    said: dict[str, list[Any]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    messages: int = 0

    @property
    def done(self) -> bool:
        return bool(self.state.get("done"))

    def matrix(self) -> np.ndarray:
        """The rows in their order."""
        return np.stack([self.rows[at] for at in sorted(self.rows)])


class Browser:
    """One connection, closed at the end of a `with` block."""

    def __init__(self, url: str, **how: Any) -> None:
        self._context = connect(url, max_size=None, open_timeout=PATIENCE, **how)
        self.socket: ClientConnection = self._context.__enter__()
        self.turn = 0
        self.runs: list[Came] = []
        self.trainer: dict[str, Any] = {}

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Closes the connection."""
        self._context.__exit__(None, None, None)

    def hello(self, *cfgs: RunConfig, ticket: str = "", want: int = 0, have: int = 0, seeds: int = 1) -> "Browser":
        self.turn += 1
        self.runs = [Came() for _ in cfgs]
        runs = [{"link": key_of(cfg), "seeds": seeds, "have": have, "want": want} for cfg in cfgs]
        self.say({"kind": "hello", "turn": self.turn, "ticket": ticket, "runs": runs})
        return self

    def wish(self, *wants: int) -> None:
        self.say({"kind": "wish", "wants": wants})

    def say(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def take(self) -> None:
        """Files the next message."""
        message = self.socket.recv(timeout=PATIENCE)
        if isinstance(message, bytes):
            run, start, count, turn = HEAD.unpack_from(message)
            if turn == self.turn:
                rows = np.frombuffer(message, "<f4", offset=HEAD.size).reshape(count, -1)
                self.runs[run].rows |= {start + at: row for at, row in enumerate(rows)}
                self.runs[run].messages += 1
            return
        told = json.loads(message)
        kind = told.pop("kind")
        if kind == "trainer":
            self.trainer = told
        elif told.pop("turn") == self.turn:
            came = self.runs[told.pop("run")]
            if kind == "frames":
                came.frames += told["frames"]
            elif kind == "said":
                for name, changes in told["said"].items():
                    came.said.setdefault(name, []).extend(changes)
            else:
                setattr(came, kind, told)

    def until_done(self, *which: int) -> "Browser":
        """Until these runs, all where none are named, are over and all of their rows have come."""
        for at in which or range(len(self.runs)):
            while not (self.runs[at].done or self.runs[at].state.get("error")):
                self.take()
        return self

    def until_rows(self, count: int, run: int = 0) -> "Browser":
        """Until so many rows have come."""
        while len(self.runs[run].rows) < count:
            self.take()
        return self
