"""A run log: everything a run has measured, in a folder that one process appends to and any process may read.

    head.json      the run's configuration and the layout of its rows
    rows.f32       rows of little-endian float32, all of one width; row 0 is the net before training
    events.jsonl   frames, divergences, sentences and the end of the run, one JSON object a line

Written data never changes, and readers ignore an incomplete row or line. A row counts as readable once its frame and
its sentences are written, so that every reader can resume from a row number alone. No torch.
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

HEAD_FILE = "head.json"
ROWS_FILE = "rows.f32"
EVENTS_FILE = "events.jsonl"
MAX_HEAD_BYTES = 2**20
MAX_ROWS = 10**7
BYTES_PER_NUMBER = 4


def fingerprint() -> dict[str, str]:
    """The versions that decide a run's numbers: torch's, without its build, and a digest of this package's code."""
    package = Path(__file__).parent
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return {"torch": version("torch").partition("+")[0], "project": digest.hexdigest()[:8]}


@cache
def engine_fingerprint() -> str:
    """`fingerprint` of this process as one line of text."""
    return " ".join(f"{name} {value}" for name, value in fingerprint().items())


def frame_event(frame: Frame, seed: int, *, draft: bool = False) -> Message:
    """The event of a frame of the seed with that index. The complete frame replaces a `draft`, which lacks metrics."""
    return {"kind": "frame", "seed": seed, "frame": packed(frame), "draft": draft}


def divergence_event(divergence: Divergence, seed: int) -> Message:
    return {"kind": "divergence", "seed": seed, "divergence": packed(divergence)}


def sentences_event(rows: int, changes: Mapping[str, Sequence[tuple[int, str]]]) -> Message:
    """The event of the new sentences of the first `rows` rows by kind, each with the row from which it holds."""
    return {"kind": "said", "rows": rows, "changes": changes}


END: Message = {"kind": "end"}  # no more rows will come


