"""The classes of this server: what each is shown, and what it guesses. Anonymous, bounded, deleted after some hours.

A member is a random token of a browser, known to nobody else; only counts leave the board. They count guesses, not
people. Clients' addresses are kept as digests under a secret of the process, only to share what is scarce, and stand
in no file; of a teacher's key a digest is kept.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.lessons.stops import QUESTIONS, USUAL, questions_of, stop_from, title_of
from models.lessons.trials import Trials
from models.log import event, told
from models.spec.bounds import (
    MAX_CLASSES,
    MAX_CLASSES_PER_ADDRESS,
    MAX_GUESSES,
    MAX_HOMES_PER_CLASS,
    MAX_KEY_CHARS,
    MAX_STOPS,
)

# A class is forgotten so long after it was last looked after, a guess after the last of its question.
AGE_SECONDS = 3 * 3600.0
UNUSED_SECONDS = 1800.0  # the same until its first guess
AWAY_SECONDS = 150.0  # without its teacher's page
UNDO_SECONDS = 600.0  # in which what was deleted can be had back
SAVE_SECONDS = 0.5  # from a change to the file
MAX_FILE_BYTES = 2**25  # bytes of a file that is read
FOLDER = "CLASSES_FOLDER"  # environment variable: where the file is kept
LETTERS, LENGTH = "ABCDEFGHJKLMNPQRSTUVWXYZ", 4  # of a code: none that is read as a digit
CODE, MEMBER = re.compile(rf"[{LETTERS}]{{{LENGTH}}}"), re.compile(r"[0-9a-f]{16}")
GONE = "No class with this code is open."
TRIED = "Too many wrong codes came from your network. Try again in ten minutes."
OUT = "The answer is out, so your guess no longer counts."


@dataclass(frozen=True)
class Now:
    """What a class is shown. `led` grows when it is led somewhere, `version` with everything that its pages show.

    `asked`: the questions that may still be guessed; empty once revealed. `loose`: everybody goes where they like.
    `answered`: how many have guessed at each question of the stop.
    """

    stop: str
    plan: tuple[str, ...]
    at: int
    loose: bool
    revealed: bool
    led: int
    version: int
    answered: tuple[int, ...]

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions that are open."""
        return () if self.revealed else questions_of(self.stop)


