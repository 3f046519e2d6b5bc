"""One row of scores: its softmax, the weighted sum of values, and numbers that cannot be weights."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.controls import number_table as table
from components.labs.attention.head_words import shares
from components.labs.examples import choose, numbered
from components.shell.text import badge, named_table, number, vector
from models.labs.attention import entropy, softmax
from models.labs.attention_examples import ROWS, SCORES, WEIGHTS, AttentionRow
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_rows"
FIRST = next(iter(ROWS))
SUMS_TO_ONE = 1e-3  # tolerance for the sum of rounded weights


@dataclass(frozen=True)
class ShownRow(Settings):
    """What the numbers of the row are, and what is done with them."""

    columns = (3,)

    kind: Annotated[str, Knob("These are", choices=dict.fromkeys((SCORES, WEIGHTS)), control="segments")] = SCORES
    by: Annotated[float, Knob(
        "Divide scores by", "The square root of the key size: 2 for keys of 4 entries.", 0.01, 100.0, link="divisor"
    )] = 1.0  # fmt: skip
    weigh: Annotated[bool, Knob("Weight values with them")] = False


def draw() -> None:
    """The row, its kind, the values, and the results."""
    example = _example()
    numbers, *others = table.table(
        f"{KEY}_row", np.array([example.numbers]), name="scores", rows=["row"], columns=partial(numbered, "token")
    )
    if others:
        st.caption(f"Only the first of these {1 + len(others)} rows is used.")
    row = form.draw(ShownRow, KEY, ShownRow(example.kind, example.by, bool(example.values)))
    kind, by = row.kind, row.by
    st.markdown(f"{steps(numbers, kind, by)} {badge('formula')}")
    weights = softmax(numbers / by) if kind == SCORES else numbers
    if kind == SCORES:
        named_table(
            "Scores and weights",
            {
                "token": [str(at + 1) for at in range(len(numbers))],
                "score": [number(score, 5) for score in numbers],
                "score, divided": [number(score / by, 5) for score in numbers],
                "weight": [f"{weight:.5f}" for weight in weights],
            },
        )
    if row.weigh:
        _weighed(weights, example)


def steps(numbers: np.ndarray, kind: str, by: float) -> str:
    """From scores to weights, written out; or whether given weights can come from a softmax."""
    if kind == WEIGHTS:
        total = float(numbers.sum())
        if (numbers < 0).any():
            return f"**The smallest is {number(numbers.min())}, but a softmax gives no negative weights.**"
        if abs(total - 1) > SUMS_TO_ONE:
            each = f"Divided by their sum they would be {shares(numbers / total)}. " if total else ""
            return f"**They sum to {total:.2f}, so they cannot come from a softmax, whose weights sum to 1.** {each}"
        return f"They sum to {number(total)}, as the weights of a softmax do."
    scaled = numbers / by
    powers = np.exp(scaled - scaled.max())
    weights = softmax(scaled)
    return (
        f"softmax of {vector(scaled, 5)}: exp of each minus the largest is {vector(powers)}, with sum "
        f"{number(powers.sum())}. Weights: **{shares(weights)}**, which sum to {number(weights.sum())}; the entropy "
        f"is {number(float(entropy(weights)), 3)} nats, at most ln {len(weights)} = {number(np.log(len(weights)), 3)}."
    )


def slip(example: AttentionRow) -> str:
    """A widely copied slip with these numbers, and the right values."""
    if example.kind == WEIGHTS:
        total = sum(example.numbers)
        return (
            f"A widely copied worked example gives {vector(example.numbers)} as attention weights over seven tokens. "
            f"They sum to {total:.2f}; those of a softmax sum to 1."
        )
    weights = softmax(np.array(example.numbers) / example.by)
    over = "" if example.by == 1 else f" over {number(example.by)}"
    said = (
        f"A widely copied worked example gives the weights {vector(example.printed_weights)}, which sum to "
        f"{sum(example.printed_weights):.2f}; the softmax of {vector(example.numbers, 5)}{over} is {shares(weights)}."
    )
    if example.printed_output:
        output = weights @ np.array(example.values)
        printed, right = vector(example.printed_output), vector(output.round(3))
        said += f" It gives the output {printed}; with the right values it is {right}."
    return said


def _weighed(weights: np.ndarray, example: AttentionRow) -> None:
    """The values, one row per token, and their weighted sum."""
    values = table.table(f"{KEY}_values", np.array(example.values or ROWS[FIRST].values), name="values")
    if len(values) != len(weights):
        st.error(
            f"There are {len(weights)} numbers and {len(values)} rows of values; a weighted sum needs one row for each "
            "number."
        )
        return
    terms = " + ".join(f"{number(weight, 3)}·{vector(row, 3)}" for weight, row in zip(weights, values, strict=True))
    st.markdown(f"Weighted sum: {terms} = **{vector((weights @ values).round(4))}** {badge('formula')}")


def _example() -> AttentionRow:
    def load(example: AttentionRow) -> None:
        table.put(f"{KEY}_row", np.array([example.numbers]))
        form.put(KEY, kind=example.kind, by=example.by, weigh=bool(example.values))
        if example.values:
            table.put(f"{KEY}_values", np.array(example.values))

    example = ROWS[choose(KEY, ROWS, load, name="row", again=True)]
    st.info(slip(example))
    return example
