"""The open classes of this server, the stop that each is shown, and its guesses.

Classes are anonymous, bounded in number, and deleted after some hours. A member is a random token of a browser, a
person the session of a page; only counts of guesses leave the board. Whole schools share an address, so bounds count
people; of an address the board stores a digest, for the number of its classes, and a digest of a teacher's key.
"""

import hashlib
import hmac
import json
import logging
import math
import os
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from models.lessons.plan import DEFAULT_PLAN, plan_from
from models.lessons.questions import Bars, legal_guess
from models.lessons.stops import START_POLLS, page_of, poll_of, questions_of, stop_from
from models.lessons.trials import WrongCodes
from models.log import error_facts, event
from models.spec.bounds import (
    MAX_CLASSES,
    MAX_CLASSES_PER_ADDRESS,
    MAX_CLASSES_PER_PERSON,
    MAX_GUESSES,
    MAX_KEY_CHARS,
    MAX_PLAN_CHARS,
    MAX_QUESTIONS,
)

# A class without a connected page expires this long after it was last seen; guesses, this long after the last guess at
# their question.
AGE_SECONDS = 3 * 3600.0
UNUSED_SECONDS = 1800.0  # expiry of a class without guesses
AWAY_SECONDS = 150.0  # without its teacher's page an unused class may lose its place
UNDO_SECONDS = 600.0  # deleted guesses and closed classes can be restored
SAVE_SECONDS = 0.5  # delay between a change and the write
MAX_FILE_BYTES = 2**27
FOLDER_VARIABLE = "CLASSES_FOLDER"  # environment variable: folder of the file
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which look like digits
CODE_LENGTH = 4
CODE = re.compile(rf"[{CODE_LETTERS}]{{{CODE_LENGTH}}}")
MEMBER = re.compile(r"[0-9a-f]{16}")
NO_SUCH_CLASS = "No class with this code is open."
TOO_MANY_WRONG_CODES = "You have tried too many wrong codes. Try again in ten minutes."
ANSWER_IS_REVEALED = "The answer is out, so your guess no longer counts."


@dataclass(frozen=True)
class ClassState:
    """The stop that a class is shown, and its place in the plan.

    `loose`: students browse freely. `led` counts the teacher's moves, `version` all changes visible on the class's
    pages; `played` is the version since which all screens train this stop, or 0.
    `in_browsers`: students' browsers train what the playground and Compare show them.
    `answered`: guesses of connected students at each question of the stop. `here`: connected students; `gone`: those
    who have answered and are not connected. `seconds`: since the stop is shown.
    """

    stop: str
    plan: tuple[str, ...]
    at: int
    loose: bool
    revealed: bool
    led: int
    version: int
    played: int
    in_browsers: bool
    answered: tuple[int, ...] = ()
    here: int = 0
    gone: int = 0
    seconds: float = 0.0

    @property
    def open_questions(self) -> tuple[str, ...]:
        """Questions of the stop that may still be guessed; none once revealed."""
        return () if self.revealed else questions_of(self.stop)


@dataclass(frozen=True)
class Result:
    """A revealed stop: when it was shown and revealed, in seconds since 1970, and how many were present and answered.

    `answered`: of those present, by question.
    """

    shown: float = 0.0
    revealed: float = 0.0
    present: int = 0
    answered: Mapping[str, int] = field(default_factory=dict)


