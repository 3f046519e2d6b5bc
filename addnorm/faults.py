"""Faults of a loop that training survives: weights that are copies, cut off or never reached, clipping, no zero_grad.

Each is told from what the rows hold, since which step, and a healthy loop has none of them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from statistics import geometric_mean, median
from typing import TYPE_CHECKING

from addnorm.rules import RULES, Diagnostic
from addnorm.words import lost_at, number

if TYPE_CHECKING:
    from addnorm.recording import Recording

CLIPPED_ROWS = 20  # rows in a row on which clipping acts before it is said
ACTS = 1.01  # factor between the two norms from which clipping has acted
EXPLODED_ROWS, REMEMBERED_ROWS = 5, 200  # rows whose median is compared, and rows before them
MAX_NAMES = 3  # that a sentence says


class Faults:
    """Hears the rows of a recording in order; keeps what has been found up to each."""

    def __init__(self) -> None:
        self._rows = 0
        self._copies: Diagnostic | None = None
        self._batch: Diagnostic | None = None
        self._calls: Diagnostic | None = None
        self._cut_since: int | None = None
        self._never: set[int] = set()  # matrices that no gradient has reached
        self._began = 0
        self._thawed: dict[int, int] = {}  # by matrix that was frozen, the step since which it receives a gradient
        self._left: list[int] = []  # steps of the last rows with gradients of the step before
        self._fewest = self._most = 0
        self._clips: deque[tuple[int, float, float]] = deque(maxlen=CLIPPED_ROWS)  # step, norm before, norm after
        self._before: deque[float] = deque(maxlen=REMEMBERED_ROWS)
        self._latest: deque[tuple[int, float]] = deque(maxlen=EXPLODED_ROWS)
        self._said: dict[str, Diagnostic] = {}  # by id, as it was first made

    def hear(self, recording: Recording, at: int) -> list[Diagnostic]:
        """The faults up to a row."""
        found = [
            self._hear_copies(recording, at),
            self._hear_batch(recording, at),
            self._hear_left(recording, at),
            *self._hear_unreached(recording, at),
            *self._hear_clipping(recording, at),
            self._hear_thawed(recording, at),
            self._hear_calls(recording, at),
        ]
        self._rows += 1
        return [finding for finding in found if finding is not None]

    def _hear_copies(self, recording: Recording, at: int) -> Diagnostic | None:
        """Notes which matrices hold the numbers of another before the first update."""
        if not self._rows and (of := recording.fact("copy_of", at)):
            pairs = [(copy, first) for copy, first in enumerate(of) if copy != first]
            names = recording.matrices
            if pairs and max(map(max, pairs)) < len(names):
                copy, first = pairs[0]
                sentence = (
                    f"{len(pairs)} of {len(names)} weight matrices start as copies of another: {names[copy]} has the "
                    f"numbers of {names[first]}."
                )
                step = recording.steps[at]
                self._copies = Diagnostic.of("AN-I1", step, sentence, copies=len(pairs), matrices=len(names))
        return self._copies

    def _hear_batch(self, recording: Recording, at: int) -> Diagnostic | None:
        """Notes whether the first row that is not finite had such a batch."""
        (given,) = recording.at("input", at)
        if self._batch is None and given is not None and not math.isfinite(given) and lost_at(recording, at):
            step = recording.steps[at]
            sentence = f"The batch of step {step} already holds numbers that are not finite."
            self._batch = Diagnostic.of("AN-N2", step, sentence, input=given)
        return self._batch

    def _hear_left(self, recording: Recording, at: int) -> Diagnostic | None:
        """Notes whether gradients of the step before are still there when the next ones come."""
        (left,) = recording.at("gradient_left", at)
        if left is None or not left > 0:
            self._left = []
            return None
        self._left.append(recording.steps[at])
        if len(self._left) < RULES["AN-G3"].threshold:
            return None
        since = self._left[0]
        sentence = (
            f"Since step {since} the gradients of the step before are still there when the next ones are computed: "
            "without zero_grad an update is made of the sum of all of them."
        )
        return Diagnostic.of("AN-G3", since, sentence, gradient_left=left, rows=len(self._left))

    def _hear_unreached(self, recording: Recording, at: int) -> Iterable[Diagnostic]:
        """Notes which matrices no gradient reaches, because the graph is cut or for other reasons."""
        if at in recording.skipped or not recording.matrices:
            return
        step = recording.steps[at]
        absent, zero = (set(recording.fact(name, at)) for name in ("absent", "zero"))
        self._began = self._began if self._rows else step
        self._never = self._never & (absent | zero) if self._rows else absent | zero
        cut, label = max(
            ((before, label) for label, before in recording.cuts if before and absent.issuperset(before)),
            key=lambda one: len(one[0]),
            default=((), ""),
        )
        self._cut_since = (step if self._cut_since is None else self._cut_since) if cut else None
        if self._cut_since is not None:
            sentence = (
                f"The graph is cut by {label}: no gradient comes back past it, and {_listed(recording, cut)} "
                f"{'receives' if len(cut) == 1 else 'receive'} none."
            )
            yield Diagnostic.of(
                "AN-G2", self._cut_since, sentence, place=label, matrices=len(cut), of=len(recording.matrices)
            )
        never = self._never.difference(cut)
        if never and self._rows + 1 >= RULES["AN-W1"].threshold:
            sentence = f"{_from_step(self._began)} no gradient has reached {_listed(recording, never)}."
            yield Diagnostic.of(
                "AN-W1", self._began, sentence, matrices=len(never), of=len(recording.matrices), rows=self._rows + 1
            )

    def _hear_clipping(self, recording: Recording, at: int) -> Iterable[Diagnostic]:
        """Notes whether clipping acts on every update, and whether what it clips explodes."""
        (before,), (after,) = recording.at("grad_norm_unclipped", at), recording.at("grad_norm", at)
        if before is None or after is None or not 0 < after < math.inf or not 0 < before < math.inf:
            return
        step = recording.steps[at]
        self._clips.append((step, before, after))
        if len(self._latest) == EXPLODED_ROWS:
            self._before.append(self._latest[0][1])
        self._latest.append((step, before))
        factors = [one / other for _, one, other in self._clips]
        if len(factors) == CLIPPED_ROWS and min(factors) > ACTS and geometric_mean(factors) > RULES["AN-C1"].threshold:
            since, first, clipped = self._clips[0]
            sentence = (
                f"Clipping has acted on every update since step {since}: on that one it took the gradient from "
                f"{number(first)} to {number(clipped)}."
            )
            yield self._once("AN-C1", since, sentence, factor=geometric_mean(factors), before=first, after=clipped)
        else:
            self._said.pop("AN-C1", None)
        usual, now = median(self._before or [math.inf]), median(one for _, one in self._latest)
        if "AN-C2" in self._said or (len(self._before) >= CLIPPED_ROWS and now > RULES["AN-C2"].threshold * usual):
            since = self._latest[0][0]
            sentence = (
                f"Clipping hides a gradient that explodes: around step {since} it is {number(now)} before clipping, "
                f"{number(now / usual)} times what it was before."
            )
            yield self._once("AN-C2", since, sentence, gradient=now, usual=usual, after=after)

    def _once(self, rule: str, since: int, sentence: str, **numbers: float) -> Diagnostic:
        """A finding with the numbers of when it was first made."""
        return self._said.setdefault(rule, Diagnostic.of(rule, since, sentence, **numbers))

    def _hear_thawed(self, recording: Recording, at: int) -> Diagnostic | None:
        """Notes which matrices receive a gradient that were frozen when the recording began."""
        now = [one for one in recording.fact("thawed", at) if one < len(recording.frozen)]
        self._thawed = {one: self._thawed.get(one, recording.steps[at]) for one in now}
        if not now:
            return None
        since = min(self._thawed.values())
        names = _shortest(now, recording.frozen)
        sentence = (
            f"{_from_step(since)} {names}, frozen when the recording began, "
            f"{'receives' if len(now) == 1 else 'receive'} a gradient; the blocks leave "
            f"{'it' if len(now) == 1 else 'them'} out."
        )
        return Diagnostic.of("AN-W2", since, sentence, matrices=len(now), frozen=len(recording.frozen))

    def _hear_calls(self, recording: Recording, at: int) -> Diagnostic | None:
        """Notes which module is called another number of times than in the first pass."""
        usual, calls = recording.calls, recording.fact("calls", at)
        if not calls or not len(calls) == len(usual) == len(recording.sites):
            return self._calls
        site = max(range(len(calls)), key=lambda one: abs(calls[one] - usual[one]))
        fewest, most = sorted((calls[site], usual[site]))
        if most < 2:  # a block that is left out at random
            return self._calls
        if self._calls is None or fewest < self._fewest or most > self._most:
            since = self._calls.since if self._calls else recording.steps[at]
            self._fewest = min(fewest, self._fewest) if self._calls else fewest
            self._most = max(most, self._most)
            sentence = (
                f"{recording.sites[site].module} is called {self._fewest} to {self._most} times in a pass; a row holds "
                f"at most the first {usual[site]} calls."
            )
            self._calls = Diagnostic.of("AN-S2", since, sentence, fewest=self._fewest, most=self._most, row=usual[site])
        return self._calls


def _listed(recording: Recording, matrices: Collection[int]) -> str:
    """Matrices by the modules that they lie in, a few of them by name."""
    return _shortest(sorted(matrices), recording.matrices)


def _shortest(chosen: Sequence[int], names: Sequence[str]) -> str:
    """Some of all names, those of whole modules by the module."""
    picked = {names[one] for one in chosen if one < len(names)}
    others = set(names) - picked
    found: dict[str, None] = {}
    for name in (names[one] for one in chosen if one < len(names)):
        parts = name.split(".")
        ways = (".".join(parts[:length]) for length in range(1, len(parts)))
        found[next((way for way in ways if not any(one.startswith(f"{way}.") for one in others)), name)] = None
    said = ", ".join(list(found)[:MAX_NAMES])
    return f"{said} and {len(found) - MAX_NAMES} more" if len(found) > MAX_NAMES else said


def _from_step(step: int) -> str:
    return f"From step {step} on" if step else "From the start"
