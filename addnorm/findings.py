"""Findings on a recording so far, each since the step when it began, and remedies for small nets that start like it.

A recording holds neither the task nor the loss of guessing, so no finding concerns them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from addnorm.faults import Faults, from_step
from addnorm.rules import RULES, Diagnostic
from addnorm.words import non_finite_sentence, number, site_values

if TYPE_CHECKING:
    from addnorm.recording import Recording

VANISHING = RULES["AN-G1"].threshold  # factor by which the gradient falls on its way back, from which it has vanished
ALIKE = RULES["AN-S1"].threshold  # mean cosine between different inputs above which they have nearly one direction
SMALL_UPDATE = RULES["AN-U1"].threshold  # share of a block's size per step below which the block stands still
FALL = RULES["AN-L1"].threshold  # share by which the loss must fall
STALL_PART = 3  # the loss must fall within 1/STALL_PART of all rows
WINDOW_ROWS, WINDOW_PART = 20, 10  # the mean loss is over the larger of WINDOW_ROWS and 1/WINDOW_PART of all rows
MAX_UNCHECKED_PART = 500  # the losses are checked again when they have grown by 1/MAX_UNCHECKED_PART

# By starting arrangement, a change after which small nets that fail like it learn; tests train them.
HELPS = {
    "plain": "a residual around every block and a norm on what each branch reads",
    "plain + norm": "a residual around every block",
    "residual only": "a norm on what each branch reads, or a last matrix of each branch that starts at zero",
    "post-norm": "moving the norm from the sum to what each branch reads",
}


class Stall(NamedTuple):
    """A loss that has stopped falling: the row since which, and the mean loss then and now."""

    row: int
    then: float
    now: float


def start_of_last_run(flags: Sequence[bool]) -> int | None:
    """The first index from which all flags are true until the end; None if the last is false."""
    last_false = next((index for index in reversed(range(len(flags))) if not flags[index]), -1)
    return last_false + 1 if last_false + 1 < len(flags) else None


def vanished_since(last: Sequence[float], first: Sequence[float]) -> int | None:
    """The row since which the gradient vanishes between the last and the first site; None if it does not now."""
    return start_of_last_run([is_vanishing(end, start) for end, start in zip(last, first, strict=True)])


def is_vanishing(last: float, first: float) -> bool:
    """Whether less than 1/VANISHING of the gradient at the last site comes back to the first."""
    return math.isfinite(last) and first < last / VANISHING


def find_stall(losses: Sequence[float]) -> Stall | None:
    """The row since which the mean loss has not fallen by FALL; None if it has fallen lately."""
    window = max(WINDOW_ROWS, len(losses) // WINDOW_PART)
    if len(losses) < STALL_PART * window:  # in fewer, a slow start and a stalled loss look alike
        return None
    sums = [0.0, *accumulate(losses)]
    means = [(sums[end] - sums[end - window]) / window for end in range(window, len(sums))]
    bound = means[-1] + FALL * abs(means[-1])
    reached = next(index for index, mean in enumerate(means) if mean <= bound)
    if STALL_PART * (len(means) - 1 - reached) < len(losses):
        return None
    return Stall(reached + window - 1, means[reached], means[-1])


class Findings:
    """Checks the rows of a recording in order; no row is read twice."""

    def __init__(self) -> None:
        self._faults = Faults()
        self._losses = array("d")
        self._steps = array("q")  # of the losses
        self._checked_losses = 0  # how many there were when a stall was last looked for
        self._non_finite: Diagnostic | None = None
        self._stalled: Diagnostic | None = None
        self._small_update: Diagnostic | None = None
        self._alike: Diagnostic | None = None
        self._still_since: dict[int, int] = {}  # block -> step since which its updates are small
        self._vanished_since: int | None = None
        self._alike_since: int | None = None

    def check(self, recording: Recording, row: int) -> list[Diagnostic]:
        """The findings up to a row."""
        self._check_loss(recording, row)
        self._check_updates(recording, row)
        self._check_cosines(recording, row)
        self._check_finite(recording, row)
        vanishing = self._check_gradient(recording, row)
        faults = self._faults.check(recording, row)
        findings = (self._non_finite, self._stalled, self._small_update, vanishing, self._alike, *faults)
        return [finding for finding in findings if finding is not None]

    def _check_finite(self, recording: Recording, row: int) -> None:
        if self._non_finite is None and (sentence := non_finite_sentence(recording, row)):
            self._non_finite = Diagnostic.from_rule("AN-N1", recording.steps[row], sentence)

    def _check_loss(self, recording: Recording, row: int) -> None:
        """Looks for a stall whenever there are enough new losses."""
        if not recording.measured("loss", row)[0] or (self._losses and not math.isfinite(self._losses[-1])):
            return
        self._losses.append(recording.scalars["loss"][row])
        self._steps.append(recording.steps[row])
        if not math.isfinite(self._losses[-1]):
            self._stalled = None
            return
        unchecked = len(self._losses) - self._checked_losses
        if MAX_UNCHECKED_PART * unchecked < len(self._losses):
            return
        self._checked_losses = len(self._losses)
        self._stalled = None
        if (stall := find_stall(self._losses)) is not None:
            since = self._steps[stall.row]
            sentence = stall_sentence(since, stall)
            self._stalled = Diagnostic.from_rule("AN-L1", since, sentence, loss_then=stall.then, loss_now=stall.now)

    def _check_updates(self, recording: Recording, row: int) -> None:
        """Looks for blocks that the update hardly changes although the learning rate is not 0."""
        is_idle = row in recording.skipped or recording.scalars["lr"][row] == 0
        if is_idle or not any(recording.measured("update_to_weight", row)):
            return
        sizes = recording.row("update_to_weight", row)
        has_gradient = recording.measured("weight_grad_rms", row)
        for block, size in enumerate(sizes):
            if not has_gradient[block]:  # left out of this pass, as with stochastic depth
                continue
            if size < SMALL_UPDATE:
                self._still_since.setdefault(block, recording.steps[row])
            else:
                self._still_since.pop(block, None)
        self._small_update = None
        if self._still_since:
            first, count = min(self._still_since), len(self._still_since)
            since, name = self._still_since[first], recording.blocks[first].name
            others = f"; {count} of {len(recording.blocks)} blocks stand still now" if count > 1 else ""
            self._small_update = Diagnostic.from_rule(
                "AN-U1",
                since,
                f"No update measured since step {since} changed {name} by {SMALL_UPDATE:.3%} of its size{others}.",
                block=name,
                update_to_weight=sizes[first],
                blocks=count,
            )

    def _check_gradient(self, recording: Recording, row: int) -> Diagnostic | None:
        """A gradient that vanishes between the last and the first site."""
        values = site_values(recording, "grad_rms", row)
        if len(values) < 2 or not is_vanishing(values[-1][1], values[0][1]):
            self._vanished_since = None
            return None
        if self._vanished_since is None:
            self._vanished_since = recording.steps[row]
        (site, first), (_, last) = values[0], values[-1]
        sentence = vanishing_sentence(self._vanished_since, site)
        numbers = {"gradient_first": first, "gradient_last": last}
        return Diagnostic.from_rule("AN-G1", self._vanished_since, sentence, site=site, **numbers)

    def _check_cosines(self, recording: Recording, row: int) -> None:
        """Looks for inputs that differ at the first site and have nearly one direction at the last."""
        if not (values := site_values(recording, "sample_cosine", row)):
            return
        (first, start), (last, end) = values[0], values[-1]
        if not start <= ALIKE < end:
            self._alike_since = None
            self._alike = None
            return
        if self._alike_since is None:
            self._alike_since = recording.steps[row]
        self._alike = Diagnostic.from_rule(
            "AN-S1",
            self._alike_since,
            f"{from_step(self._alike_since)} inputs become alike over depth: the mean cosine between different ones is "
            f"{number(start)} at {first} and {number(end)} at {last}.",
            cosine_first=start,
            cosine_last=end,
        )


def stall_sentence(step: int, stall: Stall) -> str:
    losses = f"{number(stall.then)} then, {number(stall.now)} now"
    return f"Since step {step} the mean loss has fallen by less than {FALL:.0%} ({losses})."


def vanishing_sentence(step: int, place: str) -> str:
    return f"{from_step(step)} less than 1/{VANISHING:g} of the gradient comes back to {place}."
