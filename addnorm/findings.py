"""Findings on a recording so far, each with the step at which it began, and remedies for nets that start alike.

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

VANISHING = RULES["AN-G1"].threshold  # the gradient vanishes if it shrinks by more than this factor on its way back
ALIKE = RULES["AN-S1"].threshold  # inputs with a mean cosine above this have nearly one direction
SMALL_UPDATE = RULES["AN-U1"].threshold  # a block stands still if a step changes less than this share of its size
MIN_LOSS_FALL = RULES["AN-L1"].threshold  # a share of the mean loss; a smaller fall is a stall
STALL_PART = 3  # a stall lasts at least 1/STALL_PART of all rows
# The mean loss is over the larger of WINDOW_ROWS rows and 1/WINDOW_PART of all rows.
WINDOW_ROWS = 20
WINDOW_PART = 10
MAX_UNCHECKED_PART = 500  # a stall is looked for again when the losses have grown by 1/MAX_UNCHECKED_PART

# A remedy for each starting arrangement: tests train small nets that fail with it and learn after this change.
HELPS = {
    "plain": "a residual around every block and a norm on what each branch reads",
    "plain + norm": "a residual around every block",
    "residual only": "a norm on what each branch reads, or a last matrix of each branch that starts at zero",
    "post-norm": "moving the norm from the sum to what each branch reads",
}


class Stall(NamedTuple):
    """A loss that has stopped falling: the row at which the stall began, and the mean loss then and now."""

    row: int
    loss_then: float
    loss_now: float


def start_of_last_run(flags: Sequence[bool]) -> int | None:
    """The start of the run of true flags at the end; None if the last flag is false or there are none."""
    start = len(flags)
    while start > 0 and flags[start - 1]:
        start -= 1
    return start if start < len(flags) else None


def vanished_since(last: Sequence[float], first: Sequence[float]) -> int | None:
    """The row since which the gradient vanishes between the last and the first site; None if it does not now.

    `last` and `first` hold the gradient's RMS at these sites, row by row.
    """
    return start_of_last_run([is_vanishing(*pair) for pair in zip(last, first, strict=True)])


def is_vanishing(last: float, first: float) -> bool:
    """Whether less than 1/VANISHING of the gradient at the last site comes back to the first."""
    return math.isfinite(last) and first < last / VANISHING


def find_stall(losses: Sequence[float]) -> Stall | None:
    """The latest stall: since its row the mean loss has not fallen by MIN_LOSS_FALL. None if it has fallen lately."""
    window = max(WINDOW_ROWS, len(losses) // WINDOW_PART)
    if len(losses) < STALL_PART * window:  # a slow start and a stall look alike in fewer rows
        return None
    sums = [0.0, *accumulate(losses)]
    means = [(sums[end] - sums[end - window]) / window for end in range(window, len(sums))]
    bound = means[-1] + MIN_LOSS_FALL * abs(means[-1])
    start = next(index for index, mean in enumerate(means) if mean <= bound)
    stalled_rows = len(means) - 1 - start
    if STALL_PART * stalled_rows < len(losses):
        return None
    return Stall(start + window - 1, means[start], means[-1])


class Findings:
    """Checks the rows of a recording in order, each once."""

    def __init__(self) -> None:
        self._faults = Faults()
        self._losses = array("d")
        self._loss_steps = array("q")
        self._checked_losses = 0  # number of losses when a stall was last looked for
        self._non_finite: Diagnostic | None = None
        self._stalled: Diagnostic | None = None
        self._small_update: Diagnostic | None = None
        self._alike: Diagnostic | None = None
        self._still_since: dict[int, int] = {}  # block -> step since which its updates are small
        self._vanished_since: int | None = None
        self._alike_since: int | None = None

    def check(self, recording: Recording, row: int) -> list[Diagnostic]:
        """The findings up to a row, which must be the one after the last row checked."""
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
        self._loss_steps.append(recording.steps[row])
        if not math.isfinite(self._losses[-1]):
            self._stalled = None
            return
        unchecked = len(self._losses) - self._checked_losses
        if MAX_UNCHECKED_PART * unchecked < len(self._losses):
            return
        self._checked_losses = len(self._losses)
        self._stalled = None
        if (stall := find_stall(self._losses)) is not None:
            since = self._loss_steps[stall.row]
            numbers = {"loss_then": stall.loss_then, "loss_now": stall.loss_now}
            self._stalled = Diagnostic.from_rule("AN-L1", since, stall_sentence(since, stall), **numbers)

    def _check_updates(self, recording: Recording, row: int) -> None:
        """Looks for blocks that the update hardly changes although the learning rate is not 0."""
        is_idle = row in recording.skipped or recording.scalars["lr"][row] == 0
        if is_idle or not any(recording.measured("update_to_weight", row)):
            return
        sizes = recording.row("update_to_weight", row)
        has_gradient = recording.measured("weight_grad_rms", row)
        for block, size in enumerate(sizes):
            if not has_gradient[block]:  # stochastic depth has left the block out of this pass
                continue
            if size < SMALL_UPDATE:
                self._still_since.setdefault(block, recording.steps[row])
            else:
                self._still_since.pop(block, None)
        self._small_update = None
        if self._still_since:
            first_block = min(self._still_since)
            since = self._still_since[first_block]
            name = recording.blocks[first_block].name
            count = len(self._still_since)
            others = f"; {count} of {len(recording.blocks)} blocks stand still now" if count > 1 else ""
            self._small_update = Diagnostic.from_rule(
                "AN-U1",
                since,
                f"No update measured since step {since} changed {name} by {SMALL_UPDATE:.3%} of its size{others}.",
                block=name,
                update_to_weight=sizes[first_block],
                blocks=count,
            )

    def _check_gradient(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds a gradient that vanishes between the last and the first site."""
        values = site_values(recording, "grad_rms", row)
        if len(values) < 2 or not is_vanishing(values[-1][1], values[0][1]):
            self._vanished_since = None
            return None
        if self._vanished_since is None:
            self._vanished_since = recording.steps[row]
        site, gradient_first = values[0]
        sentence = vanishing_sentence(self._vanished_since, site)
        numbers = {"gradient_first": gradient_first, "gradient_last": values[-1][1]}
        return Diagnostic.from_rule("AN-G1", self._vanished_since, sentence, site=site, **numbers)

    def _check_cosines(self, recording: Recording, row: int) -> None:
        """Looks for inputs that differ at the first site and have nearly one direction at the last."""
        values = site_values(recording, "sample_cosine", row)
        if not values:
            return
        first_site, first_cosine = values[0]
        last_site, last_cosine = values[-1]
        if not first_cosine <= ALIKE < last_cosine:
            self._alike_since = None
            self._alike = None
            return
        if self._alike_since is None:
            self._alike_since = recording.steps[row]
        self._alike = Diagnostic.from_rule(
            "AN-S1",
            self._alike_since,
            f"{from_step(self._alike_since)} inputs become alike over depth: the mean cosine between different ones is "
            f"{number(first_cosine)} at {first_site} and {number(last_cosine)} at {last_site}.",
            cosine_first=first_cosine,
            cosine_last=last_cosine,
        )


def stall_sentence(step: int, stall: Stall) -> str:
    losses = f"{number(stall.loss_then)} then, {number(stall.loss_now)} now"
    return f"Since step {step} the mean loss has fallen by less than {MIN_LOSS_FALL:.0%} ({losses})."


def vanishing_sentence(step: int, place: str) -> str:
    return f"{from_step(step)} less than 1/{VANISHING:g} of the gradient comes back to {place}."
