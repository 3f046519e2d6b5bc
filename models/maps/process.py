"""Maps for pages: one process of `python -m models map` at a time, stopped when no viewer requests its map any more.

A page begins a map, renews its request, and reads the store. Maps that are requested at the same time take turns.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.log import event
from models.maps.cells import UNIT_SECONDS, refusal_reason
from models.maps.spec import MapSpec
from models.maps.store import MapStore, maps_folder
from models.maps.work import default_jobs
from models.spec.budget import this_machine
from models.spec.limits import LIMITS

REQUEST_SECONDS = 90.0  # validity of a request; a hidden tab renews it every minute
POLL_SECONDS = 0.2
TURN_SECONDS = 15.0  # length of a turn while other maps wait; starting the processes takes seconds
TURN_END_SECONDS = 2 * UNIT_SECONDS  # after a turn, until the units in progress are stopped; doubles each time
HEAD_START_TURNS = 4  # turns for which a new map counts as having waited already
END_SECONDS = 3.0  # between SIGTERM and SIGKILL
MAX_NOTES = 500  # of failures, and of viewers who began a map
SPEC_FILE = "wanted.json"  # in the folder of each map that a page has started
ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "models", "map")


def disabled_reason() -> str:
    """Why this server computes no maps, in a sentence; empty if it does."""
    return "" if LIMITS.map_processes else "This server computes no maps; the command below does, on any machine."


@dataclass(frozen=True)
class MapState:
    """State of a map: waiting (behind `ahead` others), running, ended, or failed with a sentence."""

    state: str
    ahead: int = 0
    sentence: str = ""


@dataclass
class _Turn:
    """A running process of a map. Times are monotonic seconds."""

    process: "subprocess.Popen[bytes]"
    started_at: float
    stop_requested_at: float | None = None  # it then finishes the units in progress
    terminated_at: float | None = None  # time of SIGTERM


@dataclass
class _Request:
    """A requested map. Times are monotonic seconds."""

    spec: MapSpec
    owner: str  # address or viewer whose turns the map uses
    waiting_since: float
    viewers: dict[str, float] = field(default_factory=dict)  # expiry of each viewer's request
    turn: _Turn | None = None
    grace_seconds: float = field(default_factory=lambda: TURN_END_SECONDS)  # for the units in progress after a turn


class MapWorks:
    """Computes requested maps in turns. Thread-safe.

    The next turn goes to the owner with the fewest turns so far, and to the one of the owner's maps that has waited
    longest, new maps first. `command` computes a specification file; a byte on its stdin makes it finish the units in
    progress and exit.
    """

    def __init__(
        self,
        folder: Path | None = None,
        command: Sequence[str] = COMMAND,
        seconds: float = REQUEST_SECONDS,
        turn: float = TURN_SECONDS,
    ) -> None:
        self.folder = folder
        self.command = command
        self.request_seconds = seconds
        self.turn_seconds = turn
        self._lock = threading.Condition()
        self._requests: dict[str, _Request] = {}
        self._turns: dict[str, tuple[int, bool]] = {}  # by owner: turns counted, and whether the owner has had any
        self._failed: OrderedDict[str, str] = OrderedDict()  # sentence by map
        self._beginners: OrderedDict[str, str] = OrderedDict()  # viewer by map
        self._thread: threading.Thread | None = None

    def begin(self, spec: MapSpec, viewer: str, address: str = "") -> None:
        """Requests a map for a viewer, withdraws the viewer's other requests, and forgets an earlier failure."""
        with self._lock:
            self._failed.pop(spec.digest, None)
            if spec.digest not in self._requests and not self._store(spec).done():
                _remember(self._beginners, spec.digest, viewer)
            elif self._beginners.get(spec.digest) != viewer:
                self._beginners.pop(spec.digest, None)
            self._request(spec, viewer, address)

    def renew(self, spec: MapSpec, viewer: str, address: str = "") -> None:
        """Renews a viewer's request, which expires after `seconds`; a failed map stays failed."""
        with self._lock:
            if spec.digest not in self._failed:
                self._request(spec, viewer, address)

    def leave(self, spec: MapSpec, viewer: str) -> None:
        """Withdraws a viewer's request; results stay in the store."""
        with self._lock:
            request = self._requests.get(spec.digest)
            if request is not None:
                request.viewers.pop(viewer, None)
                self._lock.notify_all()

    def state_of(self, spec: MapSpec) -> MapState:
        with self._lock:
            sentence = self._failed.get(spec.digest)
            if sentence:
                return MapState("failed", sentence=sentence)
            request = self._requests.get(spec.digest)
            if request is None or not request.viewers:
                return MapState("ended")
            if request.turn is not None:
                return MapState("running")
            priority = self._priority(request)
            ahead = [other for other in self._requests.values() if other.turn or self._priority(other) < priority]
            return MapState("waiting", ahead=len(ahead))

    def may_delete(self, spec: MapSpec, viewer: str) -> bool:
        """Whether the viewer began the map when it was empty, and nobody else has continued it."""
        with self._lock:
            return bool(viewer) and self._beginners.get(spec.digest) == viewer

    def delete(self, spec: MapSpec, viewer: str, seconds: float) -> bool:
        """Deletes a map's results, if the viewer may and its process ends within `seconds`; returns whether it did."""
        self.leave(spec, viewer)
        with self._lock:
            has_ended = self._lock.wait_for(lambda: spec.digest not in self._requests, seconds)
            if not has_ended or not self.may_delete(spec, viewer):
                return False
            self._store(spec).delete_results()
            return True

    def close(self) -> None:
        """Withdraws all requests and waits for the thread to stop the running process."""
        with self._lock:
            for request in self._requests.values():
                request.viewers.clear()
            thread = self._thread
            self._lock.notify_all()
        if thread is not None:
            thread.join(timeout=5)

    def _store(self, spec: MapSpec) -> MapStore:
        return MapStore(spec, self.folder)

    def _request(self, spec: MapSpec, viewer: str, address: str) -> None:
        """Enters or renews a viewer's request, unless the map is refused, and starts the thread."""
        now = time.monotonic()
        for digest, other in self._requests.items():
            if digest != spec.digest:
                other.viewers.pop(viewer, None)
        if spec.digest not in self._requests:
            if refusal_reason(spec, this_machine()):
                return
            owner = address or viewer
            fewest, _ = min(self._turns.values(), default=(0, True))
            self._turns.setdefault(owner, (fewest, False))  # a new owner is next, then ranks like the others
            # The head start of new maps is bounded, so that older ones are not overtaken forever.
            self._requests[spec.digest] = _Request(
                spec, owner, waiting_since=now - HEAD_START_TURNS * self.turn_seconds
            )
        self._requests[spec.digest].viewers[viewer] = now + self.request_seconds
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="maps", daemon=True)
            self._thread.start()
        self._lock.notify_all()

    def _priority(self, request: _Request) -> tuple[tuple[int, bool], float]:
        """Sort key of waiting maps."""
        return self._turns[request.owner], request.waiting_since

    def _run(self) -> None:
        """Thread: starts and stops processes until no requests are left."""
        while True:
            with self._lock:
                now = time.monotonic()
                for digest, request in list(self._requests.items()):
                    request.viewers = {viewer: until for viewer, until in request.viewers.items() if until > now}
                    if self._update_turn(request, now):
                        del self._requests[digest]
                        self._lock.notify_all()
                owners = {request.owner for request in self._requests.values()}
                self._turns = {owner: count for owner, count in self._turns.items() if owner in owners}
                if not self._requests:
                    self._thread = None
                    return
                if not any(request.turn for request in self._requests.values()):
                    self._start(min(self._requests.values(), key=self._priority), now)
                self._lock.wait(POLL_SECONDS)

    def _update_turn(self, request: _Request, now: float) -> bool:
        """Ends the turn of a process that has exited, or stops one that is due.

        Returns whether the map is finished, failed or no longer requested.
        """
        turn, spec = request.turn, request.spec
        if turn is None:
            return not request.viewers
        code = turn.process.poll()
        if code is None:
            self._stop_if_due(request, turn, now)
            return False
        request.turn = None
        request.waiting_since = now
        assert turn.process.stdin is not None
        with suppress(OSError):
            turn.process.stdin.close()
        is_complete = not self._store(spec).missing()
        ended_early = turn.stop_requested_at is not None and code == 0 and not is_complete
        if turn.terminated_at is not None or ended_early:
            return is_complete or not request.viewers
        event("map_over", map=spec.digest, code=code)
        if code:
            sentence = self._last_log_line(spec) or f"The map ended with exit code {code}."
            _remember(self._failed, spec.digest, sentence)
        elif not is_complete:
            _remember(self._failed, spec.digest, "The map ended before all of its runs were done.")
        return True

    def _stop_if_due(self, request: _Request, turn: _Turn, now: float) -> None:
        """Stops a process without viewers or whose turn is over: first by a request, then SIGTERM, then SIGKILL."""
        others_wait = any(other.viewers for other in self._requests.values() if other is not request)
        assert turn.process.stdin is not None
        if turn.terminated_at is not None:
            if now - turn.terminated_at > END_SECONDS:
                turn.process.kill()
        elif not request.viewers:
            event("map_left", map=request.spec.digest)
            turn.terminated_at = now
            turn.process.terminate()
        elif turn.stop_requested_at is not None:
            if now - turn.stop_requested_at > request.grace_seconds:
                request.grace_seconds *= 2  # so that a longer unit can finish in a later turn
                turn.terminated_at = now
                turn.process.terminate()
        elif others_wait and now - turn.started_at > self.turn_seconds:
            turn.stop_requested_at = now
            with suppress(OSError):
                turn.process.stdin.write(b"\n")
                turn.process.stdin.flush()

    def _start(self, request: _Request, now: float) -> None:
        """Starts the turn of a map; drops its request if the process cannot start."""
        process = self._start_process(request.spec)
        if process is None:
            del self._requests[request.spec.digest]
            self._lock.notify_all()
            return
        request.turn = _Turn(process, now)
        self._turns[request.owner] = self._turns[request.owner][0] + 1, True

    def _start_process(self, spec: MapSpec) -> "subprocess.Popen[bytes] | None":
        """The process of a map; None, with a remembered failure, if its folder cannot be written."""
        folder = self.folder or maps_folder()
        store = MapStore(spec, folder)
        try:
            store.path.mkdir(parents=True, exist_ok=True)
            file = store.path / SPEC_FILE
            file.write_text(spec.to_json(), encoding="utf-8")
            prune(folder, LIMITS.maps, keep=set(self._requests))
            # --force: the budget was checked here, with this machine's measured speed.
            options = ["--attached", "--force", "--jobs", str(default_jobs())]
            event("map_begun", map=spec.digest, runs=spec.runs)
            with (store.path / "log.txt").open("wb") as log:
                return subprocess.Popen(
                    [*self.command, str(file), "--folder", str(folder), *options],
                    cwd=ROOT,
                    env=os.environ | {"OMP_NUM_THREADS": "1"},
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                )
        except OSError as error:
            sentence = f"The map cannot be kept in {folder.name}: {error.strerror or error}."
            _remember(self._failed, spec.digest, sentence)
            return None

    def _last_log_line(self, spec: MapSpec) -> str:
        """Last line of the process's log, without the program's name."""
        try:
            lines = (self._store(spec).path / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return lines[-1].removeprefix("python -m models: ")[:300] if lines else ""


def prune(folder: Path, max_maps: int, keep: Collection[str] = ()) -> None:
    """Deletes the least recently computed maps beyond `max_maps`, among those that pages have started."""
    folders = [file.parent for file in folder.glob(f"*/{SPEC_FILE}")]
    deletable = sorted((path for path in folders if path.name not in keep), key=_last_modified)
    for path in deletable[: max(0, len(folders) - max_maps)]:
        shutil.rmtree(path, ignore_errors=True)


def _last_modified(path: Path) -> float:
    return max((file.stat().st_mtime for file in path.iterdir()), default=0.0)


def _remember(notes: OrderedDict[str, str], key: str, text: str) -> None:
    """Adds a note as the newest, and drops the oldest beyond MAX_NOTES."""
    notes[key] = text
    notes.move_to_end(key)
    while len(notes) > MAX_NOTES:
        notes.popitem(last=False)


# On `sys`, so that a reload of this module (when an editor saves it) finds the existing works.
_slot: dict[str, Any] = sys.__dict__.setdefault("_add_norm_maps", {"lock": threading.Lock(), "works": None})


def works() -> MapWorks:
    """The MapWorks of this process."""
    with _slot["lock"]:
        if _slot["works"] is None:
            _slot["works"] = MapWorks()
        existing: MapWorks = _slot["works"]
        return existing
