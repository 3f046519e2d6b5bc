"""The class board: guesses pooled on the server by class code. Anonymous, bounded, and deleted after some hours.

A member is a random token of a session, known to nobody else; only counts leave the board. They count guesses, not
people: anyone who reloads the page is a new member.
"""

import hmac
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from models.lessons.lessons import LESSONS
from models.log import event

CLASSES = 50  # classes at once
MEMBERS = 120  # guesses per class and lesson
AGE_SECONDS = (
    3 * 3600.0
)  # a class is forgotten so long after it was last looked after, a guess after the last of its lesson
MOST_CODE = 24
MOST_KEY = 64  # characters; it comes from an address
CODE = re.compile(rf"[A-Za-z0-9-]{{1,{MOST_CODE}}}")
RULE = f"A class code is 1 to {MOST_CODE} letters, digits or hyphens"
GONE = "No class with this code is open."
TAKEN = "Another teacher has already opened a class with this code: choose another one."


@dataclass
class _Class:
    """An open class: its teacher's key, when the teacher was last seen, whether only the teacher sees the guesses yet,
    and guesses by lesson and member.
    """

    key: str
    seen: float
    kept_back: bool = False
    guesses: dict[str, dict[str, str]] = field(default_factory=dict)
    guessed: dict[str, float] = field(default_factory=dict)


class Board:
    """All classes of this server, under one lock. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._classes: dict[str, _Class] = {}

    def open(self, code: str, key: str) -> str:
        """Opens a class, or keeps alive one that this key has opened. Returns why it is refused, or ""."""
        if not valid(code):
            return f"{RULE}."
        if not valid_key(key):
            return f"A key is 1 to {MOST_KEY} characters."
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None and len(self._classes) >= CLASSES:
                return f"This server holds at most {CLASSES} classes, and all are taken: close one, or try again later."
            if kept is None:
                self._classes[code] = _Class(key, self._clock())
                event("class_opened", classes=len(self._classes))
            elif not _same(kept.key, key):
                return TAKEN
            else:
                kept.seen = self._clock()
            return ""

    def look_after(self, code: str, key: str) -> str:
        """Keeps a class alive for the holder of its key. Returns GONE or TAKEN if it does not exist or is another's.

        It never opens one: addresses and polls call it, and a closed class must stay closed.
        """
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None:
                return GONE
            if not _same(kept.key, key):
                return TAKEN
            kept.seen = self._clock()
            return ""

    def keep_back(self, code: str, key: str, wanted: bool) -> None:
        """Whether only the holder of its key sees the guesses of a class, until it is said otherwise."""
        with self._lock:
            kept = self._classes.get(code)
            if kept is not None and _same(kept.key, key):
                kept.kept_back = wanted

    def kept_back(self, code: str) -> bool:
        """Whether only the teacher sees the guesses of a class yet."""
        with self._lock:
            kept = self._classes.get(code)
            return kept is not None and kept.kept_back

    def guess(self, code: str, lesson: str, member: str, option: str) -> str:
        """Counts a member's first guess: later ones know the answer. Returns why it is refused, or ""."""
        if lesson not in LESSONS or option not in LESSONS[lesson].options:
            raise ValueError(f"{option!r} is no option of a lesson {lesson!r}")
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None:
                return f"{GONE.removesuffix('.')}: your guess is kept here, but not counted on the board."
            guesses = kept.guesses.setdefault(lesson, {})
            if member not in guesses and len(guesses) >= MEMBERS:
                return f"The board is full, at {MEMBERS} guesses per class: yours is kept here only."
            guesses.setdefault(member, option)
            kept.guessed[lesson] = self._clock()
            return ""

    def counts(self, code: str, lesson: str) -> dict[str, int] | None:
        """Guesses by option of a lesson, in its order; None if no class of this code is open."""
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None:
                return None
            chosen = list(kept.guesses.get(lesson, {}).values())
            return {option: chosen.count(option) for option in LESSONS[lesson].options}

    def clear(self, code: str, key: str, lesson: str) -> None:
        """Deletes the guesses for a lesson, if the key is the class's."""
        with self._lock:
            kept = self._classes.get(code)
            if kept is not None and _same(kept.key, key):
                kept.guesses.pop(lesson, None)
                kept.guessed.pop(lesson, None)

    def close(self, code: str, key: str) -> None:
        """Deletes a class and all its guesses, if the key is its own."""
        with self._lock:
            kept = self._classes.get(code)
            if kept is not None and _same(kept.key, key):
                del self._classes[code]
                event("class_closed", classes=len(self._classes))

    def _forget(self) -> None:
        """Drops what is too old: classes not kept alive, and guesses for lessons long over."""
        oldest = self._clock() - AGE_SECONDS
        self._classes = {code: kept for code, kept in self._classes.items() if kept.seen > oldest}
        for kept in self._classes.values():
            for lesson in [lesson for lesson, at in kept.guessed.items() if at <= oldest]:
                del kept.guesses[lesson], kept.guessed[lesson]


def valid(code: str) -> bool:
    """Whether a text can be a class code."""
    return CODE.fullmatch(code) is not None


def valid_key(key: str) -> bool:
    """Whether a text can be the key of a class."""
    return 0 < len(key) <= MOST_KEY


def _same(kept: str, given: str) -> bool:
    return hmac.compare_digest(kept.encode(), given.encode())


_board = Board()


def board() -> Board:
    """The board of this server process. Not in Streamlit's cache, which any client can ask the server to clear."""
    return _board
