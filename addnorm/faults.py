"""Finds faults of a training loop that do not stop training, from the rows of a recording.

Checks for copied or unreached weights, a cut graph, clipping and a missing zero_grad, and reports the step at which
each began. Healthy loops have none of them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, NamedTuple

from addnorm.rules import RULES, Diagnostic
from addnorm.words import first_non_finite, number

if TYPE_CHECKING:
    from addnorm.recording import Recording

CLIPPED_ROWS = 20  # successive clipped rows that make a finding
MIN_CLIPPING_FACTOR = 1.01  # norm before clipping over norm after it; below this, clipping has not acted
# An explosion: the median norm of the latest rows is far above that of the rows before them.
LATEST_ROWS = 5
MIN_EARLIER_ROWS = 20
MAX_EARLIER_ROWS = 200
MAX_NAMES = 3  # listed in a sentence
MIN_DISCARDED = 2  # passes of a step that zero_grad throws away
MIN_UNDIVIDED_ROWS = 4  # successive measured rows


class Clip(NamedTuple):
    """The norm of all gradients at a step, before and after clipping."""

    step: int
    before: float
    after: float


class Faults:
    """Checks the rows of a recording in order."""

    def __init__(self) -> None:
        self._rows = 0
        self._copies: Diagnostic | None = None
        self._batch: Diagnostic | None = None
        self._calls: Diagnostic | None = None
        self._cut_since: int | None = None
        self._unreached: set[int] = set()  # matrices without a gradient so far
        self._first_step = 0
        self._thawed: dict[int, int] = {}  # frozen matrix -> step since which it receives a gradient
        self._leftover_steps: list[int] = []  # steps of the latest successive rows with a leftover gradient
        self._discarded_steps: list[int] = []  # steps of the latest successive rows whose small batches were zeroed
        self._undivided_steps: list[int] = []  # the same of measured rows with a sum of means
        self._inputs: list[tuple[int, float, float]] = []  # step, input and target of rows with the same input
        self._sum_of_means: Diagnostic | None = None
        self._same_input: Diagnostic | None = None
        self._skipless: Diagnostic | None = None
        self._unmoved: Diagnostic | None = None
        self._fewest_calls = 0
        self._most_calls = 0
        self._clips: deque[Clip] = deque(maxlen=CLIPPED_ROWS)
        self._latest_clips: deque[Clip] = deque(maxlen=LATEST_ROWS)
        self._earlier_norms: deque[float] = deque(maxlen=MAX_EARLIER_ROWS)  # before clipping
        self._clipping: dict[str, Diagnostic] = {}  # findings by id; their numbers stay those of the first row

    def check(self, recording: Recording, row: int) -> list[Diagnostic]:
        """The faults up to a row, which must be the one after the last row checked."""
        findings = [
            self._check_copies(recording, row),
            self._check_batch(recording, row),
            self._check_leftover(recording, row),
            self._check_discarded(recording, row),
            self._check_undivided(recording, row),
            self._check_input(recording, row),
            self._check_skips(recording, row),
            self._check_unmoved(recording, row),
            *self._check_unreached(recording, row),
            *self._check_clipping(recording, row),
            self._check_thawed(recording, row),
            self._check_calls(recording, row),
        ]
        self._rows += 1
        return [finding for finding in findings if finding is not None]

    def _check_copies(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds matrices that equal another one before the first update."""
        if self._rows:
            return self._copies
        first_equal = recording.fact("copy_of", row)
        copies = [(copy, first) for copy, first in enumerate(first_equal) if copy != first]
        names = recording.matrices
        if copies and max(map(max, copies)) < len(names):
            copy, first = copies[0]
            sentence = (
                f"{len(copies)} of {len(names)} weight matrices start as copies of another: {names[copy]} has the "
                f"numbers of {names[first]}."
            )
            step = recording.steps[row]
            self._copies = Diagnostic.from_rule(
                "AN-I1", step, sentence, place=names[copy], copies=len(copies), matrices=len(names)
            )
        return self._copies

    def _check_batch(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds the first row that is not finite, if its batch was not finite either."""
        (batch,) = recording.values_at("input", row)
        if batch is None or math.isfinite(batch):
            return self._batch
        if self._batch is None and first_non_finite(recording, row):
            step = recording.steps[row]
            sentence = f"The batch of step {step} already holds numbers that are not finite."
            self._batch = Diagnostic.from_rule("AN-N2", step, sentence, place="the batch", input=batch)
        return self._batch

    def _check_leftover(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds gradients of the previous step that remain when the next ones are computed."""
        (leftover,) = recording.values_at("gradient_left", row)
        if leftover is None or not leftover > 0:
            self._leftover_steps = []
            return None
        self._leftover_steps.append(recording.steps[row])
        if len(self._leftover_steps) < RULES["AN-G3"].threshold:
            return None
        since = self._leftover_steps[0]
        sentence = (
            f"Since step {since} the gradients of the step before are still there when the next ones are computed: "
            "without zero_grad an update is made of the sum of all of them."
        )
        numbers = {"gradient_left": leftover, "rows": len(self._leftover_steps)}
        return Diagnostic.from_rule("AN-G3", since, sentence, place="the loop", **numbers)

    def _check_discarded(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds loops that zero the gradients between the small batches of an update.

        Once a step is what SAM does, or a loop that looks at a gradient first.
        """
        discarded = max(recording.fact("discarded", row), default=0)
        if discarded < MIN_DISCARDED:
            self._discarded_steps = []
            return None
        self._discarded_steps.append(recording.steps[row])
        if len(self._discarded_steps) < RULES["AN-G4"].threshold:
            return None
        since = self._discarded_steps[0]
        sentence = (
            f"{from_step(since)} {discarded} of {discarded + 1} backward passes of a step are thrown away: zero_grad "
            "is called between its small batches."
        )
        return Diagnostic.from_rule("AN-G4", since, sentence, place="the loop", discarded=discarded)

    def _check_undivided(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds updates whose gradient is the sum of the mean losses of several small batches."""
        if not recording.fact("loss_form", row):  # looked at in some rows only
            return self._sum_of_means
        count = max(recording.fact("undivided", row), default=0)
        self._undivided_steps = [*self._undivided_steps, recording.steps[row]] if count else []
        self._sum_of_means = None
        if len(self._undivided_steps) >= MIN_UNDIVIDED_ROWS:
            sentence = (
                f"{from_step(self._undivided_steps[0])} the gradients of {count} small batches add up, each of its own "
                f"mean loss: the update is made of {count} times the gradient of the large batch."
            )
            since = self._undivided_steps[0]
            self._sum_of_means = Diagnostic.from_rule("AN-G5", since, sentence, place="the loop", batches=count)
        return self._sum_of_means

    def _check_input(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds an input that stays the same while the targets change. Training on one batch keeps both."""
        (only_input,) = recording.values_at("input_mark", row)
        (target,) = recording.values_at("target", row)
        if target is None or only_input is None:
            return self._same_input
        if self._inputs and self._inputs[-1][1] != only_input:
            self._inputs = []
            self._same_input = None
        self._inputs.append((recording.steps[row], only_input, target))
        targets = {target for *_, target in self._inputs}
        if len(self._inputs) >= RULES["AN-D1"].threshold and len(targets) > len(self._inputs) // 2:
            since = self._inputs[0][0]
            sentence = (
                f"{from_step(since)} the model is given the same input in each of {len(self._inputs)} rows measured, "
                "while the targets change."
            )
            numbers = {"rows": len(self._inputs), "targets": len(targets)}
            self._same_input = Diagnostic.from_rule("AN-D1", since, sentence, place="the input", **numbers)
        return self._same_input

    def _check_skips(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds blocks without the skip that others of their kind have."""
        if not self._rows and recording.skipless:
            block, peers = recording.skipless[0]
            more = f", nor have {len(recording.skipless) - 1} more" if len(recording.skipless) > 1 else ""
            sentence = f"{block} has no skip around it{more}; {peers} blocks of its kind have one."
            numbers = {"blocks": len(recording.skipless), "peers": peers}
            self._skipless = Diagnostic.from_rule("AN-B1", recording.steps[row], sentence, place=block, **numbers)
        return self._skipless

    def _check_unmoved(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds matrices that receive gradients, that no optimizer given holds, and that nothing has changed.

        If only the last matrices are held, the others may be meant to stay.
        """
        names = [recording.unheld[index] for index in recording.fact("unmoved", row) if index < len(recording.unheld)]
        matrices = recording.matrices
        is_head_alone = 2 * len(names) > len(matrices) and set(names) == set(matrices[: len(names)])
        if names and not is_head_alone:
            listed = (
                _short_names(list(range(len(names))), names)
                if set(names) - set(matrices)
                else _module_list(recording, [index for index, name in enumerate(matrices) if name in names])
            )
            pronoun = "it" if len(names) == 1 else "them"
            sentence = (
                f"From the start {listed} {'gets' if len(names) == 1 else 'get'} a gradient, but no optimizer holds "
                f"{pronoun}: {int(RULES['AN-W3'].threshold)} updates have changed nothing."
            )
            numbers = {"matrices": len(names), "of": len(matrices)}
            self._unmoved = Diagnostic.from_rule("AN-W3", 0, sentence, place=names[0], **numbers)
        return self._unmoved

    def _check_unreached(self, recording: Recording, row: int) -> Iterable[Diagnostic]:
        """Finds matrices that no gradient reaches, because the graph is cut or for other reasons."""
        if row in recording.skipped or not recording.matrices:
            return
        step = recording.steps[row]
        total = len(recording.matrices)
        absent = set(recording.fact("absent", row))
        zero = set(recording.fact("zero", row))
        if not self._rows:
            self._first_step = step
            self._unreached = absent | zero
        self._unreached &= absent | zero

        cuts = [cut for cut in recording.cuts if cut.matrices and absent.issuperset(cut.matrices)]
        label, cut_off = max(cuts, key=lambda cut: len(cut.matrices), default=("", ()))
        if not cut_off:
            self._cut_since = None
        elif self._cut_since is None:
            self._cut_since = step
        if self._cut_since is not None:
            verb = "receives" if len(cut_off) == 1 else "receive"
            sentence = (
                f"The graph is cut by {label}: no gradient comes back past it, and {_module_list(recording, cut_off)} "
                f"{verb} none."
            )
            numbers = {"matrices": len(cut_off), "of": total}
            yield Diagnostic.from_rule("AN-G2", self._cut_since, sentence, place=label, **numbers)

        unreached = self._unreached.difference(cut_off)
        rows = self._rows + 1
        is_measured = len(absent) < total  # an optimizer in the backward pass leaves no gradient to measure
        if unreached and is_measured and rows >= RULES["AN-W1"].threshold:
            sentence = f"{from_step(self._first_step)} no gradient has reached {_module_list(recording, unreached)}."
            numbers = {"matrices": len(unreached), "of": total, "rows": rows}
            place = recording.matrices[min(unreached)]
            yield Diagnostic.from_rule("AN-W1", self._first_step, sentence, place=place, **numbers)

    def _check_clipping(self, recording: Recording, row: int) -> Iterable[Diagnostic]:
        """Finds clipping that acts on every update, and clipping that hides a gradient that explodes."""
        (before,) = recording.values_at("grad_norm_unclipped", row)
        (after,) = recording.values_at("grad_norm", row)
        if before is None or after is None or not 0 < after < math.inf or not 0 < before < math.inf:
            return
        clip = Clip(recording.steps[row], before, after)
        self._clips.append(clip)
        if len(self._latest_clips) == LATEST_ROWS:
            self._earlier_norms.append(self._latest_clips[0].before)
        self._latest_clips.append(clip)
        yield from self._check_constant_clipping()
        yield from self._check_explosion(after)

    def _check_constant_clipping(self) -> Iterable[Diagnostic]:
        factors = [clip.before / clip.after for clip in self._clips]
        always_acts = len(factors) == CLIPPED_ROWS and min(factors) > MIN_CLIPPING_FACTOR
        if not always_acts or geometric_mean(factors) <= RULES["AN-C1"].threshold:
            self._clipping.pop("AN-C1", None)
            return
        first = self._clips[0]
        sentence = (
            f"Clipping has acted on every update since step {first.step}: on that one it took the gradient from "
            f"{number(first.before)} to {number(first.after)}."
        )
        numbers = {"factor": geometric_mean(factors), "before": first.before, "after": first.after}
        yield self._clipping.setdefault(
            "AN-C1", Diagnostic.from_rule("AN-C1", first.step, sentence, place="the clipping", **numbers)
        )

    def _check_explosion(self, after: float) -> Iterable[Diagnostic]:
        earlier = median(self._earlier_norms or [math.inf])
        latest = median(clip.before for clip in self._latest_clips)
        explodes = len(self._earlier_norms) >= MIN_EARLIER_ROWS and latest > RULES["AN-C2"].threshold * earlier
        if "AN-C2" not in self._clipping and explodes:
            since = self._latest_clips[0].step
            sentence = (
                f"Clipping hides a gradient that explodes: around step {since} it is {number(latest)} before clipping, "
                f"{number(latest / earlier)} times what it was before."
            )
            numbers = {"gradient": latest, "usual": earlier, "after": after}
            self._clipping["AN-C2"] = Diagnostic.from_rule("AN-C2", since, sentence, place="the loss", **numbers)
        if "AN-C2" in self._clipping:
            yield self._clipping["AN-C2"]

    def _check_thawed(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds matrices that receive a gradient although they were frozen when the recording began."""
        thawed = [matrix for matrix in recording.fact("thawed", row) if matrix < len(recording.frozen)]
        self._thawed = {matrix: self._thawed.get(matrix, recording.steps[row]) for matrix in thawed}
        if not thawed:
            return None
        since = min(self._thawed.values())
        verb, pronoun = ("receives", "it") if len(thawed) == 1 else ("receive", "them")
        sentence = (
            f"{from_step(since)} {_short_names(thawed, recording.frozen)}, frozen when the recording began, {verb} a "
            f"gradient; the blocks leave {pronoun} out."
        )
        numbers = {"matrices": len(thawed), "frozen": len(recording.frozen)}
        return Diagnostic.from_rule("AN-W2", since, sentence, place=recording.frozen[thawed[0]], **numbers)

    def _check_calls(self, recording: Recording, row: int) -> Diagnostic | None:
        """Finds the module whose number of calls differs most from the traced pass."""
        traced_calls = recording.calls
        calls = recording.fact("calls", row)
        if not calls or not len(calls) == len(traced_calls) == len(recording.sites):
            return self._calls
        site = max(range(len(calls)), key=lambda index: abs(calls[index] - traced_calls[index]))
        fewest_calls, most_calls = sorted((calls[site], traced_calls[site]))
        if most_calls < 2:  # stochastic depth leaves blocks out at random
            return self._calls
        if self._calls is None or fewest_calls < self._fewest_calls or most_calls > self._most_calls:
            since = self._calls.since if self._calls else recording.steps[row]
            self._fewest_calls = min(fewest_calls, self._fewest_calls) if self._calls else fewest_calls
            self._most_calls = max(most_calls, self._most_calls)
            sentence = (
                f"{recording.sites[site].module} is called {self._fewest_calls} to {self._most_calls} times in a pass; "
                f"a row holds at most the first {traced_calls[site]} calls."
            )
            numbers = {"fewest": self._fewest_calls, "most": self._most_calls, "row": traced_calls[site]}
            place = recording.sites[site].module
            self._calls = Diagnostic.from_rule("AN-S2", since, sentence, place=place, **numbers)
        return self._calls


def from_step(step: int) -> str:
    """The opening words of a sentence about everything since a step."""
    return f"From step {step} on" if step else "From the start"


def _module_list(recording: Recording, matrices: Collection[int]) -> str:
    return _short_names(sorted(matrices), recording.matrices)


def _short_names(indices: Sequence[int], names: Sequence[str]) -> str:
    """Up to MAX_NAMES of the matrices at these indices. A module stands for its matrices if all are included."""
    chosen = [names[index] for index in indices if index < len(names)]
    others = set(names).difference(chosen)
    short = list(dict.fromkeys(outermost_module(name, others) for name in chosen))
    listed = ", ".join(short[:MAX_NAMES])
    return f"{listed} and {len(short) - MAX_NAMES} more" if len(short) > MAX_NAMES else listed


def outermost_module(name: str, others: Collection[str]) -> str:
    """The outermost module of a matrix without any of `others` inside; the matrix itself if there is none."""
    parts = name.split(".")
    for length in range(1, len(parts)):
        module = ".".join(parts[:length])
        if not any(other.startswith(f"{module}.") for other in others):
            return module
    return name