@dataclass
class _Class:
    """An open class.

    `opener`: digest of an address, and a person. `guesses`: (option, person) by question and member, oldest first.
    `guessed`: time of the last guess by question. `cleared`: guesses that were deleted last, and when. `seen`: last
    sign of life. `present`: connected pages by person. `students`: members by person, of those present. `joined`: a
    student's page has been connected. `left`: no page is connected any more. `text`: the plan with its notes.
    `shown`: when the stop was shown.
    """

    key: bytes
    opener: tuple[str, str]
    seen: float
    present: Counter[str] = field(default_factory=Counter)
    students: dict[str, str] = field(default_factory=dict)
    plan: tuple[str, ...] = DEFAULT_PLAN
    at: int = 0
    stop: str = DEFAULT_PLAN[0]
    loose: bool = False
    in_browsers: bool = False
    text: str = ""
    shown: float = 0.0
    revealed: dict[str, Result] = field(default_factory=dict)
    led: int = 1
    played: int = 0
    version: int = 1
    used: bool = False
    joined: bool = False
    left: bool = False
    guesses: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    guessed: dict[str, float] = field(default_factory=dict)
    cleared: tuple[dict[str, dict[str, tuple[str, str]]], float] = field(default_factory=lambda: ({}, 0.0))

    def to_json(self) -> dict[str, Any]:
        """The class without people and without what can be undone."""
        names = ("seen", "plan", "text", "at", "stop", "shown", "loose", "led", "version", "used", "in_browsers")
        options = {
            question: {member: option for member, (option, _) in guesses.items()}
            for question, guesses in self.guesses.items()
        }
        return {
            **{name: getattr(self, name) for name in names},
            "key": self.key.hex(),
            "revealed": {stop: asdict(result) for stop, result in self.revealed.items()},
            "guesses": options,
            "guessed": self.guessed,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], now: float) -> "_Class":
        """Restores a class at time `now`; raises one of UNREADABLE for malformed data."""
        plan = plan_from("\n\n".join(saved["plan"])).stops or DEFAULT_PLAN
        stop = stop_from(saved["stop"]) or plan[0]
        guesses = {
            question: {
                member: (option, "")
                for member, option in list(members.items())[:MAX_GUESSES]
                if _is_legal(question, option)
            }
            for question, members in list(saved["guesses"].items())[:MAX_QUESTIONS]
            if stop_from(question) or question in START_POLLS
        }
        return cls(
            key=bytes.fromhex(saved["key"]),
            opener=("", ""),
            seen=_past(saved["seen"], now),
            plan=plan,
            at=min(max(int(saved["at"]), 0), len(plan) - 1),
            stop=stop,
            loose=bool(saved["loose"]),
            in_browsers=bool(saved.get("in_browsers")),
            revealed={
                stop: _result(result, now)
                for option, result in saved["revealed"].items()
                if (stop := stop_from(option))
            },
            text=str(saved["text"])[:MAX_PLAN_CHARS],
            shown=_past(saved["shown"], now),
            led=int(saved["led"]),
            version=int(saved["version"]),
            used=bool(saved["used"]),
            guesses=guesses,
            guessed={question: _past(saved["guessed"][question], now) for question in guesses},
        )


UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


def _result(saved: Mapping[str, Any], now: float) -> Result:
    """A saved result; raises one of UNREADABLE for malformed data."""
    answered = {str(question): int(count) for question, count in saved.get("answered", {}).items()}
    return Result(_past(saved["shown"], now), _past(saved["revealed"], now), int(saved["present"]), answered)


def _past(saved: Any, now: float) -> float:
    """A saved time since 1970, at most `now`, as the clock may have been ahead. ValueError unless it is finite."""
    time_ = float(saved)
    if not math.isfinite(time_):
        raise ValueError("no time")
    return min(max(time_, 0.0), now)


_STARTED_AT = time.time() - time.monotonic()


def _steady_time() -> float:
    """Wall-clock seconds that do not jump when somebody sets the clock."""
    return _STARTED_AT + time.monotonic()


