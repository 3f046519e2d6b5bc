"""Maps for pages: one process of `python -m models map` at a time, ended when nobody wants its map any more.

A page does not know how a map is computed: it repeats that it wants one, and reads the store.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.log import event
from models.maps.cells import units
from models.maps.spec import MapSpec
from models.maps.store import MapStore, maps_folder
from models.maps.work import own_jobs
from models.spec.limits import LIMITS

WISH_SECONDS = 90.0  # more than the minute between two requests of a hidden tab
LOOK_SECONDS = 0.2
WANTED = "wanted.json"  # the specification of a map that was started from a page
ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "models", "map")


def closed() -> str:
    """Why this server computes no maps, in a sentence; empty if it does."""
    return "" if LIMITS.map_processes else "This server computes no maps; the command below does, on any machine."


@dataclass(frozen=True)
class Standing:
    """The state of a map: waiting (behind `ahead` others), running, ended, or failed with a sentence."""

    state: str
    ahead: int = 0
    sentence: str = ""


@dataclass
class _Wanted:
    spec: MapSpec
    wishes: dict[str, float] = field(default_factory=dict)  # until when, by viewer
    process: "subprocess.Popen[bytes] | None" = None


class MapWorks:
    """Computes the maps that viewers want, first come first served. `command` computes one specification file."""

    def __init__(
        self, folder: Path | None = None, command: Sequence[str] = COMMAND, seconds: float = WISH_SECONDS
    ) -> None:
        self.folder, self.command, self.seconds = folder, command, seconds
        self._lock = threading.Condition()
        self._wanted: OrderedDict[str, _Wanted] = OrderedDict()
        self._failed: dict[str, str] = {}
        self._thread: threading.Thread | None = None

    def want(self, spec: MapSpec, viewer: str) -> None:
        """Notes that a viewer wants this map and no other; must be repeated within `seconds`."""
        with self._lock:
            self._failed.pop(spec.digest, None)
            for digest, other in self._wanted.items():
                if digest != spec.digest:
                    other.wishes.pop(viewer, None)
            wanted = self._wanted.setdefault(spec.digest, _Wanted(spec))
            wanted.wishes[viewer] = time.monotonic() + self.seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="maps", daemon=True)
                self._thread.start()
            self._lock.notify_all()

    def leave(self, spec: MapSpec, viewer: str) -> None:
        """Notes that a viewer no longer wants this map; what is done is kept."""
        with self._lock:
            if (wanted := self._wanted.get(spec.digest)) is not None:
                wanted.wishes.pop(viewer, None)
                self._lock.notify_all()

    def standing(self, spec: MapSpec) -> Standing:
        """The current state of a map."""
        with self._lock:
            if sentence := self._failed.get(spec.digest):
                return Standing("failed", sentence=sentence)
            wanted = self._wanted.get(spec.digest)
            if wanted is None:
                return Standing("ended")
            if wanted.process is not None:
                return Standing("running")
            return Standing("waiting", ahead=list(self._wanted).index(spec.digest))

    def ended(self, spec: MapSpec, seconds: float) -> bool:
        """Waits up to `seconds` for the work on a map to end; returns whether it has."""
        with self._lock:
            return self._lock.wait_for(lambda: spec.digest not in self._wanted, seconds)

    def close(self) -> None:
        """Ends all work."""
        with self._lock:
            for wanted in self._wanted.values():
                wanted.wishes.clear()
            thread = self._thread
            self._lock.notify_all()
        if thread is not None:
            thread.join(timeout=5)

    def _run(self) -> None:
        """The thread: starts the first wanted map, stops maps nobody wants, and ends when there are none."""
        while True:
            with self._lock:
                now = time.monotonic()
                for digest, wanted in list(self._wanted.items()):
                    wanted.wishes = {viewer: until for viewer, until in wanted.wishes.items() if until > now}
                    if self._over(digest, wanted):
                        del self._wanted[digest]
                        self._lock.notify_all()
                first = next(iter(self._wanted.values()), None)
                if first is None:
                    self._thread = None
                    return
                if first.process is None:
                    first.process = self._started(first.spec)
                    if first.process is None:
                        del self._wanted[first.spec.digest]
                self._lock.wait(LOOK_SECONDS)

    def _over(self, digest: str, wanted: _Wanted) -> bool:
        """Whether a map is over: finished, failed, or wanted by nobody, in which case its process is stopped."""
        process = wanted.process
        if process is not None and process.poll() is not None:
            event("map_over", map=digest, code=process.returncode)
            if process.returncode:
                self._failed[digest] = self._said(wanted.spec) or f"The map ended with exit code {process.returncode}."
            return True
        if wanted.wishes:
            return False
        if process is not None:
            event("map_left", map=digest)
            process.terminate()
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                process.kill()
        return True

    def _started(self, spec: MapSpec) -> "subprocess.Popen[bytes] | None":
        folder = self.folder or maps_folder()
        store = MapStore(spec, folder)
        try:
            store.path.mkdir(parents=True, exist_ok=True)
            file = store.path / WANTED
            file.write_text(spec.to_json(), encoding="utf-8")
            prune(folder, LIMITS.maps, keep=set(self._wanted))
            command = [*self.command, str(file), "--folder", str(folder), "--attached", "--jobs", str(own_jobs())]
            event("map_begun", map=spec.digest, runs=sum(map(len, units(spec))))
            with (store.path / "log.txt").open("wb") as log:
                return subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=os.environ | {"OMP_NUM_THREADS": "1"},
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                )
        except OSError as error:
            self._failed[spec.digest] = f"The map cannot be kept in {folder.name}: {error.strerror or error}."
            return None

    def _said(self, spec: MapSpec) -> str:
        """The last line that the process wrote, without its own name."""
        try:
            lines = (
                (MapStore(spec, self.folder).path / "log.txt")
                .read_text(encoding="utf-8", errors="replace")
                .splitlines()
            )
        except OSError:
            return ""
        return lines[-1].removeprefix("python -m models: ")[:300] if lines else ""


def prune(folder: Path, most: int, keep: Collection[str] = ()) -> None:
    """Deletes the least recently computed maps beyond `most`, of those that pages asked for."""
    asked = [file.parent for file in folder.glob(f"*/{WANTED}")]
    spare = sorted((path for path in asked if path.name not in keep), key=_touched)
    for path in spare[: max(0, len(asked) - most)]:
        shutil.rmtree(path, ignore_errors=True)


def _touched(path: Path) -> float:
    return max((file.stat().st_mtime for file in path.iterdir()), default=0.0)


# When this module is reloaded (an editor saves it), it must find the existing works, so they are kept on `sys`.
_slot: dict[str, Any] = sys.__dict__.setdefault("_add_norm_maps", {"lock": threading.Lock(), "works": None})


def works() -> MapWorks:
    """The MapWorks of this process."""
    with _slot["lock"]:
        if _slot["works"] is None:
            _slot["works"] = MapWorks()
        kept: MapWorks = _slot["works"]
        return kept
