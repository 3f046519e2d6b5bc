"""Findings on a recording so far, each with the step at which it began, and remedies for nets that start alike.

Where the numbers leave a doubt there is none: a false alarm costs more than a miss.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from addnorm.course import Course, find_flat, find_rise, has_learned
from addnorm.faults import Faults, from_step
from addnorm.format import CLASSES, NUMBERS, OTHER
from addnorm.rules import RULES, Diagnostic
from addnorm.updates import Updates
from addnorm.words import comparable_values, first_non_finite, non_finite_sentence, number

if TYPE_CHECKING:
    from addnorm.recording import Recording

VANISHING = RULES["AN-G1"].threshold  # the gradient vanishes if it shrinks by more than this factor on its way back
ALIKE = RULES["AN-S1"].threshold  # inputs with a mean cosine above this have nearly one direction
MIN_ALIKE_SITES = 6  # where the loss does not show whether the model learns
PEAK = RULES["AN-S3"].threshold  # times the root mean square
MIN_PEAK_GROWTH = 10.0  # of the largest number over RMS since the start
MAX_UNCHECKED_PART = 100  # the course of the loss is looked at again when there are 1/MAX_UNCHECKED_PART more losses
FAR_VANISHING = 1000.0  # the factor where no loss shows whether the model learns
# The loss of guessing among C classes is ln C.
MIN_GUESSING = 0.99  # times ln C: a loss above this is one of guessing
MIN_MOVED = 0.2  # sizes of the weights that all updates add up to: a loss that has not fallen by then is flat
MIN_EXCESS = 3.0  # of the first cross-entropy over ln C
MAX_TARGET_GROWTH = 1.2  # a loss of numbers may rise because the targets grow

# A remedy for each starting arrangement: tests train small nets that fail with it and learn after this change.
HELPS = {
    "plain": "a residual around every block and a norm on what each branch reads",
    "plain + norm": "a residual around every block",
    "residual only": "a norm on what each branch reads, or a last matrix of each branch that starts at zero",
    "post-norm": "the norm moved from the sum to what each branch reads",
}


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


def is_vanishing(last: float, first: float, factor: float = VANISHING) -> bool:
    """Whether less than 1/`factor` of the gradient at the last site comes back to the first."""
    return math.isfinite(last) and first < last / factor


class Findings:
    """Checks the rows of a recording in order, each once."""

    def __init__(self) -> None:
        self._faults = Faults()
        self._updates = Updates()
        self._losses = array("d")
        self._loss_steps = array("q")
        self._checked_losses = 0  # number of losses when their course was last looked at
        self._learned = False
        self._form: list[int] = []  # kind of the loss, classes, and whether it is of probabilities
        self._loss_unit = math.nan  # of the recorded loss over the mean cross-entropy: a sum over samples is larger
        self._first_target = math.nan
        self._target_growth = 1.0
        self._non_finite: Diagnostic | None = None
        self._course: Diagnostic | None = None
        self._loss_facts: list[Diagnostic] = []
        self._alike: Diagnostic | None = None
        self._vanished_since: int | None = None
        self._alike_since: int | None = None
        self._first_peaks: list[float | None] = []
        self._peak: Diagnostic | None = None

    def check(self, recording: Recording, row: int) -> list[Diagnostic]:
        """The findings up to a row, which must be the one after the last row checked."""
        self._check_form(recording, row)
        self._check_loss(recording, row)
        self._check_cosines(recording, row)
        self._check_peaks(recording, row)
        self._check_finite(recording, row)
        vanishing = self._check_gradient(recording, row)
        updates = self._check_updates(recording, row)
        faults = self._faults.check(recording, row)
        findings = (
            self._non_finite, *self._loss_facts, self._course, vanishing, self._alike, self._peak, *updates, *faults,
        )  # fmt: skip
        return [finding for finding in findings if finding is not None]

    def _check_finite(self, recording: Recording, row: int) -> None:
        if self._non_finite is None and (non_finite := first_non_finite(recording, row)):
            self._non_finite = Diagnostic.from_rule(
                "AN-N1",
                recording.steps[row],
                non_finite_sentence(recording, row),
                place=non_finite.place or non_finite.quantity,
            )

    def _check_form(self, recording: Recording, row: int) -> None:
        """Takes the form of the loss from the first row that has one, and looks for two faults of it."""
        (target,) = recording.values_at("target", row)
        if target is not None:
            self._first_target = target if math.isnan(self._first_target) else self._first_target
            self._target_growth = target / self._first_target if self._first_target else 1.0
        form = recording.fact("loss_form", row)
        if self._form or len(form) != 3:
            return
        self._form = form
        step = recording.steps[row]
        _, classes, of_probabilities = form
        if of_probabilities:
            sentence = (
                "The loss expects logits and gets probabilities: softmax or sigmoid is applied twice, which leaves the "
                "gradient small."
            )
            self._loss_facts.append(Diagnostic.from_rule("AN-L2", step, sentence, place="the loss", functions=2))
        (first,) = recording.values_at("cross_entropy", row)
        if first is None or classes < 2 or recording.steps[row]:
            return
        (loss,) = recording.values_at("loss", row)
        self._loss_unit = loss / first if loss is not None and first > 0 else math.nan
        guessing = math.log(classes)
        if math.isfinite(first) and first > RULES["AN-L3"].threshold * guessing and first > guessing + MIN_EXCESS:
            sentence = (
                f"The first cross-entropy is {number(first)}, and guessing among {classes:,} classes gives "
                f"{number(guessing)}: the model starts sure of wrong answers."
            )
            numbers = {"first": first, "guessing": guessing, "classes": classes}
            place = recording.matrices[-1].rpartition(".")[0] if recording.matrices else ""
            self._loss_facts.append(Diagnostic.from_rule("AN-L3", step, sentence, place=place, **numbers))

    def _check_loss(self, recording: Recording, row: int) -> None:
        """Looks at the course of the loss whenever there are enough new losses."""
        if not recording.measured("loss", row)[0] or (self._losses and not math.isfinite(self._losses[-1])):
            return
        self._losses.append(recording.scalars["loss"][row])
        self._loss_steps.append(recording.steps[row])
        if not math.isfinite(self._losses[-1]):
            self._course = None
            return
        unchecked = len(self._losses) - self._checked_losses
        if MAX_UNCHECKED_PART * unchecked < len(self._losses):
            return
        self._checked_losses = len(self._losses)
        self._learned = has_learned(self._losses)
        self._course = self._course_of_loss()

    def _course_of_loss(self) -> Diagnostic | None:
        """A loss that rises, or that has not fallen from that of guessing although the weights have moved.

        Losses that are not one function of the output rise in healthy loops: those of adversaries, of critics, of
        several terms. So do losses of numbers whose targets grow.
        """
        kind, classes = self._form[:2] if self._form else (None, 0)
        may_rise = kind not in (OTHER, NUMBERS) or (kind == NUMBERS and self._target_growth < MAX_TARGET_GROWTH)
        if may_rise and (rise := find_rise(self._losses)) is not None:
            since = self._loss_steps[rise.row]
            sentence = rise_sentence(since, rise)
        elif (
            kind == CLASSES
            and classes > 1
            and self._updates.moved > MIN_MOVED
            and (rise := find_flat(self._losses, MIN_GUESSING * math.log(classes) * self._loss_unit)) is not None
        ):
            since = self._loss_steps[rise.row]
            sentence = (
                f"Since step {since} the loss has never been below that of guessing among {classes:,} classes, "
                f"{number(math.log(classes))} ({number(rise.loss_then)} then, {number(rise.loss_now)} now), although "
                "the weights have moved."
            )
        else:
            return None
        numbers = {"loss_then": rise.loss_then, "loss_now": rise.loss_now}
        return Diagnostic.from_rule("AN-L1", since, sentence, place="the loss", **numbers)

    def _check_peaks(self, recording: Recording, row: int) -> None:
        """Looks for sites where a few numbers have become far larger than the others."""
        peaks = recording.values_at("act_peak", row)
        if not any(peaks):
            return
        self._first_peaks = self._first_peaks or peaks
        self._peak = None
        grown = [
            (peak, first, site.name)
            for peak, first, site in zip(peaks, self._first_peaks, recording.sites, strict=True)
            if peak and first and math.isfinite(peak) and peak > PEAK and peak > MIN_PEAK_GROWTH * first
        ]
        if grown:
            peak, first, site = max(grown)
            sentence = (
                f"At {site} the largest number of the signal is {number(peak)} times its root mean square, "
                f"{number(first)} times at the start."
            )
            numbers = {"peak": peak, "first": first}
            self._peak = Diagnostic.from_rule("AN-S3", recording.steps[row], sentence, place=site, **numbers)

    def _check_updates(self, recording: Recording, row: int) -> Iterable[Diagnostic | None]:
        """Finds updates that are too small, too large or lost, and a rate that stays 0."""
        return self._updates.check(recording, row, self._losses, learned=self._learned)

    def _check_gradient(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds a gradient that vanishes between the last and the first site of equal size.

        A net that learns although its gradient shrinks has no fault: Adam divides by the gradient's size.
        """
        values = comparable_values(recording, "grad_rms", row)
        factor = VANISHING if self._losses and self._form[:1] != [OTHER] else FAR_VANISHING
        is_lost = len(values) > 1 and is_vanishing(values[-1][1], values[0][1], factor) and not self._learned
        if not is_lost:
            self._vanished_since = None
            return None
        if self._vanished_since is None:
            self._vanished_since = recording.steps[row]
        site, gradient_first = values[0]
        sentence = vanishing_sentence(self._vanished_since, site)
        numbers = {"gradient_first": gradient_first, "gradient_last": values[-1][1]}
        return Diagnostic.from_rule("AN-G1", self._vanished_since, sentence, place=site, **numbers)

    def _check_cosines(self, recording: Recording, row: int) -> None:
        """Looks for inputs that differ at the first site and have nearly one direction at the last.

        A net with skips passes through such a state when it starts, and leaves it.
        """
        values = comparable_values(recording, "sample_cosine", row)
        if not values:
            return
        first_site, first_cosine = values[0]
        last_site, last_cosine = values[-1]
        has_skips = any(site.kind == "sum" for site in recording.sites)
        is_alike = first_cosine <= ALIKE < last_cosine and not self._learned and not has_skips
        if not is_alike or (self._form[:1] == [OTHER] and len(values) < MIN_ALIKE_SITES):
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
            place=last_site,
            cosine_first=first_cosine,
            cosine_last=last_cosine,
        )


def rise_sentence(step: int, rise: Course) -> str:
    losses = f"from {number(rise.loss_then)} to {number(rise.loss_now)}"
    return f"Since step {step} the mean loss has risen {losses}."


def vanishing_sentence(step: int, place: str) -> str:
    return f"{from_step(step)} less than 1/{VANISHING:g} of the gradient comes back to {place}."
