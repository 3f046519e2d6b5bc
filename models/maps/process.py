"""Maps for pages: one process of `python -m models map` at a time, ended when nobody wants its map any more.

A page does not know how a map is computed: it begins one, repeats that it wants it, and reads the store. Maps that are
wanted at the same time take turns.
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
from models.maps.cells import UNIT_SECONDS, refused
from models.maps.spec import MapSpec
from models.maps.store import MapStore, maps_folder
from models.maps.work import own_jobs
from models.spec.budget import this_machine
from models.spec.limits import LIMITS

REQUEST_SECONDS = 90.0  # more than the minute between two requests of a hidden tab
LOOK_SECONDS = 0.2
TURN_SECONDS = 15.0  # of a map while others wait; it takes seconds to start its processes
TURN_END_SECONDS = 2 * UNIT_SECONDS  # for the units in progress once a turn is over, at first
END_SECONDS = 3.0  # until a process that was asked to end is killed
MAX_NOTES = 500  # failures and beginners of maps that are remembered
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
class _Turn:
    """A map's process, since when it runs, and since when it is to hand over or to end."""

    process: "subprocess.Popen[bytes]"
    since: float
    over: float | None = None
    ending: float | None = None


@dataclass
class _Wanted:
    """A map, on whose behalf it takes turns, since when it waits, and how long its units in progress are waited for."""

    spec: MapSpec
    owner: str
    since: float
    wishes: dict[str, float] = field(default_factory=dict)  # until when, by viewer
    turn: _Turn | None = None
    patience: float = field(default_factory=lambda: TURN_END_SECONDS)


