"""Where two recordings first differ: the step, and within it the first quantity in the order of computation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from addnorm.recording import Recording
from addnorm.words import number

# In the order in which a step computes them: forwards, the loss, backwards, the update.
FORWARD = ("input", "input_mark", "target", "act_rms", "output", "loss", "cross_entropy")
BACKWARD = ("grad_rms", "weight_grad_rms", "grad_norm_unclipped", "grad_norm", "lr", "update_to_weight")
IN_WORDS = {
    "act_rms": "signal", "grad_rms": "gradient", "weight_grad_rms": "weights' gradient", "lr": "learning rate",
    "update_to_weight": "update", "grad_norm": "gradient of all weights", "output": "model's output",
    "grad_norm_unclipped": "gradient before clipping", "input_mark": "input", "cross_entropy": "cross-entropy",
}  # fmt: skip
LATE_DIGITS = 0.1  # a relative difference below this grows from rounding or from a small change


class Parting(NamedTuple):
    """The first difference of two recordings. `place`: a site or block, empty for a number of the whole step."""

    step: int
    quantity: str
    place: str
    first: float
    other: float

    @property
    def difference(self) -> float:
        """Relative to the larger of the two; infinite if one is not finite."""
        largest = max(abs(self.first), abs(self.other))
        return abs(self.first - self.other) / largest if math.isfinite(largest) and largest else math.inf


def comparison(first: Recording, other: Recording, tolerance: float = 0.0) -> tuple[bool, list[str]]:
    """Whether two recordings part, and sentences on where. `tolerance`: a relative difference that counts as none."""
    sentences = list(_differences_of_headers(first, other))
    common = sorted(set(first.steps) & set(other.steps))
    if not common:
        return True, [*sentences, "They have no step in common."]
    parting = next(_partings(first, other, common, tolerance), None)
    if parting is None:
        return bool(sentences), [*sentences, f"They agree in all {len(common)} steps that both have."]
    at = f" at {parting.place}" if parting.place else ""
    quantity = IN_WORDS.get(parting.quantity, parting.quantity)
    values = f"{number(parting.first, 7)} and {number(parting.other, 7)}"
    count = common.index(parting.step)
    agreed = f"agree in {count} common step{'s' * (count > 1)}, and first differ" if count else "first differ"
    size = "" if parting.difference > LATE_DIGITS else f", a relative difference of {number(parting.difference)}"
    return True, [*sentences, f"They {agreed} at step {parting.step}: the {quantity}{at}, {values}{size}."]


def _differences_of_headers(first: Recording, other: Recording) -> Iterator[str]:
    for key in ("model", "parameters", "dtype", "device", "optimizer"):
        if first.header.get(key) != other.header.get(key):
            yield f"They differ in {key}: {first.header.get(key)} and {other.header.get(key)}."
    if [site.name for site in first.sites] != [site.name for site in other.sites]:
        yield f"Their sites differ: {len(first.sites)} and {len(other.sites)}; those with the same names are compared."


def _partings(first: Recording, other: Recording, steps: list[int], tolerance: float) -> Iterator[Parting]:
    rows = [{step: row for row, step in enumerate(recording.steps)} for recording in (first, other)]
    for step in steps:
        values_of_both = [
            _values(recording, by_step[step]) for recording, by_step in zip((first, other), rows, strict=True)
        ]
        for (quantity, place), value in values_of_both[0].items():
            other_value = values_of_both[1].get((quantity, place), value)
            are_equal = value == other_value or (math.isnan(value) and math.isnan(other_value))
            if not are_equal and not math.isclose(value, other_value, rel_tol=tolerance):
                yield Parting(step, quantity, place, value, other_value)


def _values(recording: Recording, row: int) -> dict[tuple[str, str], float]:
    """The numbers of a row by quantity and place, in the order of computation."""
    values: dict[tuple[str, str], float] = {}
    for name in (*FORWARD, *BACKWARD):
        places = [""]
        if name in ("act_rms", "grad_rms"):
            places = [site.name for site in recording.sites]
        elif name in ("weight_grad_rms", "update_to_weight"):
            places = [block.name for block in recording.blocks]
        pairs = list(zip(places, recording.values_at(name, row), strict=True))
        for place, value in reversed(pairs) if name in ("grad_rms", "weight_grad_rms") else pairs:
            if value is not None:
                values[name, place] = value
    return values
