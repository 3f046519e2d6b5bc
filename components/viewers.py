"""How many people are watching, so that everybody's page polls more slowly when there are many."""

import threading
import time

WATCHING_SECONDS = 10.0
_lock = threading.Lock()
_seen: dict[str, float] = {}


def watching(session: str) -> int:
    """Notes that a session is watching and returns how many are."""
    now = time.monotonic()
    with _lock:
        _seen[session] = now
        for other in [key for key, at in _seen.items() if at < now - WATCHING_SECONDS]:
            del _seen[other]
        return len(_seen)


def interval(viewers: int) -> float:
    """Seconds between two polls of one page: 0.5 for a few viewers, 2 for a class."""
    return 0.5 if viewers <= 6 else 1.0 if viewers <= 14 else 2.0
