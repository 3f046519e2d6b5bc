"""The folder of run logs: a temporary one that ends with the server, or the one that its operator names."""

import atexit
import logging
import os
import re
import shutil
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout

from models.log import error_facts, event

FOLDER_VARIABLE = "PLAYGROUND_RUNS"  # environment variable with the folder's path; always set for a worker process
PREFIX = "addnorm-runs-"
LOG_FOLDER = re.compile(r"[0-9a-f]{32}([.].+)?")  # of a log, also one that was put aside
OWN_MARKER = ".own"  # file in a folder that the server made and may delete

_locks: dict[Path, FileLock] = {}


def open_folder(max_bytes: int) -> Path:
    """The folder for a trainer's logs, cleared of the least recently used ones beyond about `max_bytes` bytes.

    It is temporary if no folder is named or another server uses the named one. ValueError if the name is a number.
    """
    name = os.environ.get(FOLDER_VARIABLE, "").strip()
    if not name:
        return _temporary()
    if name.isdecimal():
        raise ValueError(
            f"{FOLDER_VARIABLE} is {name}; legal is a folder: how many runs train in turns is PLAYGROUND_PLACES"
        )
    folder = Path(name).expanduser().resolve()
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        event("runs_folder_in_use")
        return _temporary()
    except (OSError, NotImplementedError) as error:  # it may be read nevertheless
        event("runs_folder_unwritable", logging.WARNING, **error_facts(error))
        return folder if folder.is_dir() else _temporary()
    _locks[folder] = lock
    _delete_oldest(folder, max_bytes)
    return folder


def _temporary() -> Path:
    """A new temporary folder; if none can be made, a path that cannot exist, so that logs stay in memory."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        (folder / OWN_MARKER).touch()
    except OSError:
        return Path(os.devnull) / PREFIX
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def close_folder(folder: Path) -> None:
    """Deletes a temporary folder; unlocks a named one."""
    if is_temporary(folder):
        shutil.rmtree(folder, ignore_errors=True)
        return
    lock = _locks.pop(folder, None)
    if lock is not None:
        lock.release()


def is_temporary(folder: Path) -> bool:
    """Whether a server made this folder, so that it may delete it."""
    return (folder / OWN_MARKER).exists()


def _delete_oldest(folder: Path, max_bytes: int) -> None:
    """Deletes the least recently written logs beyond `max_bytes` in all."""
    logs = [log for log in folder.iterdir() if LOG_FOLDER.fullmatch(log.name) and log.is_dir()]
    files = {log: [path.lstat() for path in log.rglob("*")] for log in logs}
    newest_first = sorted(files, key=lambda log: -max((file.st_mtime for file in files[log]), default=0.0))
    total_bytes = 0
    for log in newest_first:
        total_bytes += sum(file.st_size for file in files[log])
        if total_bytes > max_bytes:
            shutil.rmtree(log, ignore_errors=True)