class Board:
    """All classes of this server, under one lock. `clock`: wall-clock seconds, comparable between restarts."""

    def __init__(self, clock: Callable[[], float] = _steady_time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._secret = secrets.token_bytes(16)
        self._wrong_codes = WrongCodes(clock)
        self._classes: dict[str, _Class] = {}
        self._closed: dict[str, tuple[_Class, float]] = {}
        self._file: Path | None = None
        self._saving: threading.Timer | None = None
        self._writing = threading.Lock()
        self._listeners: list[Callable[[str], object]] = []

    # --- the file ---

    def persist_to(self, file: Path) -> None:
        """Restores the readable classes of a file and saves all changes to it from now on. One process has one file."""
        restored: dict[str, _Class] = {}
        saved: dict[str, Any] = {}
        try:
            if file.exists() and file.stat().st_size <= MAX_FILE_BYTES:
                saved = dict(json.loads(file.read_text(encoding="utf-8"))["classes"])
        except UNREADABLE as error:
            event("classes_unreadable", logging.WARNING, **error_facts(error))
        for code, saved_class in saved.items():
            try:
                if is_valid_code(code) and len(restored) < MAX_CLASSES:
                    restored[code] = _Class.from_json(saved_class, self._clock())
            except UNREADABLE as error:
                event("class_unreadable", logging.WARNING, **error_facts(error))
        with self._lock:
            self._file = file
            self._classes = restored | self._classes
            self._drop_expired()
            event("classes_kept", classes=len(self._classes))

    def save(self) -> None:
        """Writes the file atomically, if there is one."""
        with self._writing:
            with self._lock:
                self._saving = None
                file = self._file
                saved = {"classes": {code: class_.to_json() for code, class_ in self._classes.items()}}
            if file is None or not (saved["classes"] or file.exists()):
                return
            temporary = file.with_name(f"{file.name}.new")
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
                    json.dump(saved, out)
                    out.flush()
                    os.fsync(out.fileno())
                temporary.replace(file)
            except OSError as error:
                event("classes_not_saved", logging.WARNING, **error_facts(error))

    def _changed(self, code: str, *, shown: bool = True) -> None:
        """Schedules a save and notifies the listeners; the caller holds the lock. `shown`: its pages must update."""
        if shown and code in self._classes:
            self._classes[code].version += 1
        if self._file is not None and self._saving is None:
            self._saving = threading.Timer(SAVE_SECONDS, self.save)
            self._saving.daemon = True
            self._saving.start()
        for listener in self._listeners:
            listener(code)

    def add_listener(self, listener: Callable[[str], object]) -> None:
        """Calls a function with the code of each class that changes, in any thread, under the board's lock."""
        with self._lock:
            self._listeners.append(listener)

    # --- the teacher ---

    def open(
        self, address: str = "", preferred_code: str = "", person: str = "", *, in_browsers: bool = False
    ) -> tuple[str, str, str]:
        """Opens a class; returns its code, its key and "", or "", "" and the reason for a refusal.

        When its address has as many as it may, the one without students and guesses whose opener has most gives way.
        `preferred_code`: used if it is free. The key is always drawn here: whoever made a link would know a key in it.
        `in_browsers`: as in ClassState.
        """
        opener = self._address_digest(address), person
        with self._lock:
            self._drop_expired()
            people = Counter(class_.opener for class_ in self._classes.values())
            if person and people[opener] >= MAX_CLASSES_PER_PERSON:
                return (
                    "",
                    "",
                    f"You already have {MAX_CLASSES_PER_PERSON} open classes, the most allowed. Close one first.",
                )
            neighbours = [code for code, class_ in self._classes.items() if class_.opener[0] == opener[0]]
            if len(neighbours) >= MAX_CLASSES_PER_ADDRESS and not self._make_room(neighbours):
                empty = [code for code in neighbours if not (self._classes[code].used or self._classes[code].students)]
                if not empty:
                    count = f"{MAX_CLASSES_PER_ADDRESS} classes at work"
                    return "", "", f"Your network already has {count}, the most allowed. Close one first."
                del self._classes[max(empty, key=lambda code: people[self._classes[code].opener])]
            if len(self._classes) >= MAX_CLASSES and not self._make_room(self._classes):
                return "", "", f"This server is full: it holds at most {MAX_CLASSES} classes. Try again later."
            taken = {*self._classes, *self._closed}
            code = preferred_code
            while not is_valid_code(code) or code in taken:
                code = new_code()
            key = secrets.token_urlsafe(9)
            self._classes[code] = _Class(
                _key_digest(key), opener, self._clock(), shown=self._clock(), in_browsers=in_browsers
            )
            event("class_opened", classes=len(self._classes))
            self._changed(code)
            return code, key, ""

    def keep_alive(self, code: str, key: str) -> bool:
        """Keeps a class alive for the holder of its key; False without such a class.

        Never opens one, as links and polls call it and a closed class must stay closed.
        """
        with self._lock:
            self._drop_expired()
            class_ = self._owned_class(code, key)
            if class_ is not None:
                self._touch(class_)
            return class_ is not None

    def seen(self, code: str) -> None:
        """Keeps a class alive while a page of its teacher is connected."""
        with self._lock:
            if code in self._classes:
                self._touch(self._classes[code])

    def joined(self, code: str, person: str = "", *, is_student: bool = True, member: str = "") -> None:
        """Records that a page of a person is connected; of a student, as which member."""
        with self._lock:
            if code in self._classes:
                class_ = self._classes[code]
                class_.present[person] += 1
                class_.left = False
                if is_student:
                    class_.joined = True
                    class_.students[person] = member or person

    def left(self, code: str, person: str = "") -> None:
        """Records that a page is gone. After the last one the class ages, and may lose its place if nobody joined."""
        with self._lock:
            if code in self._classes:
                class_ = self._classes[code]
                class_.present -= Counter([person])
                if person not in class_.present:
                    class_.students.pop(person, None)
                if not class_.present:
                    self._touch(class_)
                    class_.left = True

    def set_plan(self, code: str, key: str, text: str) -> None:
        """Sets the plan of a class; the current stop stays unless the class has not begun."""
        with self._lock:
            class_, stops = self._owned_class(code, key), plan_from(text).stops
            if class_ is None or not stops:
                return
            class_.text = text[:MAX_PLAN_CHARS]
            if stops == class_.plan:
                return
            is_untouched = class_.led == 1 and not class_.used and class_.stop == class_.plan[0]
            class_.plan = stops
            class_.at = stops.index(class_.stop) if class_.stop in stops else 0
            if is_untouched and class_.stop not in stops[:1]:
                self._lead(class_, stops[0])
            self._changed(code)

    def plan_text(self, code: str, key: str) -> str:
        """The text of a class's plan, with the notes that are its teacher's alone; "" if it has none."""
        with self._lock:
            class_ = self._owned_class(code, key)
            return class_.text if class_ is not None else ""

    def show(self, code: str, key: str, stop: str) -> None:
        """Leads the class to a stop, in its plan or not."""
        with self._lock:
            class_, stop = self._owned_class(code, key), stop_from(stop)
            if class_ is not None and stop:
                self._lead(class_, stop)
                self._changed(code)

    def move(self, code: str, key: str, by: int) -> None:
        """Leads the class `by` stops along its plan; does nothing beyond the ends."""
        with self._lock:
            class_ = self._owned_class(code, key)
            if class_ is not None and 0 <= class_.at + by < len(class_.plan):
                self._lead(class_, class_.plan[class_.at + by])
                self._changed(code)

    def reveal(self, code: str, key: str) -> None:
        """Reveals the guesses at the stop and their answer."""
        with self._lock:
            class_ = self._owned_class(code, key)
            if class_ is not None and class_.stop not in class_.revealed and questions_of(class_.stop):
                present, answered = len({*class_.students.values()}), self._answered(class_)
                class_.revealed[class_.stop] = Result(class_.shown, self._clock(), present, answered)
                _drop_oldest(class_.revealed)
                self._changed(code)

    def play(self, code: str, key: str) -> None:
        """Has every screen train what the class is shown."""
        with self._lock:
            class_ = self._owned_class(code, key)
            if class_ is not None:
                self._changed(code)
                class_.played = class_.version

    def set_loose(self, code: str, key: str, loose: bool) -> None:
        """Lets students browse freely, or calls them back."""
        with self._lock:
            class_ = self._owned_class(code, key)
            if class_ is not None and class_.loose != loose:
                class_.loose = loose
                if not loose:
                    class_.led += 1
                self._changed(code)

    def clear(self, code: str, key: str) -> None:
        """Deletes the guesses at the stop and reopens its questions; `undo` restores them for UNDO_SECONDS."""
        with self._lock:
            class_ = self._owned_class(code, key)
            if class_ is not None:
                cleared = {question: class_.guesses.pop(question, {}) for question in questions_of(class_.stop)}
                class_.cleared = cleared, self._clock()
                class_.revealed.pop(class_.stop, None)
                self._changed(code)

    def undo(self, code: str, key: str) -> None:
        """Restores the guesses that `clear` deleted last; newer guesses take precedence."""
        with self._lock:
            class_ = self._owned_class(code, key)
            if class_ is not None and self._can_undo(class_):
                for question, cleared in class_.cleared[0].items():
                    merged = cleared | class_.guesses.get(question, {})
                    class_.guesses[question] = dict(list(merged.items())[:MAX_GUESSES])
                    class_.guessed[question] = self._clock()
                class_.cleared = {}, 0.0
                self._changed(code)

    def can_undo(self, code: str) -> bool:
        """Whether `undo` would restore guesses."""
        with self._lock:
            class_ = self._classes.get(code)
            return class_ is not None and self._can_undo(class_)

    def close(self, code: str, key: str) -> None:
        """Closes a class; `reopen` restores it with all guesses for UNDO_SECONDS."""
        with self._lock:
            class_ = self._owned_class(code, key)
            if class_ is not None:
                self._closed[code] = self._classes.pop(code), self._clock()
                event("class_closed", classes=len(self._classes))
                self._changed(code)

    def reopen(self, code: str, key: str) -> None:
        """Reopens a class that was closed less than UNDO_SECONDS ago."""
        with self._lock:
            self._drop_expired()
            if not self._can_reopen(code, key):
                return
            if len(self._classes) >= MAX_CLASSES and not self._make_room(self._classes):
                return
            self._classes[code], _ = self._closed.pop(code)
            self._classes[code].seen = self._clock()
            self._changed(code)

    def can_reopen(self, code: str, key: str) -> bool:
        """Whether the holder of the key can reopen a closed class."""
        with self._lock:
            self._drop_expired()
            return self._can_reopen(code, key)

    # --- the class ---

    def admit(self, code: str, member: str) -> str:
        """Admits a member to a class by its code; returns "" or NO_SUCH_CLASS or TOO_MANY_WRONG_CODES.

        Nobody pays for a classmate's wrong codes. "": a member without a token yet, whose wrong codes do not count.
        """
        with self._lock:
            self._drop_expired()
            if member and self._wrong_codes.too_many(member):
                return TOO_MANY_WRONG_CODES
            if code in self._classes:
                return ""
            if member:
                self._wrong_codes.note(member, code)
            return NO_SUCH_CLASS

    def state_of(self, code: str) -> ClassState | None:
        """State of a class; None if no class with this code is open."""
        with self._lock:
            self._drop_expired()
            class_ = self._classes.get(code)
            if class_ is None:
                return None
            questions = questions_of(class_.stop)
            guessers = {member for question in questions for member in class_.guesses.get(question, {})}
            return ClassState(
                class_.stop,
                class_.plan,
                class_.at,
                class_.loose,
                revealed=not questions or class_.stop in class_.revealed,
                led=class_.led,
                version=class_.version,
                played=class_.played,
                in_browsers=class_.in_browsers,
                answered=tuple(self._answered(class_).values()),
                here=len({*class_.students.values()}),
                gone=len(guessers - {*class_.students.values()}),
                seconds=self._clock() - class_.shown,
            )

    def guess(self, code: str, question: str, member: str, option: str, person: str = "") -> str:
        """Records or changes a member's guess; returns "" or the reason for a refusal, such as of what is no number.

        When the question is full, another gives way: `_evict_guess`.
        """
        with self._lock:
            self._drop_expired()
            class_ = self._classes.get(code)
            if class_ is None:
                return NO_SUCH_CLASS
            if question not in questions_of(class_.stop) or class_.stop in class_.revealed:
                return ANSWER_IS_REVEALED
            try:
                option = legal_guess(poll_of(question), option)
            except ValueError as error:
                return f"{error}."[:1].upper() + f"{error}."[1:]
            guesses = class_.guesses.setdefault(question, {})
            _drop_oldest(class_.guesses)
            class_.guessed = {name: time for name, time in class_.guessed.items() if name in class_.guesses}
            if member not in guesses and len(guesses) >= MAX_GUESSES:
                _evict_guess(guesses, class_.present, person)
            guesses[member] = (option, person)
            class_.guessed[question] = self._clock()
            class_.used = True
            self._changed(code, shown=False)
            return ""

    def guess_of(self, code: str, question: str, member: str) -> str:
        """Option that a member has guessed, or ""."""
        with self._lock:
            class_ = self._classes.get(code)
            return class_.guesses.get(question, {}).get(member, ("", ""))[0] if class_ is not None else ""

    def bars(self, code: str, question: str) -> Bars | None:
        """The bars of the guesses at a question; None if no class with this code is open."""
        with self._lock:
            self._drop_expired()
            class_ = self._classes.get(code)
            if class_ is None:
                return None
            return Bars(poll_of(question), [guess for guess, _ in class_.guesses.get(question, {}).values()])

    def counts(self, code: str, question: str) -> dict[str, int] | None:
        """Number of guesses by bar, in the question's order; None if no class with this code is open."""
        bars = self.bars(code, question)
        return bars.counts() if bars is not None else None

    def results(self, code: str) -> list[tuple[str, str, Result]]:
        """(stop, question, result) for each question of a revealed stop: in the plan's order, then as revealed."""
        with self._lock:
            class_ = self._classes.get(code)
            if class_ is None:
                return []
            ordered = dict.fromkeys([*filter(class_.revealed.get, class_.plan), *class_.revealed])
            return [(stop, question, class_.revealed[stop]) for stop in ordered for question in questions_of(stop)]

    # --- the caller holds the lock ---

    def _touch(self, class_: _Class) -> None:
        class_.seen = self._clock()
        class_.left = False

    def _owned_class(self, code: str, key: str) -> _Class | None:
        class_ = self._classes.get(code)
        return class_ if class_ is not None and hmac.compare_digest(class_.key, _key_digest(key)) else None

    def _can_reopen(self, code: str, key: str) -> bool:
        return code in self._closed and hmac.compare_digest(self._closed[code][0].key, _key_digest(key))

    @staticmethod
    def _answered(class_: _Class) -> dict[str, int]:
        """By question of the stop, how many of the connected members have answered."""
        return {
            question: len(class_.guesses.get(question, {}).keys() & {*class_.students.values()})
            for question in questions_of(class_.stop)
        }

    def _lead(self, class_: _Class, stop: str) -> None:
        if stop in class_.plan or page_of(stop)[0] != page_of(class_.stop)[0] or questions_of(stop):
            class_.shown = self._clock()  # else it is the same page, set anew
        class_.stop = stop
        class_.loose = False
        class_.led += 1
        class_.played = 0
        if stop in class_.plan:
            class_.at = class_.plan.index(stop)

    def _can_undo(self, class_: _Class) -> bool:
        return any(class_.cleared[0].values()) and self._clock() - class_.cleared[1] < UNDO_SECONDS

    def _drop_expired(self) -> None:
        """Drops expired classes, and guesses whose question is long over."""
        now = self._clock()
        oldest = now - AGE_SECONDS
        expiry = {True: oldest, False: now - UNUSED_SECONDS}  # by whether the class is used
        self._classes = {
            code: class_
            for code, class_ in self._classes.items()
            if class_.present or class_.seen > expiry[class_.used]
        }
        closed = [(code, entry) for code, entry in self._closed.items() if entry[1] > now - UNDO_SECONDS]
        self._closed = dict(closed[-MAX_CLASSES:])
        for class_ in self._classes.values():
            for question in [question for question, guessed_at in class_.guessed.items() if guessed_at <= oldest]:
                class_.guesses.pop(question, None)
                del class_.guessed[question]

    def _make_room(self, codes: Collection[str]) -> bool:
        """Drops the unused class, among `codes`, whose teacher's page has been away longest; returns whether it did.

        A class that nobody joined counts as abandoned as soon as its last page is closed.
        """
        away_since = self._clock() - AWAY_SECONDS

        def is_abandoned(class_: _Class) -> bool:
            return not class_.used and (class_.seen < away_since or (class_.left and not class_.joined))

        abandoned = [code for code in codes if is_abandoned(self._classes[code])]
        if abandoned:
            del self._classes[min(abandoned, key=lambda code: self._classes[code].seen)]
        return bool(abandoned)

    def _address_digest(self, address: str) -> str:
        return hashlib.blake2b(address.encode(), key=self._secret, digest_size=8).hexdigest()


def _evict_guess(guesses: dict[str, tuple[str, str]], present: Collection[str], newcomer: str) -> None:
    """Drops the oldest guess of the person with the most guesses, first of those who are gone.

    MAX_GUESSES exceeds the number of pages that can be connected, so that nobody present loses a guess to a newcomer.
    """
    counts = Counter([newcomer, *(person for _, person in guesses.values())])
    gone = [member for member, (_, person) in guesses.items() if person not in present] or list(guesses)
    del guesses[max(gone, key=lambda member: counts[guesses[member][1]])]


def _drop_oldest(by_question: dict[str, Any]) -> None:
    while len(by_question) > MAX_QUESTIONS:
        del by_question[next(iter(by_question))]


def _is_legal(question: str, guess: str) -> bool:
    try:
        return legal_guess(poll_of(question), guess) == guess
    except ValueError:
        return False


def new_code() -> str:
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))


