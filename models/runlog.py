"""A run log: all that a run has measured, in a folder to which one process appends and from which any may read.

    head.json      which run it is, and where its numbers stand
    rows.f32       rows of little-endian float32, all of one width; row 0 is the net before training
    events.jsonl   frames, divergences, what is said from which row on, and the end, one JSON object a line

What is written never changes; a row or a line that is cut off is not read. Readers know a row once its frame and what
is said of it are there, so that all of them go on with a log from a row. No torch.
"""

import json
import os
import shutil
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from threading import RLock

import numpy as np

from models.service.messages import config_from, packed, unpacked
from models.service.wire import Message, line_of, message_of
from models.spec import RunConfig
from models.trace import Columns, Divergence, Frame, Trace, trace_of

HEAD, ROWS, EVENTS = "head.json", "rows.f32", "events.jsonl"
LARGEST_HEAD = 2**20  # bytes
MAX_ROWS = 10**7


def fingerprint() -> dict[str, str]:
    """What decides a run's numbers: the version of torch (without its build) and a digest of this package."""
    package = Path(__file__).parent
    code = sha256()
    for path in sorted(package.rglob("*.py")):
        code.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return {"torch": version("torch").partition("+")[0], "project": code.hexdigest()[:8]}


@cache
def engine_fingerprint() -> str:
    """`fingerprint` of this process, in a line."""
    return " ".join(f"{what} {which}" for what, which in fingerprint().items())


def frame_event(frame: Frame, seed: int, *, draft: bool = False) -> Message:
    """A frame of the seed at an index. `draft`: without held-out figures, until a run that is trained has the whole."""
    return {"kind": "frame", "seed": seed, "frame": packed(frame), "draft": draft}


def divergence_event(divergence: Divergence, seed: int) -> Message:
    """Where the seed at an index diverged."""
    return {"kind": "divergence", "seed": seed, "divergence": packed(divergence)}


def sentences_event(rows: int, changes: Mapping[str, Sequence[tuple[int, str]]]) -> Message:
    """The sentences by kind that are new in the first `rows` rows, each with the row from which it holds."""
    return {"kind": "said", "rows": rows, "changes": changes}


END: Message = {"kind": "end"}  # no more rows will come


