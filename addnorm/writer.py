"""A thread that appends lines to a file, so that a slow disk never holds up training."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from addnorm.recording import FaultError, encode_line, parse_line

MAX_WAITING_ROWS = 1024  # rows that may wait for the disk; more are dropped and counted
BATCH_SECONDS = 0.1  # for which rows are gathered: the thread wakes seldom, and takes less from the training's
CLOSE_SECONDS = 10.0  # for which closing waits for the disk
fcntl = import_module("fcntl") if find_spec("fcntl") else None  # Windows has none

Lines = Callable[[], Sequence[Mapping[str, Any]]]  # makes the lines of a row, in the writer's thread


def free_path(path: str | os.PathLike[str]) -> Path:
    """The path, or `name-2`, `name-3`, ... if the file exists: no recording is overwritten."""
    first = candidate = Path(path)
    count = 1
    while candidate.exists():
        count += 1
        candidate = first.with_stem(f"{first.stem}-{count}")
    return candidate


def _create(path: str | os.PathLike[str], flags: int) -> tuple[Path, int]:
    """Creates a file under the first free name, and opens it; another process may be taking names too."""
    while True:
        candidate = free_path(path)
        with contextlib.suppress(FileExistsError):
            return candidate, os.open(candidate, flags | os.O_CREAT | os.O_EXCL, 0o644)


class Writer:
    """Appends lines of JSON. Raises OSError if the file cannot be created; `failure` holds a later error.

    `path`: None for no file. `resume`: appends to an existing file. Raises BlockingIOError if it is being written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, *, resume: bool = False) -> None:
        self.path = Path(os.devnull)
        flags = os.O_WRONLY | os.O_APPEND
        if path is None or resume:
            self.path = Path(os.devnull if path is None else path)
            self._file = os.open(self.path, flags, 0o644)
        else:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self.path, self._file = _create(path, flags)
        if path is not None:
            self._lock()
        self.dropped = 0
        self.failure: Exception | None = None
        self._is_closing = threading.Event()
        self._lines: queue.Queue[Lines | None] = queue.Queue(MAX_WAITING_ROWS)  # None ends the thread
        self._thread = threading.Thread(target=self._run, name="addnorm writer", daemon=True)
        self._thread.start()

    def _lock(self) -> None:
        """Keeps other recorders from writing this file, where the system can."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
                os.close(self._file)
                raise BlockingIOError(error.errno, "another recorder writes it") from None

    def _close_file(self) -> None:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)  # a fork of this process may still have the file
        os.close(self._file)

    def truncate(self, rows: int) -> None:
        """Cuts an existing file after this many rows and their sentences. Call it before the first `write`."""
        size = 0
        with self.path.open("rb") as file, contextlib.suppress(FaultError):  # the last line may be cut off
            for line in file:
                entry = parse_line(line)
                rows -= "step" in entry
                if rows < 0 or "end" in entry:
                    break
                size += len(line)
        os.ftruncate(self._file, size)

    def write(self, lines: Lines) -> bool:
        """Queues the lines of a row. Returns False if the queue is full, so that the row is dropped."""
        try:
            self._lines.put_nowait(lines)
        except queue.Full:
            self.dropped += 1
            return False
        return True

    def close(self, last: Lines) -> bool:
        """Writes what is waiting and the last line. Returns False if the disk fails or takes too long."""
        self._is_closing.set()
        deadline = time.monotonic() + CLOSE_SECONDS
        try:
            self._lines.put(last, timeout=CLOSE_SECONDS)
            self._lines.put(None, timeout=max(0.0, deadline - time.monotonic()))
        except queue.Full:
            return False
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return not self._thread.is_alive() and self.failure is None

    def abandon(self) -> None:
        """Ends the thread and leaves the file unchanged."""
        self._is_closing.set()
        self._lines.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        is_ending = False
        while not is_ending:
            waiting = [self._lines.get()]
            self._is_closing.wait(BATCH_SECONDS)
            while not self._lines.empty():
                waiting.append(self._lines.get())
            is_ending = None in waiting
            if self.failure is None:
                try:
                    self._append([lines for lines in waiting if lines is not None])
                except Exception as error:
                    self.failure = error
        self._close_file()

    def _append(self, waiting: list[Lines]) -> None:
        data = b"".join(encode_line(line) for lines in waiting for line in lines())
        while data:
            data = data[os.write(self._file, data) :]
