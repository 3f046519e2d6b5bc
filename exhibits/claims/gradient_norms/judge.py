"""Judges the claim: The tensor with the longest gradient has the largest gradient."""

from collections.abc import Sequence

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge


@judge("by_length by_rms numbers")
def largest_gradient(values: Values) -> Judgement:
    """Whether length and RMS rank the gradients of a net's tensors in the same order."""
    reference = values["torch"]

    def names_by(sizes: Sequence[float]) -> list[str]:
        return [name for _, name in sorted(zip(sizes, reference.tensor, strict=True), reverse=True)]

    by_length, by_rms = names_by(reference.length), names_by(reference.rms)
    table = {"tensor": reference.tensor, "numbers": reference.numbers, "length": reference.length, "RMS": reference.rms}
    numbers = {"by_length": by_length, "by_rms": by_rms, "numbers": reference.numbers}
    return Judgement(verdict([by_length == by_rms]), numbers, table)