def folder_of(runs: Path, key: str) -> Path:
    """The folder of a run's log among `runs`, by the run's identity (`log_key`) and the engine's fingerprint.

    So versions of torch or of this project that compute other numbers never share a log.
    """
    return runs / sha256(f"{key} {engine_fingerprint()}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class LogHead:
    """The run of a log, the layout of one seed's row, and the fingerprint of the engine that wrote it."""

    query: dict[str, str]
    seeds: int
    columns: Columns
    parameters: int
    device: str
    made_by: str

    @cached_property
    def cfg(self) -> RunConfig:
        """The configuration. Raises ValueError if this version cannot read it."""
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
    _is_writer: bool
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
        """Reads what has been appended since the last read; changes nothing if the folder is missing."""
        with self._lock:
            if self.in_memory:
                return self
            try:
                if self.head is None:
                    with (self.folder / HEAD_FILE).open("rb") as stream:
                        self._adopt(unpacked(LogHead, json.loads(stream.read(MAX_HEAD_BYTES))))
                # Rows are written before their events; reading events first, an end never comes without its rows.
                self._read_events()
                assert self.head is not None
                written = (self.folder / ROWS_FILE).stat().st_size // self._row_bytes
                self.length = max(self.length, written if self._is_writer else min(written, self.narrated_length))
            except (FileNotFoundError, NotADirectoryError):
                pass
            self.nbytes = self._offset + self.length * self._row_bytes
            return self

    def rows(self, since: int = 0, limit: int | None = None) -> np.ndarray:
        """Up to `limit` rows from `since` on: (rows, seeds * columns.width) float32, a read-only view."""
        with self._lock:
            end = self.length if limit is None else min(self.length, since + limit)
            return self._mapped_rows()[since:end]

    def frames(self, seed: int = 0) -> list[Frame]:
        """The frames of the seed with that index, by step."""
        with self._lock:
            return list(self._frames[seed]) if self._frames else []

    def traces(self) -> list[Trace]:
        """One trace per seed, up to its divergence; empty before the first row. Cached until the next read."""
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
        """The sentences that begin to hold in rows `since` ... `until` - 1 by kind, each with its row."""
        with self._lock:
            return {
                kind: sentences[bisect_left(sentences, (since,)) : bisect_left(sentences, (until,))]
                for kind, sentences in self._sentences.items()
            }

    @property
    def trained(self) -> bool:
        """Whether the log goes beyond row 0, the net before training."""
        return self.length > 1 or self.done

    @property
    def last_step(self) -> int:
        """The last step so far; once all seeds have diverged, the step at which the player stops."""
        ends = [divergence.rest_step for divergence in self.divergences if divergence is not None]
        return max(ends) if ends and len(ends) == len(self.divergences) else max(0, self.length - 1)

    def begin(self, head: LogHead) -> None:
        """Begins the log, or continues an existing one with the same head. Moves to memory if the disk is full."""
        with self._lock:
            try:
                self._begin(head)
            except OSError:
                self._forget()
                self._adopt(head)
                self.in_memory = True
            self._is_writer = True

    def _begin(self, head: LogHead) -> None:
        self.read()
        if self.head == head and self.exists():
            os.truncate(self.folder / ROWS_FILE, self.length * self._row_bytes)
            os.truncate(self.folder / EVENTS_FILE, self._offset)
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name in (ROWS_FILE, EVENTS_FILE):
            (self.folder / name).touch()
        unfinished = self.folder / f"{HEAD_FILE}.part"
        unfinished.write_text(json.dumps(packed(head)), encoding="utf-8")
        unfinished.replace(self.folder / HEAD_FILE)
        self._forget()
        self.read()

    def append(self, rows: np.ndarray, events: Sequence[Message]) -> None:
        """Appends rows, then events, in memory if the disk is full. Raises FileNotFoundError for a deleted log."""
        with self._lock:
            if not self.in_memory:
                os.stat(self.folder / ROWS_FILE)
                try:
                    self._write(ROWS_FILE, np.ascontiguousarray(rows, "<f4").tobytes())
                    self._write(EVENTS_FILE, b"".join(map(line_of, events)))
                    self.read()
                    return
                except FileNotFoundError:
                    raise
                except OSError:
                    pass
            assert self.head is not None
            chunk: Message = {"start": self.length, "rows": rows, "events": list(events)}
            self.append_in_memory(head=self.head, **chunk)
            self._unwritten.append(chunk)

    def take_unwritten(self) -> list[Message]:
        """Removes and returns what has been appended in memory only: arguments of `append_in_memory`."""
        with self._lock:
            chunks, self._unwritten = self._unwritten, []
            return chunks

    def append_in_memory(self, start: int, rows: np.ndarray, events: Sequence[Message], head: LogHead) -> None:
        """Appends rows from `start` on and events without a file; skips rows that the log already has."""
        with self._lock:
            if self.head is None:
                self._adopt(head)
            if not self.in_memory:
                self._rows = np.array(self._mapped_rows())
                self.in_memory = True
            if start > self.length:
                return
            self._rows = np.concatenate([self._rows.reshape(-1, rows.shape[1]), rows[self.length - start :]])
            self.length = len(self._rows)
            for event in events:
                self._apply(event)
            self._offset += 1
            self.nbytes = self._rows.nbytes

    def exists(self) -> bool:
        """Whether the files exist, or the log is in memory and needs none."""
        return self.in_memory or (self.folder / ROWS_FILE).exists()

    def delete(self) -> None:
        """Deletes the files. What has been read of them stays readable."""
        with self._lock:
            self._mapped_rows()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _forget(self) -> None:
        """Resets all attributes to those of an empty log."""
        self.head = self._traces = None
        self.length = 0
        self.nbytes = 0
        self._row_bytes = BYTES_PER_NUMBER
        self._offset = 0
        self.done = self.in_memory = self._is_writer = False
        self._unwritten = []
        self.divergences = []
        self.last_frame_steps = []
        self._frames = []
        self._sentences = {}
        self.narrated_length = 0
        self._rows = np.empty((0, 0), np.float32)

    def _mapped_rows(self) -> np.ndarray:
        """All rows, memory-mapped from the file."""
        if self.head is not None and len(self._rows) < self.length:
            width = self.head.seeds * self.head.columns.width
            try:
                rows = np.memmap(self.folder / ROWS_FILE, "<f4", "r", shape=(self.length, width))
                self._rows = rows.view(np.ndarray)
            except FileNotFoundError:  # deleted since the last read: only the mapped rows are left
                self.length = len(self._rows)
        return self._rows

    def _write(self, name: str, data: bytes) -> None:
        if data:
            file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
            with open(file, "wb") as stream:  # buffered, so that a partial write is an error
                stream.write(data)

    def _adopt(self, head: LogHead) -> None:
        """Sets the head and the attributes that follow from it."""
        self.head = head
        self._row_bytes = BYTES_PER_NUMBER * head.seeds * head.columns.width
        self.divergences = [None] * head.seeds
        self._frames = [[] for _ in range(head.seeds)]
        self.last_frame_steps = [-1] * head.seeds

    def _read_events(self) -> None:
        """Applies the complete lines that were appended since the last read."""
        with (self.folder / EVENTS_FILE).open("rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                self._apply(message_of(line))
                self._offset += len(line)

    def _apply(self, event: Message) -> None:
        if event["kind"] == "frame":
            frame = unpacked(Frame, event["frame"])
            seed = event["seed"]
            if frame.step > self.last_frame_steps[seed]:
                earlier = [other for other in self._frames[seed] if other.step < frame.step]
                self._frames[seed] = [*earlier, frame]
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
        rows = self._mapped_rows()[:end, seed * columns.width : (seed + 1) * columns.width]
        return trace_of(columns, rows, self._frames[seed], divergence)
