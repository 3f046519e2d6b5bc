"""One life of the worker process and the two pipes to it."""

import logging
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from models.log import error_facts, event
from models.service import wire
from models.service.runs import FOLDER_VARIABLE
from models.service.wire import Message
from models.spec.limits import LIMITS

ROOT = Path(__file__).resolve().parents[2]
# By default glibc returns the memory that a row frees to the system, and each step waits for hundreds of new pages.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(64 * 2**20), "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20)}  # bytes
THREADS = {"OMP_NUM_THREADS": str(LIMITS.cores), "MKL_NUM_THREADS": str(LIMITS.cores)}
ENVIRONMENT = ALLOCATOR | THREADS | {"PYTHONUNBUFFERED": "1"}
CLOSE_SECONDS = 3.0  # before a worker that does not end is killed


class WorkerProcess:
    """A running worker. A thread of its own writes, so that posting never blocks. OSError if it cannot start.

    `runs`: the folder of its run logs. A worker that has been ready and then answers no ping for `silence` seconds is
    hung, and is killed.
    """

    def __init__(self, command: Sequence[str], runs: Path, silence: float = LIMITS.silence) -> None:
        self.silence = silence
        self._last_message_at = float("inf")  # monotonic seconds
        self._hung = False
        self._outbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | ENVIRONMENT | {FOLDER_VARIABLE: str(runs)},
        )
        threading.Thread(target=self._write, name="trainer outbox", daemon=True).start()
        threading.Thread(target=self._kill_if_hung, name="trainer watchdog", daemon=True).start()

    def post(self, message: Message | None) -> None:
        """Queues a message for the worker; None ends its input."""
        self._outbox.put(message)

    def messages(self) -> Iterator[Message]:
        """The worker's messages until it ends. A worker that sends an invalid message is killed."""
        stdout = self._process.stdout
        assert stdout is not None
        try:
            while (message := wire.receive(stdout)) is not None:  # type: ignore[arg-type]
                self._last_message_at = time.monotonic()
                if message["kind"] != "pong":
                    yield message
        except (EOFError, ValueError, KeyError):
            self._process.kill()

    def close(self) -> None:
        """Ends the worker by closing its input, or kills it if it does not react."""
        self._outbox.put(None)
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def ending(self) -> str:
        """How the worker ended, in words; waits for it."""
        self.close()
        code = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._hung:
            return f"because it had said nothing for {self.silence:g} s"
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"

    def _kill_if_hung(self) -> None:
        """Pings a silent worker, and kills one that does not answer: a hanging step would keep everybody waiting."""
        while self._process.poll() is None:
            silent_seconds = time.monotonic() - self._last_message_at
            if silent_seconds > self.silence:
                self._hung = True
                self._process.kill()
            elif silent_seconds > self.silence / 3:
                self.post({"kind": "ping"})
            time.sleep(self.silence / 20)

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(OSError):  # a broken pipe: the reading side reports the death
            while (message := self._outbox.get()) is not None:
                try:
                    wire.send(stdin, message)  # type: ignore[arg-type]
                except ValueError as error:  # raised before anything was written, so later messages are intact
                    event("message_not_sent", logging.ERROR, **error_facts(error))
        with suppress(OSError):
            stdin.close()
