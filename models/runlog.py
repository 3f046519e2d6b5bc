"""A run log: everything a run has measured, in a folder that one process appends to and any process may read.

    head.json      the run's configuration and the layout of its rows
    rows.f32       rows of little-endian float32, all of one width; row 0 is the net before training
    events.jsonl   frames, divergences, sentences and the end of the run, one JSON object a line

Written data never changes, and readers ignore an incomplete line. A row counts once the event with its sentences is
written, so that every reader can resume from a row number alone. Each line begins with the CRC of all lines up to it,
and an event with sentences has the CRC of all rows up to it, so that damage is noticed when it is read. No torch.
"""

import logging
import os
import shutil
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import BinaryIO
from zlib import crc32

import numpy as np

from models import log as server_log
from models.service.messages import config_from, packed, unpacked
from models.service.wire import MAX_LINE_BYTES, Message, line_of, message_of, size
from models.spec import RunConfig
from models.trace import Columns, Divergence, Frame, Trace, trace_of

HEAD_FILE = "head.json"
ROWS_FILE = "rows.f32"
EVENTS_FILE = "events.jsonl"
MAX_HEAD_BYTES = 2**20
MAX_ROWS = 10**7
BYTES_PER_NUMBER = 4
PIECE_BYTES = 2**23  # of the rows that a writer without a disk sends its readers at once
ASIDE = ".damaged"  # in the name of a folder that was put aside

_unmovable: set[Path] = set()  # damaged folders that could not be put aside


class LogDamageError(ValueError):
    """A log whose files are not what was written; the sentence says which and why."""


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


def put_aside(folder: Path, damage: LogDamageError) -> bool:
    """Renames the folder of a damaged log, so that its run is computed again; returns whether it could."""
    server_log.event("log_damaged", logging.WARNING, log=folder.name, why=str(damage))
    names = (folder.with_name(f"{folder.name}{ASIDE}{number or ''}") for number in range(MAX_ROWS))
    try:
        folder.rename(next(name for name in names if not name.exists()))
    except FileNotFoundError:
        return True  # another process did
    except OSError:
        _unmovable.add(folder)
        return False
    return True


def damaged_logs(runs: Path) -> int:
    """The number of damaged logs that were put aside among `runs`, or could not be."""
    return len({folder for folder in _unmovable if folder.parent == runs} | set(runs.glob(f"*{ASIDE}*")))


def _sealed(message: Message, crc: int) -> tuple[bytes, int]:
    """A message as a line that begins with its CRC, which continues `crc`, and that CRC."""
    body = line_of(message)[1:]
    crc = crc32(body, crc)
    return _seal(crc) + body, crc


def _unsealed(line: bytes, crc: int) -> tuple[Message, int]:
    """The message of a line that `_sealed` wrote, and its CRC. ValueError for any other line."""
    start = len(_seal(0))
    crc = crc32(line[start:], crc)
    if line[:start] != _seal(crc):
        raise ValueError("its checksum is wrong")
    return message_of(line), crc


def _seal(crc: int) -> bytes:
    return b'{"crc":"%08x",' % crc


