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

from models.log import event, told
from models.service import wire
from models.service.runs import FOLDER
from models.service.wire import Message
from models.spec.limits import LIMITS

ROOT = Path(__file__).resolve().parents[2]
# glibc otherwise returns what a row frees to the system, and each step waits for hundreds of new pages.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(64 * 2**20), "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20)}  # bytes
THREADS = {"OMP_NUM_THREADS": str(LIMITS.cores), "MKL_NUM_THREADS": str(LIMITS.cores)}
ENVIRONMENT = ALLOCATOR | THREADS | {"PYTHONUNBUFFERED": "1"}
PATIENCE = 3.0


class WorkerProcess:
    """A running worker. Its own thread writes, so that posting never waits for it. OSError if it cannot start.

    `runs`: the folder in which it logs its runs.
    A worker that was ready and then stays silent for `silence` seconds, although it is pinged, hangs and is killed.
    """

    def __init__(self, command: Sequence[str], runs: Path, silence: float = LIMITS.silence) -> None:
        self.silence = silence
        self._heard = float("inf")
        self._hung = False
        self._outbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | ENVIRONMENT | {FOLDER: str(runs)},
        )
        threading.Thread(target=self._write, name="trainer outbox", daemon=True).start()
        threading.Thread(target=self._watch, name="trainer watchdog", daemon=True).start()

    def post(self, message: Message | None) -> None:
        """Queues a message for the worker; None ends its input."""
        self._outbox.put(message)

    def messages(self) -> Iterator[Message]:
        """The worker's messages until it ends. A worker that sends nonsense is killed."""
        stdout = self._process.stdout
        assert stdout is not None
        try:
            while (message := wire.receive(stdout)) is not None:  # type: ignore[arg-type]
                self._heard = time.monotonic()
                if message["kind"] != "pong":
                    yield message
        except (EOFError, ValueError, KeyError):
            self._process.kill()

    def close(self) -> None:
        """Ends the worker by closing its input, or kills it if it does not react."""
        self._outbox.put(None)
        try:
            self._process.wait(PATIENCE)
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

    def _watch(self) -> None:
        """Pings a silent worker, and kills one that does not answer: a hanging step would keep everybody waiting."""
        while self._process.poll() is None:
            silent = time.monotonic() - self._heard
            if silent > self.silence:
                self._hung = True
                self._process.kill()
            elif silent > self.silence / 3:
                self.post({"kind": "ping"})
            time.sleep(self.silence / 20)

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(OSError):  # a broken pipe: the reading side reports the death
            while (message := self._outbox.get()) is not None:
                try:
                    wire.send(stdin, message)  # type: ignore[arg-type]
                except ValueError as error:  # nothing of it was written: the others go on
                    event("message_not_sent", logging.ERROR, **told(error))
        with suppress(OSError):
            stdin.close()