@dataclass
class _Class:
    """An open class. `guesses`: by question and member the option and a digest of the address; `guessed`: when last.

    `cleared`: what was deleted last, and when. `homes`: digests of addresses from which somebody has come into it.
    `joined`: whether a student's page has ever been connected; `left`: whether none of its pages is any more.
    """

    key: bytes
    opener: str
    seen: float
    homes: set[str] = field(default_factory=set)
    plan: tuple[str, ...] = USUAL
    at: int = 0
    stop: str = USUAL[0]
    loose: bool = False
    revealed: set[str] = field(default_factory=set)
    led: int = 1
    version: int = 1
    used: bool = False
    joined: bool = False
    left: bool = False
    guesses: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    guessed: dict[str, float] = field(default_factory=dict)
    cleared: tuple[dict[str, dict[str, tuple[str, str]]], float] = field(default_factory=lambda: ({}, 0.0))

    def to_json(self) -> dict[str, Any]:
        """All but addresses and what can be undone."""
        fields = {
            name: getattr(self, name) for name in ("seen", "plan", "at", "stop", "loose", "led", "version", "used")
        }
        options = {question: {who: option for who, (option, _) in of.items()} for question, of in self.guesses.items()}
        return {
            **fields,
            "key": self.key.hex(),
            "revealed": sorted(self.revealed),
            "guesses": options,
            "guessed": self.guessed,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "_Class":
        """A class of a file; whatever error a file that is none raises."""
        plan = tuple(stop for item in saved["plan"][:MAX_STOPS] if (stop := stop_from(item))) or USUAL
        stop = stop_from(saved["stop"]) or plan[0]
        guesses = {
            question: {
                who: (item, "") for who, item in list(of.items())[:MAX_GUESSES] if item in QUESTIONS[question].options
            }
            for question, of in saved["guesses"].items()
            if question in QUESTIONS
        }
        return cls(
            key=bytes.fromhex(saved["key"]),
            opener="",
            seen=float(saved["seen"]),
            plan=plan,
            at=min(max(int(saved["at"]), 0), len(plan) - 1),
            stop=stop,
            loose=bool(saved["loose"]),
            revealed={stop for item in saved["revealed"] if (stop := stop_from(item))},
            led=int(saved["led"]),
            version=int(saved["version"]),
            used=bool(saved["used"]),
            guesses=guesses,
            guessed={question: float(saved["guessed"][question]) for question in guesses},
        )


class Board:
    """All classes of this server, under one lock. `clock` gives seconds, which go on while the server is down."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock, self._lock, self._secret = clock, threading.Lock(), secrets.token_bytes(16)
        self._trials = Trials(clock)
        self._classes: dict[str, _Class] = {}
        self._closed: dict[str, tuple[_Class, float]] = {}
        self._file: Path | None = None
        self._saving: threading.Timer | None = None
        self._writing = threading.Lock()
        self._heard: list[Callable[[str], object]] = []

    # --- the file ---

    def keep(self, file: Path) -> None:
        """From now on keeps the classes in a file, and takes up those that it holds. One process has one file."""
        restored: dict[str, _Class] = {}
        try:
            if file.exists() and file.stat().st_size <= MAX_FILE_BYTES:
                saved = json.loads(file.read_text(encoding="utf-8"))["classes"]
                restored = {
                    code: _Class.from_json(saved_class)
                    for code, saved_class in list(saved.items())[:MAX_CLASSES]
                    if valid(code)
                }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            event("classes_unreadable", logging.WARNING, **told(error))
        with self._lock:
            self._file = file
            self._classes = restored | self._classes
            self._forget()
            event("classes_kept", classes=len(self._classes))

    def save(self) -> None:
        """Writes the file, where there is one: whole or not at all."""
        with self._writing:
            with self._lock:
                self._saving, file = None, self._file
                saved = {"classes": {code: class_.to_json() for code, class_ in self._classes.items()}}
            if file is None or not (saved["classes"] or file.exists()):
                return
            whole = file.with_name(f"{file.name}.new")
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
                    json.dump(saved, out)
                    out.flush()
                    os.fsync(out.fileno())
                whole.replace(file)
            except OSError as error:
                event("classes_not_saved", logging.WARNING, **told(error))

    def _changed(self, code: str, *, shown: bool = True) -> None:
        """Under the lock: notes that a class has changed. `shown`: what its pages show."""
        if shown and code in self._classes:
            self._classes[code].version += 1
        if self._file is not None and self._saving is None:
            self._saving = threading.Timer(SAVE_SECONDS, self.save)
            self._saving.daemon = True
            self._saving.start()
        for listener in self._heard:
            listener(code)

    def listen(self, listener: Callable[[str], object]) -> None:
        """Calls a function with the code of every class that has changed, in any thread, under the board's lock."""
        with self._lock:
            self._heard.append(listener)

    # --- the teacher ---

    def open(self, address: str = "", wanted: str = "") -> tuple[str, str, str]:
        """Opens a class for a client's address; its code, its key and "", or twice "" and why it is refused.

        `wanted`: a code that it is to have, if that is free. The key is always the board's own: one from an address
        may be known to whoever made the link.
        """
        opener = self._digest(address)
        with self._lock:
            self._forget()
            of_address = [name for name, class_ in self._classes.items() if class_.opener == opener]
            if len(of_address) >= MAX_CLASSES_PER_ADDRESS and not self._make_room(of_address):
                already = f"Your network already has {MAX_CLASSES_PER_ADDRESS} open classes"
                return "", "", f"{already}, the most allowed. Close one first."
            if len(self._classes) >= MAX_CLASSES and not self._make_room(self._classes):
                return "", "", f"This server is full: it holds at most {MAX_CLASSES} classes. Try again later."
            taken, code = {*self._classes, *self._closed}, wanted
            while not valid(code) or code in taken:
                code = new_code()
            key = secrets.token_urlsafe(9)
            self._classes[code] = _Class(_digested(key), opener, self._clock(), {opener})
            event("class_opened", classes=len(self._classes))
            self._changed(code)
            return code, key, ""

    def look_after(self, code: str, key: str) -> bool:
        """Keeps a class alive for the holder of its key; False if there is none that is theirs.

        It never opens one: addresses and polls call it, and a closed class must stay closed.
        """
        with self._lock:
            self._forget()
            class_ = self._mine(code, key)
            if class_ is not None:
                class_.seen, class_.left = self._clock(), False
            return class_ is not None

    def seen(self, code: str) -> None:
        """Keeps a class alive, because a page of its teacher's is connected."""
        with self._lock:
            if code in self._classes:
                self._classes[code].seen, self._classes[code].left = self._clock(), False

    def joined(self, code: str) -> None:
        """Notes that a student's page is connected."""
        with self._lock:
            if code in self._classes:
                self._classes[code].joined = True

    def left(self, code: str) -> None:
        """Notes that no page of a class is connected any more: if nobody has joined it, another may have its place."""
        with self._lock:
            if code in self._classes:
                self._classes[code].left = True

    def set_plan(self, code: str, key: str, plan: Sequence[str]) -> None:
        """What the class is to be shown, in order; a class that is shown none of it keeps what it is shown."""
        with self._lock:
            class_ = self._mine(code, key)
            stops = tuple(dict.fromkeys(stop for name in plan if (stop := stop_from(name))))[:MAX_STOPS]
            if class_ is None or not stops or stops == class_.plan:
                return
            began = class_.led == 1 and not class_.used and class_.stop == class_.plan[0]
            class_.plan, class_.at = stops, stops.index(class_.stop) if class_.stop in stops else 0
            if began and class_.stop not in stops[:1]:
                self._lead(class_, stops[0])
            self._changed(code)

    def show(self, code: str, key: str, stop: str) -> None:
        """Leads the class to a stop, of its plan or not, and calls it back."""
        with self._lock:
            class_, stop = self._mine(code, key), stop_from(stop)
            if class_ is not None and stop:
                self._lead(class_, stop)
                self._changed(code)

    def move(self, code: str, key: str, by: int) -> None:
        """Leads the class to the next stop of its plan, with -1 to the one before; nowhere beyond its ends."""
        with self._lock:
            class_ = self._mine(code, key)
            if class_ is not None and 0 <= class_.at + by < len(class_.plan):
                self._lead(class_, class_.plan[class_.at + by])
                self._changed(code)

    def reveal(self, code: str, key: str) -> None:
        """Shows everybody the class's guesses at its stop, and what answers them."""
        with self._lock:
            class_ = self._mine(code, key)
            if class_ is not None and class_.stop not in class_.revealed and questions_of(class_.stop):
                class_.revealed.add(class_.stop)
                self._changed(code)

    def let_go(self, code: str, key: str, loose: bool) -> None:
        """Lets everybody go where they like, or calls them back."""
        with self._lock:
            class_ = self._mine(code, key)
            if class_ is not None and class_.loose != loose:
                class_.loose = loose
                class_.led += not loose
                self._changed(code)

    def clear(self, code: str, key: str) -> None:
        """Deletes the guesses at the stop, which can be guessed again; `undo` brings them back for a while."""
        with self._lock:
            class_ = self._mine(code, key)
            if class_ is not None:
                gone = {question: class_.guesses.pop(question, {}) for question in questions_of(class_.stop)}
                class_.cleared = gone, self._clock()
                class_.revealed.discard(class_.stop)
                self._changed(code)

    def undo(self, code: str, key: str) -> None:
        """Brings back what `clear` has deleted last; who has guessed since then keeps the new guess."""
        with self._lock:
            class_ = self._mine(code, key)
            if class_ is not None and self._undoable(class_):
                for question, before in class_.cleared[0].items():
                    both = before | class_.guesses.get(question, {})
                    class_.guesses[question] = dict(list(both.items())[:MAX_GUESSES])
                    class_.guessed[question] = self._clock()
                class_.cleared = {}, 0.0
                self._changed(code)

    def undoable(self, code: str) -> bool:
        """Whether `undo` would bring guesses back."""
        with self._lock:
            class_ = self._classes.get(code)
            return class_ is not None and self._undoable(class_)

    def close(self, code: str, key: str) -> None:
        """Closes a class; `reopen` brings it back for a while, with all its guesses."""
        with self._lock:
            class_ = self._mine(code, key)
            if class_ is not None:
                self._closed[code] = self._classes.pop(code), self._clock()
                event("class_closed", classes=len(self._classes))
                self._changed(code)

    def reopen(self, code: str, key: str) -> None:
        """Opens a class again that was closed a while ago."""
        with self._lock:
            self._forget()
            if not self._reopens(code, key):
                return
            if len(self._classes) >= MAX_CLASSES and not self._make_room(self._classes):
                return
            self._classes[code], _ = self._closed.pop(code)
            self._classes[code].seen = self._clock()
            self._changed(code)

    def reopens(self, code: str, key: str) -> bool:
        """Whether the holder of a class's key has closed it so recently that it can be opened again."""
        with self._lock:
            self._forget()
            return self._reopens(code, key)

    # --- the class ---

    def admit(self, code: str, address: str) -> str:
        """Lets a client come into a class by its code. Returns why not, GONE or TRIED, or "".

        Who has tried many wrong codes is let in only where others of their address are: at a school, in its own class.
        """
        with self._lock:
            self._forget()
            class_, origin = self._classes.get(code), self._digest(address)
            if self._trials.too_many(origin) and (class_ is None or origin not in class_.homes):
                return TRIED
            if class_ is None:
                self._trials.note(origin, code)
                return GONE
            if len(class_.homes) < MAX_HOMES_PER_CLASS:
                class_.homes.add(origin)
            return ""

    def now(self, code: str) -> Now | None:
        """What a class is shown; None if no class of this code is open."""
        with self._lock:
            self._forget()
            class_ = self._classes.get(code)
            if class_ is None:
                return None
            asked = questions_of(class_.stop)
            answered = tuple(len(class_.guesses.get(question, {})) for question in asked)
            out = not asked or class_.stop in class_.revealed
            return Now(class_.stop, class_.plan, class_.at, class_.loose, out, class_.led, class_.version, answered)

    def guess(self, code: str, question: str, member: str, option: str, address: str = "") -> str:
        """Counts a member's guess, which may be changed until the answer is out. Returns why it is refused, or "".

        A class may come from one address. On a full board the last guess from the most frequent address gives way to
        one from a rarer address, so that no client's many sessions keep the others out.
        """
        if question not in QUESTIONS or option not in QUESTIONS[question].options:
            raise ValueError(f"{option!r} is no option of a question {question!r}")
        with self._lock:
            self._forget()
            class_ = self._classes.get(code)
            if class_ is None:
                return GONE
            if question not in questions_of(class_.stop) or class_.stop in class_.revealed:
                return OUT
            guesses, origin = class_.guesses.setdefault(question, {}), self._digest(address)
            if member not in guesses and len(guesses) >= MAX_GUESSES and not _give_way(guesses, origin):
                return f"This class already has {MAX_GUESSES} guesses, the most it can hold; yours is not counted."
            guesses[member] = (option, guesses[member][1] if member in guesses else origin)
            class_.guessed[question], class_.used = self._clock(), True
            self._changed(code, shown=False)
            return ""

    def guess_of(self, code: str, question: str, member: str) -> str:
        """The option that a member has guessed; empty for none."""
        with self._lock:
            class_ = self._classes.get(code)
            return class_.guesses.get(question, {}).get(member, ("", ""))[0] if class_ is not None else ""

    def counts(self, code: str, question: str) -> dict[str, int] | None:
        """Guesses by option of a question, in its order; None if no class of this code is open."""
        with self._lock:
            self._forget()
            class_ = self._classes.get(code)
            if class_ is None:
                return None
            chosen = Counter(option for option, _ in class_.guesses.get(question, {}).values())
            return {option: chosen[option] for option in QUESTIONS[question].options}

    def results(self, code: str) -> list[tuple[str, str, str, int]]:
        """Stop, question, option and number of guesses, of every stop that has been revealed, in the plan's order."""
        with self._lock:
            class_ = self._classes.get(code)
            stops = (*class_.plan, *sorted(class_.revealed - {*class_.plan})) if class_ is not None else ()
            shown = [stop for stop in stops if class_ is not None and stop in class_.revealed]
        return [
            (title_of(stop), QUESTIONS[question].title, option, count)
            for stop in shown
            for question in questions_of(stop)
            for option, count in (self.counts(code, question) or {}).items()
        ]

    # --- under the lock ---

    def _mine(self, code: str, key: str) -> _Class | None:
        class_ = self._classes.get(code)
        return class_ if class_ is not None and hmac.compare_digest(class_.key, _digested(key)) else None

    def _reopens(self, code: str, key: str) -> bool:
        return code in self._closed and hmac.compare_digest(self._closed[code][0].key, _digested(key))

    @staticmethod
    def _lead(class_: _Class, stop: str) -> None:
        class_.stop, class_.loose, class_.led = stop, False, class_.led + 1
        if stop in class_.plan:
            class_.at = class_.plan.index(stop)

    def _undoable(self, class_: _Class) -> bool:
        return any(class_.cleared[0].values()) and self._clock() - class_.cleared[1] < UNDO_SECONDS

    def _forget(self) -> None:
        """Drops what is too old: classes not kept alive, and guesses for questions long over."""
        now = self._clock()
        oldest = now - AGE_SECONDS
        least = {True: oldest, False: now - UNUSED_SECONDS}  # by whether anybody has guessed
        self._classes = {code: class_ for code, class_ in self._classes.items() if class_.seen > least[class_.used]}
        closed = [(code, entry) for code, entry in self._closed.items() if entry[1] > now - UNDO_SECONDS]
        self._closed = dict(closed[-MAX_CLASSES:])
        for class_ in self._classes.values():
            for question in [question for question, at in class_.guessed.items() if at <= oldest]:
                class_.guesses.pop(question, None)
                del class_.guessed[question]

    def _make_room(self, among: Collection[str]) -> bool:
        """Drops, of some classes without a guess, the one whose teacher's page is away longest; returns whether.

        Where nobody has joined, it is away as soon as it is closed.
        """
        away = self._clock() - AWAY_SECONDS

        def gone(class_: _Class) -> bool:
            return not class_.used and (class_.seen < away or (class_.left and not class_.joined))

        spare = [code for code in among if gone(self._classes[code])]
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


def new_code() -> str:
    """A code that is drawn by chance."""
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def code_from(text: str) -> str:
    """The code that somebody may have meant; empty if that can be none."""
    code = re.sub(r"[\s-]", "", text[:40]).upper()
    return code if valid(code) else ""


def valid(code: str) -> bool:
    """Whether a text can be a class code."""
    return CODE.fullmatch(code) is not None


def valid_key(key: str) -> bool:
    """Whether a text can be the key of a class."""
    return 0 < len(key) <= MAX_KEY_CHARS


def valid_member(member: str) -> bool:
    """Whether a text can be a member's token."""
    return MEMBER.fullmatch(member) is not None


def _digested(key: str) -> bytes:
    return hashlib.sha256(key[:MAX_KEY_CHARS].encode(errors="replace")).digest()


def classes_file(port: int) -> Path:
    """The file of the server at a port: in the folder CLASSES_FOLDER, or in the user's cache."""
    if given := os.environ.get(FOLDER):
        return Path(given) / f"classes-{port}.json"
    cache = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "add-norm-playground" / f"classes-{port}.json"


# Kept in `sys`: Streamlit reloads this module for the pages when a file is saved, but not for the routes.
_board: Board = sys.__dict__.setdefault("_add_norm_board", Board())


def board() -> Board:
    """The board of this server process. Not in Streamlit's cache, which any client can ask the server to clear."""
    return _board