def folder_of(runs: Path, key: str) -> Path:
    """Where the log of a run lies in a folder of runs. `key`: the run's identity (`log_key`).

    Other versions of torch or of this project have other numbers, and logs of their own.
    """
    return runs / sha256(f"{key} {engine_fingerprint()}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class LogHead:
    """Which run a log is of, the layout of one seed's row, and what made it."""

    query: dict[str, str]
    seeds: int
    columns: Columns
    parameters: int
    device: str
    made_by: str

    @cached_property
    def cfg(self) -> RunConfig:
        """The configuration. ValueError if it is none of this version."""
        return config_from(self.query)


class RunLog:
    """The log in a folder as of the last read. One writer, many readers; thread-safe.

    `length` counts the rows that readers may use, `narrated_length` those that sentences already cover. `divergences`
    and `last_frame_steps` have one entry per seed; the latter is the step of the last complete frame, -1 before it.
    `in_memory` is set once the disk is full: the writer then sends its readers what it could not write. `nbytes` is the
    size of rows and events.
    """

    head: LogHead | None
    length: int
    nbytes: int
    done: bool
    in_memory: bool
    divergences: list[Divergence | None]
    last_frame_steps: list[int]
    narrated_length: int
    _writes: bool
    _row_bytes: int
    _offset: int
    _rows: np.ndarray
    _frames: list[list[Frame]]
    _unwritten: list[Message]
    _sentences: dict[str, list[tuple[int, str]]]
    _traces: tuple[tuple[int, int], list[Trace]] | None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = RLock()
        self._forget()
        self.read()

    def read(self) -> "RunLog":
        """Reads what has been appended. A log that is not there, or no longer, stays as it is."""
        with self._lock:
            if self.in_memory:
                return self
            try:
                if self.head is None:
                    with (self.folder / HEAD).open("rb") as stream:
                        self._adopt(unpacked(LogHead, json.loads(stream.read(LARGEST_HEAD))))
                self._read_events()  # before the rows, which are written first: no end is known before its rows
                assert self.head is not None
                size = (self.folder / ROWS).stat().st_size // self._row_bytes
                self.length = max(self.length, size if self._writes else min(size, self.narrated_length))
            except (FileNotFoundError, NotADirectoryError):
                pass
            self.nbytes = self._offset + self.length * self._row_bytes
            return self

    def rows(self, since: int = 0, most: int | None = None) -> np.ndarray:
        """At most `most` rows from `since` on, (rows, seeds * columns.width) float32: a view, read-only."""
        with self._lock:
            return self._mapped()[since : self.length if most is None else min(self.length, since + most)]

    def frames(self, seed: int = 0) -> list[Frame]:
        """The frames of the seed at an index, by step."""
        with self._lock:
            return list(self._frames[seed]) if self._frames else []

    def traces(self) -> list[Trace]:
        """One trace per seed, each as far as that seed got; none before the first row. The same until it is read."""
        with self._lock:
            if not self.length or self.head is None:
                return []
            state = self.length, self._offset
            if self._traces is None or self._traces[0] != state:
                self._traces = state, [self._trace(seed, self.head.columns) for seed in range(self.head.seeds)]
            return self._traces[1]

    def trace(self) -> Trace | None:
        """The trace of the first seed; None before the first row."""
        return next(iter(self.traces()), None)

    def sentences(self, since: int = 0, until: int = MAX_ROWS) -> dict[str, list[tuple[int, str]]]:
        """By kind the sentences that begin to hold in these rows, each with its row."""
        with self._lock:
            return {
                kind: said[bisect_left(said, (since,)) : bisect_left(said, (until,))]
                for kind, said in self._sentences.items()
            }

    @property
    def trained(self) -> bool:
        """Whether there is more than the net before training."""
        return self.length > 1 or self.done

    @property
    def last_step(self) -> int:
        """The last step so far; once all seeds have diverged, the one at which the player comes to rest."""
        ends = [end.rest for end in self.divergences if end is not None]
        return max(ends) if ends and len(ends) == len(self.divergences) else max(0, self.length - 1)

    def begin(self, head: LogHead) -> None:
        """Begins the log, or goes on with the one that is there if it has the same head. On a full disk, in memory."""
        with self._lock:
            try:
                self._begin(head)
            except OSError:
                self._forget()
                self._adopt(head)
                self.in_memory = True
            self._writes = True

    def _begin(self, head: LogHead) -> None:
        self.read()
        if self.head == head and self.exists():
            os.truncate(self.folder / ROWS, self.length * self._row_bytes)
            os.truncate(self.folder / EVENTS, self._offset)
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name in (ROWS, EVENTS):
            (self.folder / name).touch()
        unfinished = self.folder / f"{HEAD}.part"
        unfinished.write_text(json.dumps(packed(head)), encoding="utf-8")
        unfinished.replace(self.folder / HEAD)
        self._forget()
        self.read()

    def append(self, rows: np.ndarray, events: Sequence[Message]) -> None:
        """Appends rows, then events. FileNotFoundError if the log has been deleted. On a full disk, in memory."""
        with self._lock:
            if not self.in_memory:
                os.stat(self.folder / ROWS)
                try:
                    self._write(ROWS, np.ascontiguousarray(rows, "<f4").tobytes())
                    self._write(EVENTS, b"".join(map(line_of, events)))
                    self.read()
                    return
                except FileNotFoundError:
                    raise
                except OSError:
                    pass
            assert self.head is not None
            piece: Message = {"start": self.length, "rows": rows, "events": list(events)}
            self.append_in_memory(head=self.head, **piece)
            self._unwritten.append(piece)

    def take_unwritten(self) -> list[Message]:
        """What has been appended in memory since this was asked last: pieces for `append_in_memory`."""
        with self._lock:
            pieces, self._unwritten = self._unwritten, []
            return pieces

    def append_in_memory(self, start: int, rows: np.ndarray, events: Sequence[Message], head: LogHead) -> None:
        """Takes rows from `start` on, and events, that are in no file; what is known of them already is left out."""
        with self._lock:
            if self.head is None:
                self._adopt(head)
            if not self.in_memory:
                self._rows, self.in_memory = np.array(self._mapped()), True
            if start > self.length:
                return
            self._rows = np.concatenate([self._rows.reshape(-1, rows.shape[1]), rows[self.length - start :]])
            self.length = len(self._rows)
            for event in events:
                self._hear(event)
            self._offset += 1
            self.nbytes = self._rows.nbytes

    def exists(self) -> bool:
        """Whether its files are there, or it needs none."""
        return self.in_memory or (self.folder / ROWS).exists()

    def delete(self) -> None:
        """Deletes the files. What was read of them stays readable."""
        with self._lock:
            self._mapped()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _forget(self) -> None:
        self.head = self._traces = None
        self.length, self.nbytes, self._row_bytes, self._offset = 0, 0, 4, 0
        self.done = self.in_memory = self._writes = False
        self._unwritten = []
        self.divergences, self.last_frame_steps, self._frames = [], [], []
        self._sentences, self.narrated_length = {}, 0
        self._rows = np.empty((0, 0), np.float32)

    def _mapped(self) -> np.ndarray:
        """All rows, as the file has them."""
        if self.head is not None and len(self._rows) < self.length:
            width = self.head.seeds * self.head.columns.width
            try:
                rows = np.memmap(self.folder / ROWS, "<f4", "r", shape=(self.length, width))
                self._rows = rows.view(np.ndarray)
            except FileNotFoundError:  # deleted since: what was looked at is all there is
                self.length = len(self._rows)
        return self._rows

    def _write(self, name: str, data: bytes) -> None:
        if data:
            file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
            with open(file, "wb") as stream:  # buffered: a disk that takes a part only is an error
                stream.write(data)

    def _adopt(self, head: LogHead) -> None:
        self.head = head
        self._row_bytes = 4 * head.seeds * head.columns.width
        self.divergences = [None] * head.seeds
        self._frames = [[] for _ in range(head.seeds)]
        self.last_frame_steps = [-1] * head.seeds

    def _read_events(self) -> None:
        with (self.folder / EVENTS).open("rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                self._hear(message_of(line))
                self._offset += len(line)

    def _hear(self, event: Message) -> None:
        if event["kind"] == "frame":
            frame, seed = unpacked(Frame, event["frame"]), event["seed"]
            if frame.step > self.last_frame_steps[seed]:
                self._frames[seed] = [one for one in self._frames[seed] if one.step < frame.step] + [frame]
                self.last_frame_steps[seed] = -1 if event["draft"] else frame.step
        elif event["kind"] == "divergence":
            self.divergences[event["seed"]] = unpacked(Divergence, event["divergence"])
        elif event["kind"] == "said" and event["rows"] > self.narrated_length:
            self.narrated_length = event["rows"]
            for kind, changes in event["changes"].items():
                self._sentences.setdefault(kind, []).extend((row, sentence) for row, sentence in changes)
        elif event["kind"] == "end":
            self.done = True

    def _trace(self, seed: int, columns: Columns) -> Trace:
        divergence = self.divergences[seed]
        end = self.length if divergence is None else min(self.length, divergence.step + 1)
        rows = self._mapped()[:end, seed * columns.width : (seed + 1) * columns.width]
        return trace_of(columns, rows, self._frames[seed], divergence)
