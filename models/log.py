"""The log: one line per event on stderr, with time, level, event, and facts as key=value.

It never contains visitors' input, names or addresses. Errors are logged by kind and place, because a message may repeat
input. Lines of one kind are rate-limited; the next line says how many were left out.
"""

import json
import logging
import threading
import time
import traceback
from pathlib import Path
from typing import Any

LOG = logging.getLogger("playground")
# .streamlit/config.toml has the same format for Streamlit's own lines.
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
ROOT = Path(__file__).resolve().parents[1]
MAX_ALIKE_LINES = 100  # of a kind, per WINDOW_SECONDS
WINDOW_SECONDS = 60.0
MAX_KINDS = 1000  # beyond it, the kind whose last line is oldest is forgotten
MAX_FRAMES = 4  # of an error: the place where it was raised, and the innermost frames of this repository


def event(event_name: str, level: int = logging.INFO, **facts: object) -> None:
    """Logs an event, such as `event("trainer_ready", pid=7)`. Facts are numbers and words of this program."""
    LOG.log(level, "%s", " ".join([event_name, *(f"{name}={_plain(fact)}" for name, fact in facts.items())]))


def configure_logging() -> None:
    """Configures this process to log events, and every library to log single lines."""
    handler = logging.StreamHandler()
    formatter = logging.Formatter(FORMAT)
    formatter.default_msec_format = "%s.%03d"
    handler.setFormatter(formatter)
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.INFO)
    rate_limit = RateLimit()
    logging.setLogRecordFactory(lambda *args, **kwargs: _one_line(rate_limit, *args, **kwargs))
    logging.captureWarnings(True)
    threading.excepthook = lambda hook_args: event("thread_failed", logging.ERROR, **error_facts(hook_args.exc_value))


def error_facts(error: BaseException | None) -> dict[str, str]:
    """Kind of an error, and its places: where it was raised, then frames of this repository, innermost first."""
    if error is None:
        return {"error": "unknown"}
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    shown = [frame for depth, frame in enumerate(frames) if depth == 0 or _is_own_file(frame.filename)]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in shown]
    return {"error": type(error).__name__, "at": " < ".join(places[:MAX_FRAMES]) or "nowhere"}


def _is_own_file(file: str) -> bool:
    return Path(file).is_relative_to(ROOT) and "site-packages" not in file


class RateLimit:
    """Passes at most MAX_ALIKE_LINES lines of a kind per WINDOW_SECONDS. Thread-safe.

    Lines from one place in the sources are of one kind; events must also have the same name.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: dict[tuple[object, ...], tuple[float, int]] = {}  # (start of the window, lines)

    def skipped_before(self, record: logging.LogRecord) -> int | None:
        """Lines of this kind left out in the previous window, or None if this line is left out too."""
        event_name = ""
        if record.name == LOG.name and isinstance(record.args, tuple):
            event_name = str(record.args[0]).partition(" ")[0]
        kind = (record.name, record.pathname, record.lineno, event_name)
        now = time.monotonic()
        with self._lock:
            window_start, count = self._kinds.pop(kind, (now, 0))
            skipped = 0
            if now - window_start > WINDOW_SECONDS:
                skipped = max(0, count - MAX_ALIKE_LINES)
                window_start = now
                count = 0
            self._kinds[kind] = window_start, count + 1
            if len(self._kinds) > MAX_KINDS:
                self._kinds.pop(next(iter(self._kinds)))
            return skipped if count < MAX_ALIKE_LINES else None


def _passes_filter(record: logging.LogRecord) -> bool:
    return not getattr(record, "is_suppressed", False)


def _one_line(rate_limit: RateLimit, *args: Any, **kwargs: Any) -> logging.LogRecord:
    """A log record with its traceback on one line; beyond the rate limit its logger suppresses it."""
    record = logging.LogRecord(*args, **kwargs)
    skipped = rate_limit.skipped_before(record)
    if skipped is None:
        logging.getLogger(record.name).addFilter(_passes_filter)  # idempotent
        record.is_suppressed = True
        return record
    text = " ".join(record.getMessage().split())
    if skipped:
        text += f" alike_left_out={skipped}"
    if record.exc_info:
        text += "".join(f" {name}={_plain(fact)}" for name, fact in error_facts(record.exc_info[1]).items())
    record.msg, record.args = text, ()
    record.exc_info = record.exc_text = None
    return record


def _plain(fact: object) -> str:
    """A fact as one word, quoted if necessary."""
    text = f"{fact:.3g}" if isinstance(fact, float) else str(fact)
    is_word = bool(text) and text.isascii() and text.isprintable() and not set(text) & set(' "=')
    return text if is_word else json.dumps(text)
