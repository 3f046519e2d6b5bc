"""The recordings of a folder, sent to the browser as bytes: the browser parses them, the server does not.

Only plain files directly in the folder are sent, by name: nothing that a visitor writes is used as a path. They are
read in threads beside the event loop, for a folder may be on a machine that does not answer.
"""

import asyncio
import json
import os
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from addnorm.player import PIECE_HEAD
from components.player.asked import AskedRecording
from models.service.client import Trainer
from models.spec import bounds

FOLDER = "PLAYGROUND_RECORDINGS"  # environment variable with the folder's path
DEFAULT, ENDING = "recordings", ".jsonl"
MAX_LISTED = 500  # the newest
EXAMPLES = Path(__file__).parents[2] / "examples" / "recordings"  # what the scripts beside it have recorded
EXAMPLE = "example: "  # prefix of their names
PIECE_BYTES = 2**18

Result = TypeVar("Result")


def folder() -> Path:
    """The folder of recordings."""
    return Path(os.environ.get(FOLDER) or DEFAULT)


def recordings() -> list[str]:
    """The names of the folder's recordings, newest first; empty if there is no such folder."""
    listed = []
    try:
        with os.scandir(folder()) as entries:
            for entry in entries:
                if entry.name.endswith(ENDING) and entry.name.isprintable() and entry.is_file(follow_symlinks=False):
                    listed.append((-entry.stat(follow_symlinks=False).st_mtime, entry.name))
    except OSError:
        return []
    return [name for _, name in sorted(listed)[:MAX_LISTED]]


def examples() -> list[str]:
    """The names of the recordings that come with the app."""
    return [EXAMPLE + path.name for path in sorted(EXAMPLES.glob(f"*{ENDING}"))]


@contextmanager
def opened(name: str) -> Iterator[tuple[int, os.stat_result]]:
    """Opens a recording of the folder, or an example: its descriptor and facts. OSError unless it is a plain file
    directly in there.
    """
    place, file_name = (EXAMPLES, name.removeprefix(EXAMPLE)) if name.startswith(EXAMPLE) else (folder(), name)
    if not file_name.endswith(ENDING) or Path(file_name).name != file_name or "\0" in file_name:
        raise FileNotFoundError(f"{name!r} is not a recording")
    file = os.open(place / file_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise FileNotFoundError(f"{name!r} is not a recording")
        yield file, facts
    finally:
        os.close(file)


class Readers:
    """Threads that read beside an event loop, so many at once. They do not keep the process from ending."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(bounds.MAX_READING_THREADS)

    async def read(self, what: Callable[[], Result]) -> Result:
        """Calls a function in a thread and returns its result; if the caller is cancelled, the thread goes on."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        read: asyncio.Future[Result] = loop.create_future()

        def over(result: Result | None, error: BaseException | None) -> None:
            self._free.release()
            if not read.done():
                read.set_exception(error) if error else read.set_result(result)  # type: ignore[arg-type]

        def run() -> None:
            result, failed = None, None
            try:
                result = what()
            except Exception as error:
                failed = error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(over, result, failed)

        threading.Thread(target=run, name="reads a recording", daemon=True).start()
        return await read


_readers: dict[tuple[asyncio.AbstractEventLoop, bool], Readers] = {}  # those of the examples wait for no folder


class RecordingFeed:
    """A recording of a connection, by its number there: sends what has been appended to the file."""

    keys: tuple[str, ...] = ()  # the trainer has no news of a recording
    key = ""

    whole = True  # whether all of the file is sent, which may be larger than `most`

    def __init__(
        self,
        number: int,
        asked: AskedRecording,
        turn: int = 0,
        most: int = bounds.MAX_RECORDING_BYTES - 1,
        *,
        grows: bool = True,
    ) -> None:
        self.number, self.turn, self.name, self.want = number, turn, asked.recording, asked.want
        self.file, self.sent, self.most = asked.file, asked.have, most
        self._now = {} if grows else {"read": time.time()}  # of a file in which nothing will follow
        self._told: dict[str, Any] = {}
        self._reading = self._missed = False

    def request(self, trainer: Trainer, seconds: float) -> None:
        """Does nothing: a recording needs no computation."""

    async def read(self) -> AsyncIterator[str | bytes]:
        """The messages, read beside the event loop; a sentence where the folder does not answer."""
        if self._reading:
            return  # a thread still hangs there
        if self._missed:  # what it has read since is lost
            self._missed, self._told = False, {}
        readers = _readers.setdefault((asyncio.get_running_loop(), self.name.startswith(EXAMPLE)), Readers())
        left = self.messages()

        def following() -> str | bytes | None:
            self._reading = True
            try:
                return next(left, None)
            finally:
                self._reading = False

        while True:
            try:
                async with asyncio.timeout(bounds.READ_SECONDS):
                    message = await readers.read(following)
            except TimeoutError:
                self._missed = True
                for sentence in self._say(self.file, self.sent, "The folder of the recordings does not answer."):
                    yield sentence
                return
            if message is None:
                return
            yield message

    def messages(self) -> Iterator[str | bytes]:
        """What the browser does not have yet; a new file of the same name from its beginning."""
        try:
            with opened(self.name) as (file, facts):
                name = f"{facts.st_dev:x}-{facts.st_ino:x}"
                if name != self.file or facts.st_size < self.sent:
                    self.file, self.sent, self._told = name, 0, {}
                yield from self._say(name, self.sent, "")
                end = min(facts.st_size, self.most)
                self.whole = end == facts.st_size
                while self.sent < end and (piece := os.pread(file, min(PIECE_BYTES, end - self.sent), self.sent)):
                    yield PIECE_HEAD.pack(self.number, self.sent, len(piece), self.turn) + piece
                    self.sent += len(piece)
        except OSError:
            yield from self._say(self.file, self.sent, f"There is no recording {self.name} here.")

    def _say(self, file: str, start: int, sentence: str) -> Iterator[str]:
        """Says which file follows and from which byte on, or in a sentence that there is none."""
        told = {"file": file, "sentence": sentence}
        if told != self._told:
            self._told = told
            yield json.dumps({"kind": "file", "start": start, "run": self.number, "turn": self.turn} | told | self._now)
