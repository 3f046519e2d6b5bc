"""The messages of a browser, parsed strictly, with bounds on size and rate. Every ValueError says what is wrong."""

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
class ShownRun:
    """A run that a page shows, the number of rows that the browser has, and the number that it requests."""

    cfg: RunConfig
    seeds: int
    sent_rows: int
    target_row: int


@dataclass(frozen=True)
class ShownRecording:
    """A recording that a page shows: its name, and the identity and number of bytes of the file in the browser."""

    recording: str
    file: str
    sent_bytes: int
    target_row: int


@dataclass(frozen=True)
class Hello:
    """All runs of a page, and its ticket. `turn` numbers the hellos of a connection; every reply repeats it."""

    turn: int
    ticket: str
    runs: tuple[ShownRun | ShownRecording, ...]


@dataclass(frozen=True)
class Request:
    """The rows that the browser requests of each run from now on, and the step and state of its playhead."""

    target_rows: tuple[int, ...]
    step: int = 0
    is_playing: bool = False


@dataclass(frozen=True)
class Ask:
    """The net that a drawing asks for in place of the first run of its page, as the browser says it."""

    net: dict[str, Any]


def parse(text: str) -> dict[str, Any]:
    """A request, a question or a hello with its ticket, as parsed JSON. `decode` checks the runs and numbers in it."""
    if len(text) > bounds.MAX_LOG_CHARS:
        raise ValueError(f"a message of more than {bounds.MAX_LOG_CHARS} characters")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("no JSON") from error
    kind = message.get("kind") if isinstance(message, dict) else None
    if kind not in ("hello", "request", "ask"):
        raise ValueError("neither a hello nor a request nor a question")
    ticket = message.setdefault("ticket", "")
    if not isinstance(ticket, str):
        raise ValueError("a ticket that is not text")
    message["ticket"] = ticket[: bounds.MAX_TICKET_CHARS]
    for name in {"runs", "wants"} & message.keys():
        _list(message, name)
    return dict(message)


def is_slow_to_decode(message: dict[str, Any]) -> bool:
    """Whether `decode` would take milliseconds: a link of a hello has settings for single blocks."""
    runs = message.get("runs", [])
    return any("overrides" in run["link"] for run in runs if isinstance(run, dict) and isinstance(run.get("link"), str))


def decode(message: dict[str, Any]) -> Hello | Request | Ask:
    """The hello, request or question that a parsed message stands for."""
    if message["kind"] == "ask":
        if not isinstance(message.get("net"), dict):
            raise ValueError("a question without its net")
        return Ask(message["net"])
    if message["kind"] == "request":
        target_rows = tuple(_number(rows, "want", MAX_ROWS) for rows in _list(message, "wants"))
        return Request(target_rows, _number(message.get("at", 0), "at", MAX_ROWS), message.get("playing") is True)
    turn = _number(message.get("turn", 0), "turn", MAX_ROWS)
    return Hello(turn, message["ticket"], tuple(_decode_run(run) for run in _list(message, "runs")))


@dataclass
class MessageRate:
    """A token bucket: limits the messages of a connection to so many a second, with a burst."""

    tokens: float = bounds.MAX_MESSAGES_AT_ONCE
    refilled_at: float = field(default_factory=time.monotonic)

    def spend(self) -> None:
        """Counts a message; ValueError if they come too fast."""
        now = time.monotonic()
        refilled = self.tokens + bounds.MESSAGES_PER_SECOND * (now - self.refilled_at)
        self.tokens = min(bounds.MAX_MESSAGES_AT_ONCE, refilled) - 1
        self.refilled_at = now
        if self.tokens < 0:
            raise ValueError("too many messages a second")


def _list(message: dict[str, Any], name: str) -> list[Any]:
    items = message.get(name)
    if not isinstance(items, list) or not 1 <= len(items) <= bounds.MAX_RUNS_PER_PAGE:
        raise ValueError(f"{name}: 1 to {bounds.MAX_RUNS_PER_PAGE} of them")
    return items


def _decode_run(run: Any) -> ShownRun | ShownRecording:
    if isinstance(run, dict) and "recording" in run:
        names = run["recording"], run.get("file", "")
        if not all(isinstance(name, str) and len(name) <= bounds.MAX_NAME_CHARS for name in names):
            raise ValueError("a recording without its name")
        sent_bytes = _number(run.get("have", 0), "have", bounds.MAX_RECORDING_BYTES)
        return ShownRecording(*names, sent_bytes, _number(run.get("want", 0), "want", MAX_ROWS))
    if not isinstance(run, dict) or not isinstance(run.get("link"), str):
        raise ValueError("a run without its link")
    if len(run["link"]) > bounds.MAX_LINK_CHARS:
        raise ValueError(f"a link of more than {bounds.MAX_LINK_CHARS} characters")
    cfg = config_from(dict(parse_qsl(run["link"], keep_blank_values=True, max_num_fields=MAX_LINK_KEYS)))
    if run["link"] != key_of(cfg):
        raise ValueError("a link that no page would write")
    seeds = _number(run.get("seeds", 1), "seeds", bounds.MAX_SEEDS_PER_RUN)
    sent_rows = _number(run.get("have", 0), "have", MAX_ROWS)
    target_row = _number(run.get("want", 0), "want", MAX_ROWS)
    return ShownRun(cfg, max(1, seeds), sent_rows, target_row)


def _number(value: Any, name: str, maximum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise ValueError(f"{name}: a whole number from 0 to {maximum}")
    return value
