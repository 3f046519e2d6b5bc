"""The recordings of a folder, sent to the browser as bytes, which the browser parses.

Only plain files directly in the folder are sent, by name; no text of a visitor is used as a path. Threads read them
outside the event loop, because a folder may be on a remote machine that does not answer.
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
from components.player.browser_messages import ShownRecording
from models.service.client import Trainer
from models.spec import bounds

FOLDER_VARIABLE = "PLAYGROUND_RECORDINGS"  # environment variable with the folder's path
DEFAULT_FOLDER = "recordings"
SUFFIX = ".jsonl"
MAX_LISTED = 500  # recordings; older ones are not listed
EXAMPLES = Path(__file__).parents[2] / "examples" / "recordings"  # written by the scripts in `examples/`
EXAMPLE = "example: "  # prefix of their names
MESSAGE_BYTES = 2**18  # of a recording in one message

Result = TypeVar("Result")


def folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER)


def recordings() -> list[str]:
    """The names of the folder's recordings, newest first; empty if there is no such folder."""
    listed = []
    try:
        with os.scandir(folder()) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and entry.name.isprintable() and entry.is_file(follow_symlinks=False):
                    listed.append((-entry.stat(follow_symlinks=False).st_mtime, entry.name))
    except OSError:
        return []
    return [name for _, name in sorted(listed)[:MAX_LISTED]]


def examples() -> list[str]:
    return [EXAMPLE + path.name for path in sorted(EXAMPLES.glob(f"*{SUFFIX}"))]


@contextmanager
def open_recording(name: str) -> Iterator[tuple[int, os.stat_result]]:
    """Opens a recording of the folder, or an example; yields its descriptor and status.

    OSError unless it is a plain file directly in its folder.
    """
    parent, file_name = (EXAMPLES, name.removeprefix(EXAMPLE)) if name.startswith(EXAMPLE) else (folder(), name)
    if not file_name.endswith(SUFFIX) or Path(file_name).name != file_name or "\0" in file_name:
        raise FileNotFoundError(f"{name!r} is not a recording")
    descriptor = os.open(parent / file_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(f"{name!r} is not a recording")
        yield descriptor, status
    finally:
        os.close(descriptor)


class ReadingThreads:
    """At most MAX_READING_THREADS daemon threads that read for an event loop.

    Unlike those of an executor, a hanging one does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(bounds.MAX_READING_THREADS)

    async def call(self, function: Callable[[], Result]) -> Result:
        """The result of a function called in a thread. If the caller is cancelled, the thread continues."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def finish(result: Result | None, error: BaseException | None) -> None:
            self._free.release()
            if not future.done():
                future.set_exception(error) if error else future.set_result(result)  # type: ignore[arg-type]

        def run() -> None:
            outcome: tuple[Result | None, BaseException | None]
            try:
                outcome = function(), None
            except Exception as error:
                outcome = None, error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finish, *outcome)

        threading.Thread(target=run, name="reads a recording", daemon=True).start()
        return await future


# By loop and whether they read examples, which do not wait for a folder that does not answer.
_threads: dict[tuple[asyncio.AbstractEventLoop, bool], ReadingThreads] = {}


class RecordingFeed:
    """Sends a recording to a connection, which knows it by a number, as bytes appended to its file."""

    keys: tuple[str, ...] = ()  # the trainer has no news of a recording
    key = ""

    is_complete = True  # False if the file is larger than `max_bytes`

    def __init__(
        self,
        number: int,
        shown: ShownRecording,
        turn: int = 0,
        max_bytes: int = bounds.MAX_RECORDING_BYTES - 1,
        *,
        grows: bool = True,
    ) -> None:
        self.number, self.turn = number, turn
        self.name = shown.recording
        self.target_row = shown.target_row
        self.file, self.sent = shown.file, shown.sent_bytes
        self.max_bytes = max_bytes
        self._read_time = {} if grows else {"read": time.time()}  # for a file that will not grow
        self._sent_status: dict[str, Any] = {}
        self._is_reading = False
        self._timed_out = False

    def request(self, trainer: Trainer, seconds: float) -> None:
        """Does nothing: a recording needs no computation."""

    async def read(self) -> AsyncIterator[str | bytes]:
        """The messages, read outside the event loop, or an error sentence if the folder does not answer."""
        if self._is_reading:
            return  # a thread still hangs
        if self._timed_out:  # the message that its thread read later is lost
            self._timed_out, self._sent_status = False, {}
        threads = _threads.setdefault((asyncio.get_running_loop(), self.name.startswith(EXAMPLE)), ReadingThreads())
        messages = self.messages()

        def next_message() -> str | bytes | None:
            self._is_reading = True
            try:
                return next(messages, None)
            finally:
                self._is_reading = False

        while True:
            try:
                async with asyncio.timeout(bounds.READ_SECONDS):
                    message = await threads.call(next_message)
            except TimeoutError:
                self._timed_out = True
                for status in self._file_status(self.file, self.sent, "The folder of the recordings does not answer."):
                    yield status
                return
            if message is None:
                return
            yield message

    def messages(self) -> Iterator[str | bytes]:
        """The bytes that the browser lacks; a new file of the same name starts from its beginning."""
        try:
            with open_recording(self.name) as (descriptor, status):
                identity = f"{status.st_dev:x}-{status.st_ino:x}"
                if identity != self.file or status.st_size < self.sent:
                    self.file, self.sent, self._sent_status = identity, 0, {}
                yield from self._file_status(identity, self.sent, "")
                end = min(status.st_size, self.max_bytes)
                self.is_complete = end == status.st_size
                while self.sent < end:
                    piece = os.pread(descriptor, min(MESSAGE_BYTES, end - self.sent), self.sent)
                    if not piece:
                        break
                    yield PIECE_HEAD.pack(self.number, self.sent, len(piece), self.turn) + piece
                    self.sent += len(piece)
        except OSError:
            yield from self._file_status(self.file, self.sent, f"There is no recording {self.name} here.")

    def _file_status(self, file: str, start: int, error: str) -> Iterator[str]:
        """A message, if it is new, that names the file and the first byte that will be sent, or an error."""
        status = {"file": file, "sentence": error}
        if status != self._sent_status:
            self._sent_status = status
            message = {"kind": "file", "start": start, "run": self.number, "turn": self.turn}
            yield json.dumps(message | status | self._read_time)
