"""The class board: the guesses of each class, counted on the server. Anonymous, bounded, and forgotten by age.

A member is a random token of a session, known to nobody else; only counts leave the board. They count guesses, not
people: whoever reloads the page is a new member.
"""

import hmac
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from models.lessons.lessons import LESSONS
from models.log import event

CLASSES = 50  # open at the same time
MEMBERS = 120  # guesses per class and lesson
AGE_SECONDS = 3 * 3600.0  # after which a class without its teacher is forgotten, and the guesses of a finished lesson
MOST_CODE = 24
MOST_KEY = 64  # characters: keys come from addresses
CODE = re.compile(rf"[A-Za-z0-9-]{{1,{MOST_CODE}}}")
RULE = f"A class code is 1 to {MOST_CODE} letters, digits or hyphens"
GONE = "No class of this code is open."
TAKEN = "A class of this code is open already, from another teacher's page: choose another code."


@dataclass
class _Class:
    """An open class: its teacher's key, when the teacher was last there, and guesses by lesson and member."""

    key: str
    seen: float
    guesses: dict[str, dict[str, str]] = field(default_factory=dict)
    guessed: dict[str, float] = field(default_factory=dict)


class Board:
    """All classes of this server, under one lock; `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._classes: dict[str, _Class] = {}

    def open(self, code: str, key: str) -> str:
        """Opens a class, or keeps one that this key has opened; returns a sentence if refused, else an empty text."""
        if not valid(code):
            return f"{RULE}."
        if not valid_key(key):
            return f"A key is 1 to {MOST_KEY} characters."
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None and len(self._classes) >= CLASSES:
                return f"This server holds {CLASSES} classes at once and all are taken: close one, or try again later."
            if kept is None:
                self._classes[code] = _Class(key, self._clock())
                event("class_opened", classes=len(self._classes))
            elif not _same(kept.key, key):
                return TAKEN
            else:
                kept.seen = self._clock()
            return ""

    def look_after(self, code: str, key: str) -> str:
        """Keeps a class from being forgotten, for the holder of its key; returns GONE or TAKEN if that fails.

        It never opens a class: addresses and polls call it, and a closed class must stay closed.
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

    def guess(self, code: str, lesson: str, member: str, option: str) -> str:
        """Counts a member's guess, which replaces an earlier one; returns a sentence if refused, else an empty text."""
        if lesson not in LESSONS or option not in LESSONS[lesson].options:
            raise ValueError(f"{option!r} is no option of a lesson {lesson!r}")
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None:
                return f"{GONE.removesuffix('.')}: your guess counts here, but not on the board."
            guesses = kept.guesses.setdefault(lesson, {})
            if member not in guesses and len(guesses) >= MEMBERS:
                return f"The board holds {MEMBERS} guesses of a class and is full: yours counts here only."
            guesses[member] = option
            kept.guessed[lesson] = self._clock()
            return ""

    def counts(self, code: str, lesson: str) -> dict[str, int] | None:
        """The number of guesses for each option of a lesson, in order; None if no class of this code is open."""
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None:
                return None
            chosen = list(kept.guesses.get(lesson, {}).values())
            return {option: chosen.count(option) for option in LESSONS[lesson].options}

    def clear(self, code: str, key: str, lesson: str) -> None:
        """Forgets the guesses of a lesson, for the holder of the class's key."""
        with self._lock:
            kept = self._classes.get(code)
            if kept is not None and _same(kept.key, key):
                kept.guesses.pop(lesson, None)
                kept.guessed.pop(lesson, None)

    def close(self, code: str, key: str) -> None:
        """Forgets a class and all its guesses, for the holder of its key."""
        with self._lock:
            kept = self._classes.get(code)
            if kept is not None and _same(kept.key, key):
                del self._classes[code]
                event("class_closed", classes=len(self._classes))

    def _forget(self) -> None:
        """Drops what is too old: classes without their teacher, and guesses of lessons that are over."""
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
    """The board of this server process. It is not in Streamlit's cache, which any client can clear."""
    return _board
