"""The log: one line per event on stderr, with time, level, event, and facts as key=value.

It never holds what visitors type, their names or addresses. Of an error it holds the kind and place, for the message
may repeat what was typed. Of lines that are alike it holds so many a minute, and then how many more there were.
"""

import json
import logging
import threading
import time
import traceback
from pathlib import Path
from typing import Any

LOG = logging.getLogger("playground")
FORMAT = (
    "%(asctime)s %(levelname)s %(name)s %(message)s"  # .streamlit/config.toml has the same, for what Streamlit says
)
ROOT = Path(__file__).resolve().parents[1]
MAX_ALIKE_LINES, MINUTE = 100, 60.0  # lines that are alike, in so many seconds
MAX_KINDS = 1000
PLACES = 4  # of an error: where it was raised, and the innermost frames of our own


def event(what: str, level: int = logging.INFO, **facts: object) -> None:
    """Logs an event, such as `event("trainer_ready", pid=7)`. Facts are numbers and words of our own."""
    LOG.log(level, "%s", " ".join([what, *(f"{name}={_plain(fact)}" for name, fact in facts.items())]))


def begin() -> None:
    """Makes this process log its events, and puts whatever any library logs on one line."""
    handler = logging.StreamHandler()
    formatter = logging.Formatter(FORMAT)
    formatter.default_msec_format = "%s.%03d"
    handler.setFormatter(formatter)
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.INFO)
    alike = RateLimit()
    logging.setLogRecordFactory(lambda *args, **more: _one_line(alike, *args, **more))
    logging.captureWarnings(True)
    threading.excepthook = lambda failed: event("thread_failed", logging.ERROR, **told(failed.exc_value))


def told(error: BaseException | None) -> dict[str, str]:
    """The kind of an error and its places: where it was raised, then frames of our own, innermost first."""
    if error is None:
        return {"error": "unknown"}
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    passed = [frame for at, frame in enumerate(frames) if at == 0 or _own(frame.filename)]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in passed]
    return {"error": type(error).__name__, "at": " < ".join(places[:PLACES]) or "nowhere"}


def _own(file: str) -> bool:
    return Path(file).is_relative_to(ROOT) and "site-packages" not in file


class RateLimit:
    """Lets at most MAX_ALIKE_LINES lines of a kind through in a minute. Thread-safe.

    A kind is a place in the sources, and of our own events their first word.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: dict[tuple[object, ...], tuple[float, int]] = {}  # since when, how many

    def skipped_before(self, record: logging.LogRecord) -> int | None:
        """None if this line is to be left out too, else how many of its kind were left out in the minute before."""
        own = (
            str(record.args[0]).partition(" ")[0] if record.name == LOG.name and isinstance(record.args, tuple) else ""
        )
        kind, now = (record.name, record.pathname, record.lineno, own), time.monotonic()
        with self._lock:
            since, count = self._kinds.pop(kind, (now, 0))
            left = 0
            if now - since > MINUTE:
                since, count, left = now, 0, max(0, count - MAX_ALIKE_LINES)
            self._kinds[kind] = since, count + 1
            if len(self._kinds) > MAX_KINDS:
                self._kinds.pop(next(iter(self._kinds)))
            return left if count < MAX_ALIKE_LINES else None


def _passes_filter(record: logging.LogRecord) -> bool:
    return not getattr(record, "left_out", False)


def _one_line(alike: RateLimit, *args: Any, **more: Any) -> logging.LogRecord:
    """A log record whose traceback is part of its line; its logger leaves out a line over the limit."""
    record = logging.LogRecord(*args, **more)
    left = alike.skipped_before(record)
    if left is None:
        logging.getLogger(record.name).addFilter(_passes_filter)  # which adds it once
        record.left_out = True
        return record
    text = " ".join(record.getMessage().split()) + (f" alike_left_out={left}" if left else "")
    if record.exc_info:
        text += "".join(f" {name}={_plain(fact)}" for name, fact in told(record.exc_info[1]).items())
    record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
    return record


def _plain(fact: object) -> str:
    """A fact as one word, or in quotes."""
    text = f"{fact:.3g}" if isinstance(fact, float) else str(fact)
    return text if text.isascii() and text.isprintable() and not set(text) & set(' "=') and text else json.dumps(text)
