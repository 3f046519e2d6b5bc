"""Maps on disk: a folder per specification, with one line per finished unit.

Each line is synced to disk, so that a crash loses only the units in progress; an incomplete last line is dropped. A
lock keeps two processes from writing the same map.
"""

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from models.maps.cells import Outcome, units
from models.maps.spec import MapSpec

FOLDER_VARIABLE = "MAPS_FOLDER"  # environment variable: folder of stored maps


def maps_folder() -> Path:
    """Folder of stored maps: $MAPS_FOLDER, or one in the user's cache."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder)
    cache = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "add-norm-playground" / "maps"


class MapStore:
    """One map on disk. Reading needs no lock; `writing` takes it."""

    def __init__(self, spec: MapSpec, folder: Path | None = None) -> None:
        self.spec = spec
        self.path = (folder or maps_folder()) / spec.digest
        self._lines = self.path / "units.jsonl"

    def done(self) -> dict[int, dict[str, Any]]:
        """Results by unit: {"unit", "seconds", "runs"}. Unreadable lines are ignored."""
        try:
            text = self._lines.read_bytes()
        except OSError:
            return {}
        count = len(units(self.spec))
        results: dict[int, dict[str, Any]] = {}
        for line in text.split(b"\n"):
            unit = _read(line)
            if unit is not None and 0 <= unit["unit"] < count:
                results.setdefault(unit["unit"], unit)
        return results

    def outcomes(self) -> list[Outcome]:
        """Outcomes of all finished runs."""
        return [Outcome.from_dict(run) for unit in self.done().values() for run in unit["runs"]]

    def missing(self) -> list[int]:
        """Indices of unfinished units, in order."""
        done = self.done()
        return [index for index in range(len(units(self.spec))) if index not in done]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the lock of the map's folder. ValueError if another process holds it, OSError if it cannot be made."""
        from filelock import FileLock, Timeout

        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(f"Another process is computing this map ({self.spec.digest}).") from None
        try:
            (self.path / "spec.json").write_text(self.spec.to_json(), encoding="utf-8")
            self._drop_torn_line()
            yield
        finally:
            lock.release()

    def add(self, record: dict[str, Any]) -> None:
        """Appends the result of a unit. OSError, such as for a full disk, leaves earlier results intact."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with self._lines.open("ab", buffering=0) as file:  # a buffer would retry a write that failed on a full disk
            end = file.seek(0, os.SEEK_END)
            try:
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise

    def delete_results(self) -> None:
        """Deletes all results."""
        self._lines.unlink(missing_ok=True)

    def _drop_torn_line(self) -> None:
        """Truncates a last line that a crash left incomplete."""
        try:
            text = self._lines.read_bytes()
        except FileNotFoundError:
            return
        if not text.endswith(b"\n"):
            with self._lines.open("r+b") as file:
                file.truncate(text.rfind(b"\n") + 1)


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
        for run in record["runs"]:
            Outcome.from_dict(run)
        return record if isinstance(record["unit"], int) and isinstance(record["seconds"], float) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
