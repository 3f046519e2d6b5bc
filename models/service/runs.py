"""The folder of run logs: one of the server's own that goes with it, or the one that its operator names."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout

from models.log import event
from models.runlog import ROWS

FOLDER = "PLAYGROUND_RUNS"  # environment variable with the folder's path; a trainer's process is always told one
PREFIX = "addnorm-runs-"
OWN = ".own"  # the file that marks a folder which its server made, and may delete

_locks: dict[Path, FileLock] = {}


def open_folder(max_bytes: int) -> Path:
    """The folder that a trainer may write to, with no more than about `max_bytes` bytes in it.

    Logs used longest ago are deleted first. A folder that another server uses is left to it. ValueError for a number.
    """
    named = os.environ.get(FOLDER, "").strip()
    if not named:
        return _temporary()
    if named.isdecimal():
        raise ValueError(f"{FOLDER} is {named}; legal is a folder: how many runs train in turns is PLAYGROUND_PLACES")
    folder = Path(named).expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        event("runs_folder_in_use")
        return _temporary()
    _locks[folder] = lock
    _delete_oldest(folder, max_bytes)
    return folder


def _temporary() -> Path:
    """A folder of the server's own; where none can be made, a path that cannot be created, so logs stay in memory."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        (folder / OWN).touch()
    except OSError:
        return Path(os.devnull) / PREFIX
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def close_folder(folder: Path) -> None:
    """Deletes a folder of the server's own, and leaves a named one to others."""
    if is_temporary(folder):
        shutil.rmtree(folder, ignore_errors=True)
    elif lock := _locks.pop(folder, None):
        lock.release()


def is_temporary(folder: Path) -> bool:
    """Whether a server made this folder of runs, and nobody named it."""
    return (folder / OWN).exists()


def _delete_oldest(folder: Path, max_bytes: int) -> None:
    logs = sorted((path.parent for path in folder.glob(f"*/{ROWS}")), key=lambda log: -(log / ROWS).stat().st_mtime)
    total_bytes = 0
    for log in logs:
        total_bytes += sum(path.stat().st_size for path in log.iterdir())
        if total_bytes > max_bytes:
            shutil.rmtree(log, ignore_errors=True)
