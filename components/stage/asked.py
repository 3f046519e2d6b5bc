"""What a browser may say on its connection: read strictly,
bounded in size and in rate. ValueError says what is wrong.
"""

import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from models.service.client import config_from
from models.spec import RunConfig
from models.spec.query import MOST_KEYS

LONGEST = 2**17  # characters of a message: eight of the longest links
MOST_RUNS, MOST_SEEDS, MOST_ROWS = 8, 8, 10**7
MOST_BYTES, LONGEST_NAME = 2**32, 255
A_SECOND, AT_ONCE = 20.0, 60.0  # messages of one connection


@dataclass(frozen=True)
class Asked:
    """One run that a page shows: its configuration, how many
    seeds of it, how many rows are there, how many are wanted.
    """

    cfg: RunConfig
    seeds: int
    have: int
    want: int


@dataclass(frozen=True)
class AskedRecording:
    """A recording that a page shows: its name, and how many bytes are there of which file."""

    recording: str
    file: str
    have: int
    want: int


@dataclass(frozen=True)
class Hello:
    """All that a page shows, and its ticket. `turn` counts a
    connection's hellos: what is sent says which it answers.
    """

    turn: int
    ticket: str
    runs: tuple[Asked | AskedRecording, ...]


@dataclass(frozen=True)
class Wish:
    """How many rows of each run are wanted from now on, 0 for
    none; the row that is shown, and whether that moves on.
    """

    wants: tuple[int, ...]
    at: int = 0
    playing: bool = False


def read(text: str) -> Hello | Wish:
    """The message in a text."""
    if len(text) > LONGEST:
        raise ValueError(f"a message of more than {LONGEST} characters")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("no JSON") from error
    kind = message.get("kind") if isinstance(message, dict) else None
    if kind == "wish":
        wants = tuple(_number(want, "want", MOST_ROWS) for want in _listed(message, "wants"))
        return Wish(wants, _number(message.get("at", 0), "at", MOST_ROWS), message.get("playing") is True)
    if kind == "hello":
        ticket = message.get("ticket", "")
        if not isinstance(ticket, str):
            raise ValueError("a ticket that is no text")
        turn = _number(message.get("turn", 0), "turn", MOST_ROWS)
        return Hello(turn, ticket, tuple(_asked(run) for run in _listed(message, "runs")))
    raise ValueError("neither a hello nor a wish")


@dataclass
class Rate:
    """Lets a connection say so much a second, and a little more at once."""

    left: float = AT_ONCE
    at: float = field(default_factory=time.monotonic)

    def spend(self) -> None:
        """One more message; ValueError where they come too fast."""
        now = time.monotonic()
        self.left, self.at = min(AT_ONCE, self.left + A_SECOND * (now - self.at)) - 1, now
        if self.left < 0:
            raise ValueError("too many messages a second")


def _listed(message: dict[str, Any], name: str) -> list[Any]:
    listed = message.get(name)
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_RUNS:
        raise ValueError(f"{name}: 1 to {MOST_RUNS} of them")
    return listed


def _asked(run: Any) -> Asked | AskedRecording:
    if isinstance(run, dict) and "recording" in run:
        names = run["recording"], run.get("file", "")
        if not all(isinstance(name, str) and len(name) <= LONGEST_NAME for name in names):
            raise ValueError("a recording without its name")
        have = _number(run.get("have", 0), "have", MOST_BYTES)
        return AskedRecording(*names, have, _number(run.get("want", 0), "want", MOST_ROWS))
    if not isinstance(run, dict) or not isinstance(run.get("link"), str):
        raise ValueError("a run without its link")
    cfg = config_from(dict(parse_qsl(run["link"], keep_blank_values=True, max_num_fields=MOST_KEYS)))
    seeds = _number(run.get("seeds", 1), "seeds", MOST_SEEDS)
    have, want = (_number(run.get(name, 0), name, MOST_ROWS) for name in ("have", "want"))
    return Asked(cfg, max(1, seeds), have, want)


def _number(value: Any, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{name}: a whole number from 0 to {most}")
    return value
