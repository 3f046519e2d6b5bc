"""A browser's side of the stage's connection, without a
browser: what is said on it, and what has come. Knows no socket.
"""

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
    opening: dict[str, Any] = field(default_factory=dict)
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
        return list((self.header or self.opening.get("header", {})).get("sites", []))

    def matrix(self) -> np.ndarray:
        """The rows in their order."""
        return np.stack([self.rows[at] for at in sorted(self.rows)])

    def sentence(self, kind: str, row: int) -> str:
        """What is said of a row, its numbers not filled in."""
        said = self.said or self.opening.get("said", {})
        return next((str(sentence) for start, sentence in reversed(said.get(kind, [])) if start <= row), "")

    def take(self, start: int, rows: np.ndarray) -> None:
        """Files rows."""
        self.rows |= {start + at: row for at, row in enumerate(rows)}
        self.arrivals.append((time.monotonic(), start + len(rows)))

    def say(self, said: dict[str, list[Any]]) -> None:
        """Files sentences; what is said of a row replaces what was said of it and of all after it."""
        for kind, changes in said.items():
            kept = self.said.setdefault(kind, [])
            kept[:] = [held for held in kept if held[0] < changes[0][0]] + changes


class Tapes:
    """The runs of one page."""

    def __init__(self) -> None:
        self.turn = 0
        self.runs: list[Came] = []
        self.trainer: dict[str, Any] = {}

    def greeting(self, ticket: str, runs: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """The next hello: what the page shows."""
        self.turn += 1
        return {"kind": "hello", "turn": self.turn, "ticket": ticket, "runs": list(runs)}

    def file(self, message: str | bytes) -> None:
        """Takes what came; the answer to an earlier hello is nothing to it."""
        if isinstance(message, bytes):
            run, start, count, turn = HEAD.unpack_from(message)
            if turn == self.turn:
                self.runs[run].take(start, np.frombuffer(message, "<f4", offset=HEAD.size).reshape(count, -1))
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
                came.say(told["said"])
            else:
                setattr(came, kind, told)
