"""The recordings of a folder on their way to a browser, byte by byte: the browser reads them, the server does not.

Only plain files directly in the folder are given, by their
names as it lists them: nothing that a visitor writes is a path.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.stage.asked import AskedRecording
from models.service.client import Trainer

FOLDER = "PLAYGROUND_RECORDINGS"  # environment variable with the folder's path
DEFAULT, ENDING = "recordings", ".jsonl"
MOST_LISTED = 500  # the newest
LARGEST = 2**32  # bytes
PIECE_BYTES = 2**18


def folder() -> Path:
    """Where recordings are looked for."""
    return Path(os.environ.get(FOLDER) or DEFAULT)


def recordings() -> list[str]:
    """The names of the folder's recordings, the newest first. None where there is no such folder."""
    found = []
    try:
        with os.scandir(folder()) as entries:
            for entry in entries:
                if entry.name.endswith(ENDING) and entry.name.isprintable() and entry.is_file(follow_symlinks=False):
                    found.append((-entry.stat(follow_symlinks=False).st_mtime, entry.name))
    except OSError:
        return []
    return [name for _, name in sorted(found)[:MOST_LISTED]]


@contextmanager
def opened(name: str) -> Iterator[tuple[int, os.stat_result]]:
    """A recording of the folder, by its descriptor. OSError for whatever is no plain file directly in it."""
    if not name.endswith(ENDING) or Path(name).name != name or "\0" in name:
        raise FileNotFoundError(f"{name!r} is no recording")
    file = os.open(folder() / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise FileNotFoundError(f"{name!r} is no recording")
        yield file, facts
    finally:
        os.close(file)


class Reel:
    """A recording of a connection: sends what has been appended since. `have`: bytes that the browser has of `file`."""

    keys: tuple[str, ...] = ()  # nothing that the trainer tells is of a recording
    key = ""

    def __init__(self, at: int, asked: AskedRecording, turn: int = 0) -> None:
        self.at, self.turn, self.name, self.want = at, turn, asked.recording, asked.want
        self.file, self.sent = asked.file, asked.have
        self._told: dict[str, Any] = {}

    def wish(self, trainer: Trainer, seconds: float) -> None:
        """Nothing is computed for a recording."""

    def messages(self, trainer: Trainer, *, rate: bool) -> Iterator[str | bytes]:
        """What the browser does not have yet; another file of the same name from its beginning."""
        try:
            with opened(self.name) as (file, facts):
                found = f"{facts.st_dev:x}-{facts.st_ino:x}"
                if found != self.file or facts.st_size < self.sent:
                    self.file, self.sent, self._told = found, 0, {}
                yield from self._say(found, self.sent, "")
                while self.sent < min(facts.st_size, LARGEST - 1) and (
                    piece := os.pread(file, min(PIECE_BYTES, LARGEST - 1 - self.sent), self.sent)
                ):
                    start, self.sent = self.sent, self.sent + len(piece)
                    yield (
                        b"".join(number.to_bytes(4, "little") for number in (self.at, start, len(piece), self.turn))
                        + piece
                    )
        except OSError:
            yield from self._say(self.file, self.sent, f"There is no recording {self.name} here.")

    def _say(self, file: str, start: int, sentence: str) -> Iterator[str]:
        """Which file it is, and from which byte on it comes; a sentence where there is none."""
        told = {"file": file, "sentence": sentence}
        if told != self._told:
            self._told = told
            yield json.dumps({"kind": "file", "start": start, "run": self.at, "turn": self.turn} | told)