def code_from(text: str) -> str:
    """The code of a class in a typed text; "" if it cannot be one."""
    code = typed_code(text)
    return code if is_valid_code(code) else ""


def typed_code(text: str) -> str:
    """A typed code of any kind in capitals, without spaces and hyphens."""
    return re.sub(r"[\s-]", "", text[:40]).upper()


def is_valid_code(code: str) -> bool:
    return CODE.fullmatch(code) is not None


def is_valid_key(key: str) -> bool:
    return 0 < len(key) <= MAX_KEY_CHARS


def is_valid_member(member: str) -> bool:
    return MEMBER.fullmatch(member) is not None


def _key_digest(key: str) -> bytes:
    return hashlib.sha256(key[:MAX_KEY_CHARS].encode(errors="replace")).digest()


def classes_file(port: int) -> Path:
    """File of the server at a port, in the folder $CLASSES_FOLDER or the user's cache."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder) / f"classes-{port}.json"
    cache = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "add-norm-playground" / f"classes-{port}.json"


# In `sys`, because Streamlit reloads this module for the pages when a source file changes, but not for the routes.
_board: Board = sys.__dict__.setdefault("_add_norm_board", Board())


def board() -> Board:
    """The board of this process. Not in Streamlit's cache, which any client can clear."""
    return _board
