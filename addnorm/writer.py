"""A thread that appends lines to a file, so that a slow disk never holds up training."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from addnorm.recording import FaultError, as_line, parsed

WAITING = 1024  # rows that may wait for the disk; more are dropped and counted
CLOSE_SECONDS = 10.0  # seconds for which closing waits for the disk


def free_path(wanted: str | os.PathLike[str]) -> Path:
    """The path, or `name-2`, `name-3`, ... where a file exists already: no recording is overwritten."""
    first = path = Path(wanted)
    count = 1
    while path.exists():
        count += 1
        path = first.with_stem(f"{first.stem}-{count}")
    return path


Lines = Callable[[], Sequence[Mapping[str, Any]]]  # called in the writer's thread


class Writer:
    """Appends lines of JSON. Raises OSError where the file cannot be created; `failure` is what went wrong later.

    `wanted`: None for no file. `further`: an existing file is gone on with.
    """

    def __init__(self, wanted: str | os.PathLike[str] | None, *, further: bool = False) -> None:
        self.path = Path(os.devnull)
        if wanted is not None:
            Path(wanted).parent.mkdir(parents=True, exist_ok=True)
            self.path = Path(wanted) if further else free_path(wanted)
        new = os.O_CREAT | os.O_EXCL if wanted is not None and not further else 0
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | new, 0o644)
        self.dropped = 0
        self.failure: Exception | None = None
        self._lines: queue.Queue[Lines | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name="addnorm writer", daemon=True)
        self._thread.start()

    def cut(self, rows: int) -> None:
        """Keeps so many rows of an existing file, with what is said of them, before anything is written."""
        size = 0
        with self.path.open("rb") as file, contextlib.suppress(FaultError):  # of a last line that is cut off
            for line in file:
                entry = parsed(line)
                rows -= "step" in entry
                if rows < 0 or "end" in entry:
                    break
                size += len(line)
        os.ftruncate(self._file, size)

    def write(self, lines: Lines) -> bool:
        """Queues the lines of a row; False where too many rows are waiting, so that it is dropped."""
        try:
            self._lines.put_nowait(lines)
        except queue.Full:
            self.dropped += 1
            return False
        return True

    def close(self, last: Lines) -> bool:
        """Writes what is waiting and the last line; False where the disk fails or takes too long."""
        until = time.monotonic() + CLOSE_SECONDS
        try:
            self._lines.put(last, timeout=CLOSE_SECONDS)
            self._lines.put(None, timeout=max(0.0, until - time.monotonic()))
        except queue.Full:
            return False
        self._thread.join(max(0.0, until - time.monotonic()))
        return not self._thread.is_alive() and self.failure is None

    def leave(self) -> None:
        """Ends the thread and leaves the file as it is."""
        self._lines.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _work(self) -> None:
        going = True
        while going:
            lines = [self._lines.get()]
            while not self._lines.empty():
                lines.append(self._lines.get())
            going = None not in lines
            if self.failure is None:
                try:
                    self._append([line for line in lines if line is not None])
                except Exception as error:
                    self.failure = error
        os.close(self._file)

    def _append(self, waiting: list[Lines]) -> None:
        text = b"".join(as_line(line) for lines in waiting for line in lines())
        while text:
            text = text[os.write(self._file, text) :]
