"""The class board: guesses pooled on the server by class code. Anonymous, bounded, and deleted after some hours.

A member is a random token of a session, known to nobody else; only counts leave the board. They count guesses, not
people: anyone who reloads the page is a new member. Clients' addresses are kept as digests under a secret of the
process, and only to share what is scarce.
"""

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from models.lessons.lessons import LESSONS
from models.log import event

CLASSES = 50  # classes at once
OF_ADDRESS = 20  # of them opened from one address, behind which a whole school may sit
MEMBERS = 120  # guesses per class and lesson
AGE_SECONDS = (
    3 * 3600.0
)  # a class is forgotten so long after it was last looked after, a guess after the last of its lesson
UNUSED_SECONDS = 1800.0  # the same until its first guess
AWAY_SECONDS = 150.0  # without a poll of the teacher's page, of which a hidden tab makes one a minute
MOST_CODE = 24
MOST_KEY = 64  # characters; it comes from an address
CODE = re.compile(rf"[A-Za-z0-9-]{{1,{MOST_CODE}}}")
RULE = f"A class code is 1 to {MOST_CODE} letters, digits or hyphens"
GONE = "No class with this code is open."
TAKEN = "Another teacher has already opened a class with this code: choose another one."


@dataclass
class _Class:
    """An open class: its teacher's key, the address it was opened from, when the teacher was last seen, whether anybody
    has guessed, whether only the teacher sees the guesses yet, and by lesson and member the option and the address.
    """

    key: str
    opener: str
    seen: float
    used: bool = False
    kept_back: bool = False
    guesses: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    guessed: dict[str, float] = field(default_factory=dict)


class Board:
    """All classes of this server, under one lock. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock, self._secret = clock, threading.Lock(), secrets.token_bytes(16)
        self._classes: dict[str, _Class] = {}

    def open(self, code: str, address: str = "") -> tuple[str, str]:
        """Opens a class for a client's address. Returns its new key and "", or "" and why it is refused.

        The key is always the board's own: one from an address may be known to whoever made the link.
        """
        if not valid(code):
            return "", f"{RULE}."
        opener = self._digest(address)
        with self._lock:
            self._forget()
            if code in self._classes:
                return "", TAKEN
            of_address = [name for name, kept in self._classes.items() if kept.opener == opener]
            if len(of_address) >= OF_ADDRESS and not self._make_room(of_address):
                return "", f"From your network {OF_ADDRESS} classes are open, and no more can be: close one."
            if len(self._classes) >= CLASSES and not self._make_room(self._classes):
                return "", f"This server holds at most {CLASSES} classes, and all are taken: try again later."
            key = secrets.token_urlsafe(9)
            self._classes[code] = _Class(key, opener, self._clock())
            event("class_opened", classes=len(self._classes))
            return key, ""

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

    def guess(self, code: str, lesson: str, member: str, option: str, address: str = "") -> str:
        """Counts a member's first guess: later ones know the answer. Returns why it is refused, or "".

        A class may come from one address. On a full board the last guess from the most frequent address gives way to
        one from a rarer address, so that no client's many sessions keep the others out.
        """
        if lesson not in LESSONS or option not in LESSONS[lesson].options:
            raise ValueError(f"{option!r} is no option of a lesson {lesson!r}")
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None:
                return f"{GONE.removesuffix('.')}: your guess is kept here, but not counted on the board."
            guesses, origin = kept.guesses.setdefault(lesson, {}), self._digest(address)
            if member not in guesses and len(guesses) >= MEMBERS and not _give_way(guesses, origin):
                return f"The board is full, at {MEMBERS} guesses per class: yours is kept here only."
            guesses.setdefault(member, (option, origin))
            kept.guessed[lesson], kept.used = self._clock(), True
            return ""

    def counts(self, code: str, lesson: str) -> dict[str, int] | None:
        """Guesses by option of a lesson, in its order; None if no class of this code is open."""
        with self._lock:
            self._forget()
            kept = self._classes.get(code)
            if kept is None:
                return None
            chosen = Counter(option for option, _ in kept.guesses.get(lesson, {}).values())
            return {option: chosen[option] for option in LESSONS[lesson].options}

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
        now = self._clock()
        oldest = now - AGE_SECONDS
        least = {True: oldest, False: now - UNUSED_SECONDS}  # by whether anybody has guessed
        self._classes = {code: kept for code, kept in self._classes.items() if kept.seen > least[kept.used]}
        for kept in self._classes.values():
            for lesson in [lesson for lesson, at in kept.guessed.items() if at <= oldest]:
                del kept.guesses[lesson], kept.guessed[lesson]

    def _make_room(self, among: Collection[str]) -> bool:
        """Drops, of some classes without a guess, the one whose teacher's page is away longest; returns whether."""
        away = self._clock() - AWAY_SECONDS
        spare = [code for code in among if not self._classes[code].used and self._classes[code].seen < away]
        if spare:
            del self._classes[min(spare, key=lambda code: self._classes[code].seen)]
        return bool(spare)

    def _digest(self, address: str) -> str:
        return hashlib.blake2b(address.encode(), key=self._secret, digest_size=8).hexdigest()


def _give_way(guesses: dict[str, tuple[str, str]], origin: str) -> bool:
    """Drops the last guess from the address with most, if that has two more than this one; returns whether."""
    counts = Counter(address for _, address in guesses.values())
    most, count = counts.most_common(1)[0]
    if count < counts[origin] + 2:
        return False
    del guesses[next(member for member, (_, address) in reversed(guesses.items()) if address == most)]
    return True


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
