"""The messages of a browser, read strictly, with bounds on size and rate. ValueError says what is wrong."""

import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from models.runlog import MAX_ROWS
from models.service.client import config_from, key_of
from models.spec import RunConfig, bounds
from models.spec.query import MAX_LINK_KEYS


@dataclass(frozen=True)
class AskedRun:
    """A run that a page shows: its configuration and seeds, how many rows the browser has, and how many it wants."""

    cfg: RunConfig
    seeds: int
    have: int
    want: int


@dataclass(frozen=True)
class AskedRecording:
    """A recording that a page shows: its name, and how many bytes of which file the browser has."""

    recording: str
    file: str
    have: int
    want: int


@dataclass(frozen=True)
class Hello:
    """All runs of a page, and its ticket. `turn` numbers the hellos of a connection; every reply repeats it."""

    turn: int
    ticket: str
    runs: tuple[AskedRun | AskedRecording, ...]


@dataclass(frozen=True)
class Request:
    """How many rows of each run the browser wants from now on, the row shown, and whether the playhead plays."""

    wants: tuple[int, ...]
    at: int = 0
    playing: bool = False


def said(text: str) -> dict[str, Any]:
    """A request, or a hello with its ticket, as parsed JSON: whether its runs are legal, `understood` says."""
    if len(text) > bounds.MAX_LOG_CHARS:
        raise ValueError(f"a message of more than {bounds.MAX_LOG_CHARS} characters")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("no JSON") from error
    kind = message.get("kind") if isinstance(message, dict) else None
    if kind not in ("hello", "request"):
        raise ValueError("neither a hello nor a request")
    ticket = message.setdefault("ticket", "")
    if not isinstance(ticket, str):
        raise ValueError("a ticket that is not text")
    message["ticket"] = ticket[: bounds.MAX_TICKET_CHARS]
    for name in {"runs", "wants"} & message.keys():
        _list(message, name)
    return dict(message)


def heavy(message: dict[str, Any]) -> bool:
    """Whether reading a hello to its end takes milliseconds: its links have a setting for single blocks."""
    runs = message.get("runs", [])
    return any("overrides" in run["link"] for run in runs if isinstance(run, dict) and isinstance(run.get("link"), str))


def understood(message: dict[str, Any]) -> Hello | Request:
    """What a message means."""
    if message["kind"] == "request":
        wants = tuple(_number(want, "want", MAX_ROWS) for want in _list(message, "wants"))
        return Request(wants, _number(message.get("at", 0), "at", MAX_ROWS), message.get("playing") is True)
    turn = _number(message.get("turn", 0), "turn", MAX_ROWS)
    return Hello(turn, message["ticket"], tuple(_asked(run) for run in _list(message, "runs")))


@dataclass
class Rate:
    """A token bucket: limits the messages of a connection to so many a second, with a burst."""

    left: float = bounds.MAX_MESSAGES_AT_ONCE
    since: float = field(default_factory=time.monotonic)

    def spend(self) -> None:
        """Counts a message; ValueError if they come too fast."""
        now = time.monotonic()
        self.left, self.since = (
            min(bounds.MAX_MESSAGES_AT_ONCE, self.left + bounds.MESSAGES_PER_SECOND * (now - self.since)) - 1,
            now,
        )
        if self.left < 0:
            raise ValueError("too many messages a second")


def _list(message: dict[str, Any], name: str) -> list[Any]:
    items = message.get(name)
    if not isinstance(items, list) or not 1 <= len(items) <= bounds.MAX_RUNS_PER_PAGE:
        raise ValueError(f"{name}: 1 to {bounds.MAX_RUNS_PER_PAGE} of them")
    return items


def _asked(run: Any) -> AskedRun | AskedRecording:
    if isinstance(run, dict) and "recording" in run:
        names = run["recording"], run.get("file", "")
        if not all(isinstance(name, str) and len(name) <= bounds.MAX_NAME_CHARS for name in names):
            raise ValueError("a recording without its name")
        have = _number(run.get("have", 0), "have", bounds.MAX_RECORDING_BYTES)
        return AskedRecording(*names, have, _number(run.get("want", 0), "want", MAX_ROWS))
    if not isinstance(run, dict) or not isinstance(run.get("link"), str):
        raise ValueError("a run without its link")
    if len(run["link"]) > bounds.MAX_LINK_CHARS:
        raise ValueError(f"a link of more than {bounds.MAX_LINK_CHARS} characters")
    cfg = config_from(dict(parse_qsl(run["link"], keep_blank_values=True, max_num_fields=MAX_LINK_KEYS)))
    if run["link"] != key_of(cfg):
        raise ValueError("a link that no page would write")
    seeds = _number(run.get("seeds", 1), "seeds", bounds.MAX_SEEDS_PER_RUN)
    have, want = (_number(run.get(name, 0), name, MAX_ROWS) for name in ("have", "want"))
    return AskedRun(cfg, max(1, seeds), have, want)


def _number(value: Any, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{name}: a whole number from 0 to {most}")
    return value
