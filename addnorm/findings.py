"""What matters in a recording so far, since which step, and what helps small nets that start like it.

How good a guess would be and what the task is are not in a recording: nothing is said of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from addnorm.law import likeness
from addnorm.recording import Recording
from addnorm.words import first_not_finite, measured_by_site, number

VANISHING = 30.0  # factor by which the gradient falls on its way back, from which it is called lost
ALIKE = 0.95  # mean cosine between different inputs, above which they have nearly one direction
SMALL_UPDATE = 1e-5  # of a block's weights in one step: below it a block stands still
LAST, PART = 20, 10  # rows whose mean loss counts, or this part of all where that is more
FALL, STALL = 0.02, 3  # the share by which the loss must fall, in this part of all rows

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
    return since([math.isfinite(end) and start < end / VANISHING for end, start in zip(last, first, strict=True)])


def stalled(losses: Sequence[float]) -> tuple[int, float, float] | None:
    """The row since which the loss has not fallen by FALL, with the mean loss there and now; None if it has lately."""
    window = max(LAST, len(losses) // PART)
    if len(losses) < 2 * window:
        return None
    sums = [0.0, *accumulate(losses)]
    means = [(sums[at] - sums[at - window]) / window for at in range(window, len(sums))]
    reached = next(at for at, mean in enumerate(means) if mean <= means[-1] + FALL * abs(means[-1]))
    if STALL * (len(means) - 1 - reached) < len(losses):
        return None
    return reached + window - 1, means[reached], means[-1]


def findings(recording: Recording, at: int) -> str:
    """The findings up to a row, in sentences; empty where there is nothing to say."""
    said = [one for one in (of(recording, at) for of in (_loss, _still, _gradient, _alike)) if one]
    helps = HELPS.get(likeness(recording), "")
    if helps and (said or first_not_finite(recording)):
        said.append(f"Small nets that start like it learn with {helps}.")
    return " ".join(said)


def _loss(recording: Recording, at: int) -> str:
    rows = [row for row in range(at + 1) if recording.measured("loss", row)[0]]
    losses = [recording.scalars["loss"][row] for row in rows]
    if not all(map(math.isfinite, losses)) or (found := stalled(losses)) is None:
        return ""
    place, then, now = found
    return (
        f"Since step {recording.steps[rows[place]]} the mean loss has fallen by less than {FALL:.0%} ({number(then)} "
        "then, "
        f"{number(now)} now)."
    )


def _still(recording: Recording, at: int) -> str:
    """Which blocks the updates hardly change, though the learning rate is not 0."""
    rows = [
        row
        for row in range(at + 1)
        if any(recording.measured("update", row)) and row not in recording.skipped and recording.scalars["lr"][row] != 0
    ]
    if not rows:
        return ""
    sizes = [recording.row("update", row) for row in rows]
    still = [block for block, size in enumerate(sizes[-1]) if size < SMALL_UPDATE]
    if not still:
        return ""
    start = since([size[still[0]] < SMALL_UPDATE for size in sizes])
    others = f"; {len(still)} of {len(recording.blocks)} blocks stand still now" if len(still) > 1 else ""
    return (
        f"No update measured since step {recording.steps[rows[start or 0]]} changed "
        f"{recording.blocks[still[0]].name} by {SMALL_UPDATE:.3%} of its size{others}."
    )


def _gradient(recording: Recording, at: int) -> str:
    measured = [measured_by_site(recording, "grad", row) for row in range(at + 1)]
    ends = [(found[-1][1], found[0][1]) if len(found) > 1 else (math.nan, math.nan) for found in measured]
    start = vanished(*zip(*ends, strict=True))
    return "" if start is None else lost_gradient(recording.steps[start], measured[-1][0][0])


def lost_gradient(step: int, place: str) -> str:
    """Since which step the gradient is lost on its way to a place, in a sentence."""
    return f"{_from(step)} less than 1/{VANISHING:g} of the gradient comes back to {place}."


def _alike(recording: Recording, at: int) -> str:
    """Since when inputs that differ at the first site end in nearly one direction."""
    rows = [row for row in range(at + 1) if any(recording.measured("sample_cosine", row))]
    measured = [measured_by_site(recording, "sample_cosine", row) for row in rows]
    start = since([found[0][1] <= ALIKE < found[-1][1] for found in measured])
    if start is None:
        return ""
    apart = " and ".join(f"{number(cosine)} at {site}" for site, cosine in (measured[-1][0], measured[-1][-1]))
    return (
        f"{_from(recording.steps[rows[start]])} inputs become alike over depth: the mean cosine between different ones "
        f"is {apart}."
    )


def _from(step: int) -> str:
    return f"From step {step} on" if step else "From the start"
