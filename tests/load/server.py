"""The app as a person starts it, on a free port of this machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


@dataclass
class Server:
    """A running server: its address, its process, and the clock at which it was spawned (`time.perf_counter`)."""

    url: str
    process: "subprocess.Popen[bytes]"
    spawned: float

    def wait_for(self, text: bytes = b"", path: str = "/healthz") -> None:
        """Waits until a GET of a path answers with the text in it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                    if text in answer.read():
                        return
            except OSError:
                time.sleep(0.01)
        raise AssertionError(f"{path} never said {text!r}; the server ended with {self.process.poll()}")

    def health(self) -> dict[str, Any]:
        """What /healthz says, whatever its status."""
        try:
            with urllib.request.urlopen(self.url + "/healthz", timeout=30) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            return dict(json.load(error))

    def worker(self) -> int:
        """The process in which the logs are computed; 0 while there is none (Linux)."""
        commands = {pid: _command(pid) for pid in family(self.process.pid)}
        return next((pid for pid, command in commands.items() if b"models.service.worker" in command), 0)

    def kill_worker(self) -> bool:
        """Ends that process, where it runs; whether it did."""
        worker = self.worker()
        if worker:
            os.kill(worker, signal.SIGKILL)
        return bool(worker)

    def processor_seconds(self) -> float:
        """Seconds that the worker has computed in this life of it (Linux)."""
        return _spent(self.worker())

    def served_seconds(self) -> float:
        """Processor seconds of the server's own process (Linux)."""
        return _spent(self.process.pid)

    def memory(self) -> int:
        """Bytes resident in the server and its worker (Linux)."""
        return sum(_resident(pid) for pid in family(self.process.pid))


@contextmanager
def serving(
    script: str | Path = "app.py", *, before: Sequence[str] = (), log: Path | None = None, **environment: str
) -> Iterator[Server]:
    """A server of a script, ended with its worker at the end of the block. It is not waited for.

    `before`: a command that ends by becoming the one that it is given. `log`: a file that gets what it writes to
    stderr. `environment`: variables of the server's own.
    """
    port = free_port()
    command = [*before, sys.executable, "-m", "streamlit", "run", str(script)]
    flags = {
        "server.port": port,
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "server.fileWatcherType": "none",
    }
    with log.open("wb") if log else nullcontext() as stderr:
        process = subprocess.Popen(
            [*command, *(f"--{k}={v}" for k, v in flags.items())],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    try:
        yield Server(f"http://127.0.0.1:{port}", process, time.perf_counter())
    finally:
        end(process)


def end(process: subprocess.Popen[Any]) -> None:
    """Asks a process to end, and ends it if it does not."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def family(pid: int) -> list[int]:
    """A process and all below it (Linux)."""
    below: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has just ended
            below += [int(child) for child in task.read_text().split()]
    return [pid, *(one for child in below for one in family(child))]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _spent(pid: int) -> float:
    spent = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])