class RunLog:
    """The log in a folder as of the last read. One writer, many readers; thread-safe. Holds no file open.

    `length` counts the rows that readers may use. `divergences` and `last_frame_steps` have one entry per seed; the
    latter is the step of the last complete frame, -1 before it. `in_memory` is set once the disk takes nothing more:
    the writer then sends its readers what it could not write, and `disk_error` says why. `nbytes` is the memory of rows
    and events. A damaged log is put aside, and is then empty; without `mends`, reading it raises LogDamageError.
    """

    head: LogHead | None
    length: int
    nbytes: int
    done: bool
    in_memory: bool
    disk_error: str
    divergences: list[Divergence | None]
    last_frame_steps: list[int]
    _is_writer: bool
    _row_bytes: int
    _offset: int
    _crc: int
    _rows_crc: int
    _rows: np.ndarray
    _filled: int
    _frames: list[list[Frame]]
    _unwritten: list[Message]
    _sentences: dict[str, list[tuple[int, str]]]
    _traces: tuple[tuple[int, int], list[Trace]] | None

    def __init__(self, folder: Path, *, mends: bool = True) -> None:
        self.folder = folder
        self._mends = mends
        self._lock = RLock()
        self._forget()
        self.read()

    def read(self) -> "RunLog":
        """Reads what has been appended since the last read; changes nothing if the folder is missing."""
        with self._lock:
            if self.in_memory or self._is_writer or self.done:
                return self
            try:
                self._read_files()
            except LogDamageError as damage:
                if not self._mends:
                    raise
                is_moved = put_aside(self.folder, damage)
                self._forget()
                self.in_memory = not is_moved
            return self

    def rows(self, since: int = 0, limit: int | None = None) -> np.ndarray:
        """Up to `limit` rows from `since` on: (rows, seeds * columns.width) float32, a read-only view.

        A writer has none: they are in the run.
        """
        with self._lock:
            end = self.length if limit is None else min(self.length, since + limit)
            rows = self._rows[since:end]
            rows.flags.writeable = False
            return rows

    def frames(self, seed: int = 0) -> list[Frame]:
        """The frames of the seed with that index, by step."""
        with self._lock:
            return list(self._frames[seed]) if self._frames else []

    def traces(self) -> list[Trace]:
        """One trace per seed, up to its divergence; empty before the first row. Cached until the next read."""
        with self._lock:
            if not self.length or self.head is None:
                return []
            state = self.length, self.nbytes
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
        """The last step so far."""
        return max(0, self.length - 1)

    def begin(self, head: LogHead) -> None:
        """Begins the log, or continues an existing one with the same head. Moves to memory if the disk is full."""
        with self._lock:
            self._forget()
            try:
                self._begin(head)
            except OSError as error:
                self._forget()
                self._adopt(head)
                self._leave_disk(error)
            self._is_writer = True
            self._rows = self._rows[:0].copy()

    def _begin(self, head: LogHead) -> None:
        self.read()
        if self.in_memory:
            raise PermissionError("a damaged log stands in the way")
        if self.head == head:
            os.truncate(self.folder / ROWS_FILE, self.length * self._row_bytes)
            os.truncate(self.folder / EVENTS_FILE, self._offset)
            return
        delete_log(self.folder)
        self.folder.mkdir(parents=True)
        for name in (ROWS_FILE, EVENTS_FILE):
            (self.folder / name).touch()
        line, crc = _sealed(packed(head), 0)
        unfinished = self.folder / f"{HEAD_FILE}.part"
        unfinished.write_bytes(line)
        unfinished.replace(self.folder / HEAD_FILE)
        self._forget()
        self._adopt(head)
        self._crc = crc

    def append(self, rows: np.ndarray, events: Sequence[Message]) -> None:
        """Appends rows, then events, in memory if the disk is full. Raises FileNotFoundError for a deleted log."""
        with self._lock:
            data = np.ascontiguousarray(rows, "<f4").tobytes()
            rows_crc, crc = crc32(data, self._rows_crc), self._crc
            lines = []
            for event in events:
                line, crc = _sealed(event | {"rows_crc": rows_crc} if event["kind"] == "said" else event, crc)
                lines.append(line)
            if not self.in_memory:
                try:
                    os.stat(self.folder / ROWS_FILE)
                    self._write(ROWS_FILE, data)
                    self._write(EVENTS_FILE, b"".join(lines))
                    self._offset += sum(map(len, lines))
                except FileNotFoundError:
                    raise
                except OSError as error:
                    self._leave_disk(error)
            if self.in_memory:
                self._unwritten += self._pieces(rows, events)
            self._rows_crc, self._crc = rows_crc, crc
            for event in events:
                self._apply(event)

    def _pieces(self, rows: np.ndarray, events: Sequence[Message]) -> list[Message]:
        """Rows and events as arguments of `append_in_memory`, of which the last has the events."""
        size = max(1, PIECE_BYTES // self._row_bytes)
        starts = range(0, len(rows), size) or range(1)
        pieces: list[Message] = [
            {"start": self.length + start, "rows": rows[start : start + size], "events": []} for start in starts
        ]
        pieces[-1]["events"] = list(events)
        return pieces

    def _leave_disk(self, error: OSError) -> None:
        self.in_memory = True
        self.disk_error = error.strerror or str(error)

    def take_unwritten(self) -> list[Message]:
        """Removes and returns what has been appended in memory only: arguments of `append_in_memory`."""
        with self._lock:
            chunks, self._unwritten = self._unwritten, []
            return chunks

    def append_in_memory(self, start: int, rows: np.ndarray, events: Sequence[Message], head: LogHead) -> bool:
        """Appends rows from `start` on and events without a file; skips what the log already has.

        Returns False, and appends nothing, if the log lacks rows before `start`.
        """
        with self._lock:
            self.read()
            if self.head is None:
                self._adopt(head)
            self.in_memory = True
            if start > self._filled:
                return False
            self._fill(rows[self._filled - start :])
            for event in events:
                self._apply(event)
            return True

    def exists(self) -> bool:
        """Whether the files exist, or the log is in memory and needs none."""
        return self.in_memory or (self.folder / ROWS_FILE).exists()

    def delete(self) -> None:
        """Deletes the files. What has been read of them stays readable."""
        with self._lock:
            delete_log(self.folder)

    @property
    def stored_bytes(self) -> int:
        """The size of the files that have been read."""
        return 0 if self.in_memory else self._offset + self.length * self._row_bytes

    def _forget(self) -> None:
        """Resets all attributes to those of an empty log."""
        self.head = self._traces = None
        self.length = 0
        self.nbytes = 0
        self._row_bytes = BYTES_PER_NUMBER
        self._offset = 0
        self._crc = self._rows_crc = self._filled = 0
        self.done = self.in_memory = self._is_writer = False
        self.disk_error = ""
        self._unwritten = []
        self.divergences = []
        self.last_frame_steps = []
        self._frames = []
        self._sentences = {}
        self._rows = np.empty((0, 0), np.float32)

    def _fill(self, rows: np.ndarray) -> None:
        """Puts rows behind those that are here; the event with their sentences makes them readable."""
        end = self._filled + len(rows)
        if end > len(self._rows):
            larger = np.empty((max(end, 2 * self._filled), rows.shape[1]), np.float32)
            larger[: self._filled] = self._rows[: self._filled]
            self._rows = larger
        self._rows[self._filled : end] = rows
        self._filled = end
        self.nbytes += rows.nbytes

    def _write(self, name: str, data: bytes) -> None:
        if data:
            file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
            with open(file, "wb") as stream:  # buffered, so that a partial write is an error
                stream.write(data)

    def _adopt(self, head: LogHead) -> None:
        """Sets the head and the attributes that follow from it."""
        self.head = head
        self._row_bytes = BYTES_PER_NUMBER * head.seeds * head.columns.width
        self._rows = np.empty((0, head.seeds * head.columns.width), np.float32)
        self.divergences = [None] * head.seeds
        self._frames = [[] for _ in range(head.seeds)]
        self.last_frame_steps = [-1] * head.seeds

    def _read_files(self) -> None:
        """Reads and checks what was appended since the last read. LogDamageError if it is not what was written."""
        try:
            has_rows = self.head is None and self._has_rows()  # looked at before the head, which comes first
            if self.head is None and not self._read_head():
                if has_rows:
                    raise LogDamageError(f"{HEAD_FILE} is missing")
                return
            with (self.folder / EVENTS_FILE).open("rb") as events, (self.folder / ROWS_FILE).open("rb") as rows:
                self._read_events(events, rows)
        except LogDamageError:
            raise
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError | NotADirectoryError) and not self.folder.is_dir()
            if not is_gone or self.folder.is_file():
                raise LogDamageError(f"it cannot be read: {error.strerror or error}") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise LogDamageError(
                f"{EVENTS_FILE if self.head else HEAD_FILE} is not what was written: {error}"
            ) from error

    def _has_rows(self) -> bool:
        with suppress(FileNotFoundError):
            return (self.folder / ROWS_FILE).stat().st_size > 0
        return False

    def _read_head(self) -> bool:
        """Reads the head; returns False if there is none."""
        try:
            with (self.folder / HEAD_FILE).open("rb") as stream:
                line = stream.read(MAX_HEAD_BYTES)
        except FileNotFoundError:
            return False
        head, crc = _unsealed(line, 0)
        self._adopt(unpacked(LogHead, head))
        self._crc = crc
        return True

    def _read_events(self, events: BinaryIO, rows: BinaryIO) -> None:
        """Applies the complete lines that were appended since the last read, each with its rows."""
        events.seek(self._offset)
        rows.seek(self._filled * self._row_bytes)
        while (line := events.readline(MAX_LINE_BYTES + 100)).endswith(b"\n"):
            event, crc = _unsealed(line, self._crc)
            if event["kind"] == "said" and event["rows"] > self._filled:
                data = rows.read((event["rows"] - self._filled) * self._row_bytes)
                self._rows_crc = crc32(data, self._rows_crc)
                if self._rows_crc != event["rows_crc"]:
                    raise LogDamageError(f"{ROWS_FILE} is not what was written")
                self._fill(np.frombuffer(data, "<f4").reshape(-1, self._row_bytes // BYTES_PER_NUMBER))
            self._apply(event)
            self._offset += len(line)
            self._crc = crc
        if len(line) > MAX_LINE_BYTES:
            raise LogDamageError(f"{EVENTS_FILE} has an endless line")

    def _apply(self, event: Message) -> None:
        self.nbytes += size(event)
        if event["kind"] == "frame":
            frame = unpacked(Frame, event["frame"])
            seed = event["seed"]
            if frame.step > self.last_frame_steps[seed]:
                earlier = [other for other in self._frames[seed] if other.step < frame.step]
                self._frames[seed] = [*earlier, frame]
                self.last_frame_steps[seed] = -1 if event["draft"] else frame.step
        elif event["kind"] == "divergence":
            self.divergences[event["seed"]] = unpacked(Divergence, event["divergence"])
        elif event["kind"] == "said" and event["rows"] > self.length:
            for kind, changes in event["changes"].items():
                new = ((row, sentence) for row, sentence in changes if row >= self.length)
                self._sentences.setdefault(kind, []).extend(new)
            self.length = event["rows"]
        elif event["kind"] == "end":
            self.done = True

    def _trace(self, seed: int, columns: Columns) -> Trace:
        divergence = self.divergences[seed]
        end = self.length if divergence is None else min(self.length, divergence.step + 1)
        rows = self._rows[:end, seed * columns.width : (seed + 1) * columns.width]
        return trace_of(columns, rows, self._frames[seed], divergence)


def delete_log(folder: Path) -> None:
    """Deletes the folder of a log, which no reader sees half deleted."""
    gone = folder.with_name(f"{folder.name}.gone")
    with suppress(OSError):
        folder.rename(gone)
        folder = gone
    shutil.rmtree(folder, ignore_errors=True)
