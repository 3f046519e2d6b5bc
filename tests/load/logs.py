"""A browser's side of the player's connection, without a
browser: what is said on it, and what has come. Knows no socket.
"""

import base64
import json
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HEAD = struct.Struct("<IIII")


@dataclass
class Came:
    """What has come of one run. `arrivals`: when (`time.monotonic`) how many rows were there."""

    header: dict[str, Any] = field(default_factory=dict)
    rows: dict[int, np.ndarray] = field(default_factory=dict)
    frames: list[dict[str, Any]] = field(default_factory=list)
    said: dict[str, list[Any]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    arrivals: list[tuple[float, int]] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return bool(self.state.get("done"))

    @property
    def over(self) -> bool:
        """Nothing more will come: the run is done, or it cannot go on."""
        return self.done or bool(self.state.get("error"))

    @property
    def sites(self) -> list[str]:
        """The names of the sites, once row 0 is there."""
        return list(self.header.get("sites", []))

    @property
    def has(self) -> int:
        """The rows that it need not be sent again: none while they are those that come with the app."""
        return 0 if self.state.get("recorded") else len(self.rows)

    def matrix(self) -> np.ndarray:
        """The rows in their order."""
        return np.stack([self.rows[at] for at in sorted(self.rows)])

    def sentence(self, kind: str, row: int) -> str:
        """What is said of a row, its numbers not filled in."""
        return next((str(sentence) for start, sentence in reversed(self.said.get(kind, [])) if start <= row), "")

    def take(self, start: int, rows: np.ndarray) -> None:
        """Files rows."""
        self.rows |= {start + at: row for at, row in enumerate(rows)}
        self.arrivals.append((time.monotonic(), start + len(rows)))

    def say(self, said: dict[str, list[Any]]) -> None:
        """Files sentences; what is said of a row replaces what was said of it and of all after it."""
        for kind, changes in said.items():
            kept = self.said.setdefault(kind, [])
            kept[:] = [held for held in kept if held[0] < changes[0][0]] + changes

    def see(self, frames: list[dict[str, Any]]) -> None:
        """Files frames of the first seed, in place of those that are known from their first step on."""
        self.frames[:] = [held for held in self.frames if held["step"] < frames[0]["step"]] + frames


class Logs:
    """The runs of one page."""

    def __init__(self) -> None:
        self.turn = 0
        self.runs: list[Came] = []
        self.trainer: dict[str, Any] = {}

    def greeting(self, ticket: str, runs: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """The next hello: what the page shows."""
        self.turn += 1
        return {"kind": "hello", "turn": self.turn, "ticket": ticket, "runs": list(runs)}

    def draw(self, messages: list[str | dict[str, Any]]) -> None:
        """Takes what came with a page, for runs of which nothing has come yet."""
        empty = [not came.header for came in self.runs]
        for message in messages:
            sent = base64.b64decode(message) if isinstance(message, str) else message
            if empty[HEAD.unpack_from(sent)[0] if isinstance(sent, bytes) else sent["run"]]:
                self._file(sent)

    def file(self, message: str | bytes) -> None:
        """Takes what came over the connection; the answer to an earlier hello is nothing to it."""
        sent = message if isinstance(message, bytes) else json.loads(message)
        turn = HEAD.unpack_from(sent)[3] if isinstance(sent, bytes) else sent.get("turn", self.turn)
        if turn == self.turn:
            self._file(sent)

    def _file(self, message: bytes | dict[str, Any]) -> None:
        if isinstance(message, bytes):
            run, start, count, _ = HEAD.unpack_from(message)
            self.runs[run].take(start, np.frombuffer(message, "<f4", offset=HEAD.size).reshape(count, -1))
            return
        kind, told = message["kind"], {name: value for name, value in message.items() if name not in ("kind", "turn")}
        if kind == "trainer":
            self.trainer = told
            return
        came = self.runs[told.pop("run")]
        if kind == "frames":
            if told["seed"] == 0:
                came.see(told["frames"])
        elif kind == "sentences":
            came.say(told["sentences"])
        else:
            setattr(came, kind, told)
