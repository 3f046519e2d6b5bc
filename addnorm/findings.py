"""What matters in a recording so far, since which step, and what helps small nets that start like it.

How good a guess would be and what the task is are not in a recording: nothing is said of them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from addnorm.faults import Faults
from addnorm.rules import RULES, Diagnostic
from addnorm.words import measured_by_site, not_finite, number

if TYPE_CHECKING:
    from addnorm.recording import Recording

VANISHING = RULES["AN-G1"].threshold  # factor by which the gradient falls on its way back, from which it is lost
ALIKE = RULES["AN-S1"].threshold  # mean cosine between different inputs, above which they have nearly one direction
SMALL_UPDATE = RULES["AN-U1"].threshold  # of a block's weights in one step: below it a block stands still
LAST, PART = 20, 10  # rows whose mean loss counts, or this part of all where that is more
SELDOM = 500  # see `Findings`
FALL, STALL = RULES["AN-L1"].threshold, 3  # the share by which the loss must fall, in this part of all rows

# By likeness, what lets small nets that start so and fail learn; tests train them.
HELPS = {
    "plain": "a residual around every block and a norm on what each branch reads",
    "plain + norm": "a residual around every block",
    "residual only": "a norm on what each branch reads, or a last matrix of each branch that starts at zero",
    "post-norm": "moving the norm from the sum to what each branch reads",
}


def since(holds: Sequence[bool]) -> int | None:
    """The first place from which on all hold until the end; None if the last does not."""
    first = next((at for at in reversed(range(len(holds))) if not holds[at]), -1) + 1
    return first if first < len(holds) else None


def vanished(last: Sequence[float], first: Sequence[float]) -> int | None:
    """The row since which less than 1/VANISHING of the gradient comes back from the last to the first site."""
    return since([is_lost(end, start) for end, start in zip(last, first, strict=True)])


def is_lost(last: float, first: float) -> bool:
    """Whether less than 1/VANISHING of the gradient comes back from the last to the first site."""
    return math.isfinite(last) and first < last / VANISHING


def stalled(losses: Sequence[float]) -> tuple[int, float, float] | None:
    """The row since which the loss has not fallen by FALL, with the mean loss there and now; None if it has lately."""
    window = max(LAST, len(losses) // PART)
    if len(losses) < STALL * window:  # in fewer a slow start and a stalled loss look alike
        return None
    sums = [0.0, *accumulate(losses)]
    means = [(sums[at] - sums[at - window]) / window for at in range(window, len(sums))]
    reached = next(at for at, mean in enumerate(means) if mean <= means[-1] + FALL * abs(means[-1]))
    if STALL * (len(means) - 1 - reached) < len(losses):
        return None
    return reached + window - 1, means[reached], means[-1]


class Findings:
    """Hears the rows of a recording in order; what has been found up to each is kept, and no row is looked at again."""

    def __init__(self) -> None:
        self._faults = Faults()
        self._losses, self._steps = array("d"), array("q")
        self._judged = 0  # losses when it was last asked whether they have stalled
        self._lost: Diagnostic | None = None
        self._stalled: Diagnostic | None = None
        self._standing: Diagnostic | None = None
        self._alike: Diagnostic | None = None
        self._still: dict[int, int] = {}  # by block, the step since which its updates are small
        self._lost_since: int | None = None
        self._alike_since: int | None = None

    def hear(self, recording: Recording, at: int) -> list[Diagnostic]:
        """The findings up to a row."""
        self._hear_loss(recording, at)
        self._hear_update(recording, at)
        self._hear_cosines(recording, at)
        self._hear_lost(recording, at)
        faults = self._faults.hear(recording, at)
        found = (self._lost, self._stalled, self._standing, self._gradient(recording, at), self._alike, *faults)
        return [finding for finding in found if finding is not None]

    def _hear_lost(self, recording: Recording, at: int) -> None:
        """Notes the first number that is not finite."""
        if self._lost is None and (sentence := not_finite(recording, at)):
            self._lost = Diagnostic.of("AN-N1", recording.steps[at], sentence)

    def _hear_loss(self, recording: Recording, at: int) -> None:
        """Looks at all losses at every row at first, then whenever there is 1/SELDOM more of them."""
        if not recording.measured("loss", at)[0] or (self._losses and not math.isfinite(self._losses[-1])):
            return
        self._losses.append(recording.scalars["loss"][at])
        self._steps.append(recording.steps[at])
        if not math.isfinite(self._losses[-1]):
            self._stalled = None
        elif SELDOM * (len(self._losses) - self._judged) >= len(self._losses):
            self._judged = len(self._losses)
            self._stalled = None
            if (found := stalled(self._losses)) is not None:
                since, then, now = self._steps[found[0]], found[1], found[2]
                sentence = stalled_in_words(since, then, now)
                self._stalled = Diagnostic.of("AN-L1", since, sentence, loss_then=then, loss_now=now)

    def _hear_update(self, recording: Recording, at: int) -> None:
        """Notes which blocks the update hardly changes, though the learning rate is not 0."""
        left_out = at in recording.skipped or recording.scalars["lr"][at] == 0
        if left_out or not any(recording.measured("update_to_weight", at)):
            return
        sizes = recording.row("update_to_weight", at)
        reached = recording.measured("weight_grad_rms", at)
        for block, size in enumerate(sizes):
            if not reached[block]:  # left out of this pass, as by a random depth
                continue
            if size < SMALL_UPDATE:
                self._still.setdefault(block, recording.steps[at])
            else:
                self._still.pop(block, None)
        self._standing = None
        if self._still:
            first, count = min(self._still), len(self._still)
            others = f"; {count} of {len(recording.blocks)} blocks stand still now" if count > 1 else ""
            since, name = self._still[first], recording.blocks[first].name
            self._standing = Diagnostic.of(
                "AN-U1",
                since,
                f"No update measured since step {since} changed {name} by {SMALL_UPDATE:.3%} of its size{others}.",
                block=name,
                update_to_weight=sizes[first],
                blocks=count,
            )

    def _gradient(self, recording: Recording, at: int) -> Diagnostic | None:
        measured = measured_by_site(recording, "grad_rms", at)
        if len(measured) < 2 or not is_lost(measured[-1][1], measured[0][1]):
            self._lost_since = None
            return None
        if self._lost_since is None:
            self._lost_since = recording.steps[at]
        (place, first), (_, last) = measured[0], measured[-1]
        sentence = lost_gradient(self._lost_since, place)
        return Diagnostic.of("AN-G1", self._lost_since, sentence, site=place, gradient_first=first, gradient_last=last)

    def _hear_cosines(self, recording: Recording, at: int) -> None:
        """Notes whether inputs that differ at the first site end in nearly one direction."""
        if not (found := measured_by_site(recording, "sample_cosine", at)):
            return
        (first, start), (last, end) = found[0], found[-1]
        if not start <= ALIKE < end:
            self._alike_since, self._alike = None, None
            return
        if self._alike_since is None:
            self._alike_since = recording.steps[at]
        self._alike = Diagnostic.of(
            "AN-S1",
            self._alike_since,
            f"{_from(self._alike_since)} inputs become alike over depth: the mean cosine between different ones is "
            f"{number(start)} at {first} and {number(end)} at {last}.",
            cosine_first=start,
            cosine_last=end,
        )


def stalled_in_words(step: int, then: float, now: float) -> str:
    """Since which step the loss has stalled, in a sentence."""
    return (
        f"Since step {step} the mean loss has fallen by less than {FALL:.0%} ({number(then)} then, {number(now)} now)."
    )


def lost_gradient(step: int, place: str) -> str:
    """Since which step the gradient is lost on its way to a place, in a sentence."""
    return f"{_from(step)} less than 1/{VANISHING:g} of the gradient comes back to {place}."


def _from(step: int) -> str:
    return f"From step {step} on" if step else "From the start"