class MapWorks:
    """Computes the maps that viewers want. `command` computes one specification file; a byte on its stdin tells it to
    finish the units in progress and end.

    The next turn is that of the owner (a client's address, or else a viewer) who has had the fewest, and of that
    owner's maps the one that waits longest, new ones first.
    """

    def __init__(
        self,
        folder: Path | None = None,
        command: Sequence[str] = COMMAND,
        seconds: float = REQUEST_SECONDS,
        turn: float = TURN_SECONDS,
    ) -> None:
        self.folder, self.command, self.seconds, self.turn = folder, command, seconds, turn
        self._lock = threading.Condition()
        self._wanted: dict[str, _Wanted] = {}
        self._turns: dict[str, tuple[int, bool]] = {}  # by owner of a wanted map: how many, and whether any was its own
        self._failed: OrderedDict[str, str] = OrderedDict()
        self._beginners: OrderedDict[str, str] = OrderedDict()
        self._thread: threading.Thread | None = None

    def begin(self, spec: MapSpec, viewer: str, address: str = "") -> None:
        """A viewer presses the button: wants this map and no other, whatever has failed before."""
        with self._lock:
            self._failed.pop(spec.digest, None)
            if spec.digest not in self._wanted and not self._store(spec).done():
                _note(self._beginners, spec.digest, viewer)
            elif self._beginners.get(spec.digest) != viewer:
                self._beginners.pop(spec.digest, None)
            self._want(spec, viewer, address)

    def want(self, spec: MapSpec, viewer: str, address: str = "") -> None:
        """Notes that a viewer still wants this map; must be repeated within `seconds`. What has failed stays so."""
        with self._lock:
            if spec.digest not in self._failed:
                self._want(spec, viewer, address)

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
            if wanted is None or not wanted.wishes:
                return Standing("ended")
            if wanted.turn is not None:
                return Standing("running")
            mine = self._place(wanted)
            before = [other for other in self._wanted.values() if other.turn or self._place(other) < mine]
            return Standing("waiting", ahead=len(before))

    def deletes(self, spec: MapSpec, viewer: str) -> bool:
        """Whether a viewer may delete a map: began it when it was empty, and nobody else has gone on with it."""
        with self._lock:
            return bool(viewer) and self._beginners.get(spec.digest) == viewer

    def delete(self, spec: MapSpec, viewer: str, seconds: float) -> bool:
        """Deletes the results of a map if the viewer may, after up to `seconds` for its process; returns whether."""
        self.leave(spec, viewer)
        with self._lock:
            over = self._lock.wait_for(lambda: spec.digest not in self._wanted, seconds)
            if not over or not self.deletes(spec, viewer):
                return False
            self._store(spec).forget()
            return True

    def close(self) -> None:
        """Ends all work."""
        with self._lock:
            for wanted in self._wanted.values():
                wanted.wishes.clear()
            thread = self._thread
            self._lock.notify_all()
        if thread is not None:
            thread.join(timeout=5)

    def _store(self, spec: MapSpec) -> MapStore:
        return MapStore(spec, self.folder)

    def _want(self, spec: MapSpec, viewer: str, address: str) -> None:
        now = time.monotonic()
        for digest, other in self._wanted.items():
            if digest != spec.digest:
                other.wishes.pop(viewer, None)
        if spec.digest not in self._wanted:
            if refused(spec, this_machine()):
                return
            owner = address or viewer
            fewest, _ = min(self._turns.values(), default=(0, True))
            self._turns.setdefault(owner, (fewest, False))  # from now on as many as any, and the next one
            # Whoever waits longer than the head start of the new ones goes before them.
            self._wanted[spec.digest] = _Wanted(spec, owner, now - 4 * self.turn)
        self._wanted[spec.digest].wishes[viewer] = now + self.seconds
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="maps", daemon=True)
            self._thread.start()
        self._lock.notify_all()

    def _place(self, wanted: _Wanted) -> tuple[tuple[int, bool], float]:
        """By which maps that wait are sorted."""
        return self._turns[wanted.owner], wanted.since

    def _run(self) -> None:
        """The thread: gives turns to the wanted maps, stops maps nobody wants, and ends when there are none."""
        while True:
            with self._lock:
                now = time.monotonic()
                for digest, wanted in list(self._wanted.items()):
                    wanted.wishes = {viewer: until for viewer, until in wanted.wishes.items() if until > now}
                    if self._over(wanted, now):
                        del self._wanted[digest]
                        self._lock.notify_all()
                owners = {wanted.owner for wanted in self._wanted.values()}
                self._turns = {owner: count for owner, count in self._turns.items() if owner in owners}
                if not self._wanted:
                    self._thread = None
                    return
                if not any(wanted.turn for wanted in self._wanted.values()):
                    self._start(min(self._wanted.values(), key=self._place), now)
                self._lock.wait(LOOK_SECONDS)

    def _over(self, wanted: _Wanted, now: float) -> bool:
        """Whether a map is over: finished, failed, or wanted by nobody. A turn that is over ends."""
        turn, spec = wanted.turn, wanted.spec
        if turn is None:
            return not wanted.wishes
        code = turn.process.poll()
        if code is None:
            self._hurry(wanted, turn, now)
            return False
        wanted.turn, wanted.since = None, now
        assert turn.process.stdin is not None
        with suppress(OSError):
            turn.process.stdin.close()
        whole = not self._store(spec).missing()
        if turn.ending is not None or (turn.over is not None and not code and not whole):
            return whole or not wanted.wishes
        event("map_over", map=spec.digest, code=code)
        if code:
            sentence = self._said(spec) or f"The map ended with exit code {code}."
            _note(self._failed, spec.digest, sentence)
        elif not whole:
            _note(self._failed, spec.digest, "The map ended before all of its runs were done.")
        return True

    def _hurry(self, wanted: _Wanted, turn: _Turn, now: float) -> None:
        """Ends a process that nobody wants or whose turn is over, at first by asking."""
        others = any(other.wishes for other in self._wanted.values() if other is not wanted)
        assert turn.process.stdin is not None
        if turn.ending is not None:
            if now - turn.ending > END_SECONDS:
                turn.process.kill()
        elif not wanted.wishes:
            event("map_left", map=wanted.spec.digest)
            turn.ending = now
            turn.process.terminate()
        elif turn.over is not None:
            if now - turn.over > wanted.patience:
                wanted.patience *= 2  # so that a longer unit, too, is finished some time
                turn.ending = now
                turn.process.terminate()
        elif others and now - turn.since > self.turn:
            turn.over = now
            with suppress(OSError):
                turn.process.stdin.write(b"\n")
                turn.process.stdin.flush()

    def _start(self, wanted: _Wanted, now: float) -> None:
        process = self._started(wanted.spec)
        if process is None:
            del self._wanted[wanted.spec.digest]
            self._lock.notify_all()
            return
        wanted.turn = _Turn(process, now)
        self._turns[wanted.owner] = self._turns[wanted.owner][0] + 1, True

    def _started(self, spec: MapSpec) -> "subprocess.Popen[bytes] | None":
        folder = self.folder or maps_folder()
        store = MapStore(spec, folder)
        try:
            store.path.mkdir(parents=True, exist_ok=True)
            file = store.path / WANTED
            file.write_text(spec.to_json(), encoding="utf-8")
            prune(folder, LIMITS.maps, keep=set(self._wanted))
            # Whether it is too much was asked here: that process does not know how fast this machine is.
            options = ["--attached", "--force", "--jobs", str(own_jobs())]
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
            _note(self._failed, spec.digest, sentence)
            return None

    def _said(self, spec: MapSpec) -> str:
        """The last line that the process wrote, without its own name."""
        try:
            lines = (self._store(spec).path / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines()
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


def _note(notes: OrderedDict[str, str], key: str, text: str) -> None:
    """Notes something last, and forgets the first notes beyond MAX_NOTES."""
    notes[key] = text
    notes.move_to_end(key)
    while len(notes) > MAX_NOTES:
        notes.popitem(last=False)


# When this module is reloaded (an editor saves it), it must find the existing works, so they are kept on `sys`.
_slot: dict[str, Any] = sys.__dict__.setdefault("_add_norm_maps", {"lock": threading.Lock(), "works": None})


def works() -> MapWorks:
    """The MapWorks of this process."""
    with _slot["lock"]:
        if _slot["works"] is None:
            _slot["works"] = MapWorks()
        existing: MapWorks = _slot["works"]
        return existing
