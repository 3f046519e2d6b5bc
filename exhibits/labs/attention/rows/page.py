"""One row of scores: its softmax, the weighted sum of values, and numbers that cannot be weights."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example, numbered_names
from components.labs.parts import draw_sentence, number_cells
from components.labs.weights import weights_text
from components.shell.text import named_table, number, vector
from models.content import Texts
from models.labs.attention import entropy, softmax
from models.labs.attention_examples import ROWS, SCORES, WEIGHTS, AttentionRow
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/rows")
KEY = "attention_rows"
SUM_TOLERANCE = 1e-3  # how far a sum of rounded weights may be from 1


@dataclass(frozen=True)
class ShownRow(Settings):
    columns = (3,)

    kind: Annotated[str, Knob("These are", choices=dict.fromkeys((SCORES, WEIGHTS)), control="segments")] = SCORES
    by: Annotated[float, Knob("Divide scores by", 0.01, 100.0, link="divisor")] = 1.0
    weigh: Annotated[bool, Knob("Weight values with them")] = False


def draw() -> None:
    st.subheader("Softmax of one row of scores", anchor=False)
    example = _choose_example()
    numbers, *others = table.draw_table(
        f"{KEY}_row",
        np.array([example.numbers]),
        name="scores",
        rows=["row"],
        columns=example.words or partial(numbered_names, "token"),
    )
    if others:
        st.caption(TEXTS("rows left out", rows=1 + len(others)))
    settings = form.draw(ShownRow, KEY, ShownRow(example.kind, example.divisor, bool(example.values)))
    are_scores, divisor = settings.kind == SCORES, settings.by
    draw_sentence(row_sentence(numbers, settings.kind, divisor))
    weights = softmax(numbers / divisor) if are_scores else numbers
    tokens = example.words if len(example.words) == len(numbers) else tuple(numbered_names("", len(numbers)))
    if are_scores:
        named_table(
            "Scores and weights",
            {
                "token": [token.strip() for token in tokens],
                "score": number_cells(numbers, 5),
                "score, divided": number_cells(numbers / divisor, 5),
                "weight": [f"{weight:.5f}" for weight in weights],
            },
        )
    if settings.weigh:
        _draw_weighted_sum(weights, example)


def _draw_weighted_sum(weights: np.ndarray, example: AttentionRow) -> None:
    """Draws a table of the values, one row per token, and their weighted sum."""
    default = example.values or next(iter(ROWS.values())).values
    values = table.draw_table(f"{KEY}_values", np.array(default), name="values")
    if len(values) != len(weights):
        st.error(TEXTS("values do not fit", numbers=len(weights), rows=len(values)))
        return
    terms = " + ".join(f"{number(weight, 3)}·{vector(row, 3)}" for weight, row in zip(weights, values, strict=True))
    draw_sentence(f"Weighted sum: {terms} = **{vector((weights @ values).round(4))}**")


def _choose_example() -> AttentionRow:
    def load(example: AttentionRow) -> None:
        table.put(f"{KEY}_row", np.array([example.numbers]))
        form.put(KEY, kind=example.kind, by=example.divisor, weigh=bool(example.values))
        if example.values:
            table.put(f"{KEY}_values", np.array(example.values))

    example = ROWS[choose_example(KEY, ROWS, load, link="row", with_reset=True)]
    st.info(slip_sentence(example))
    return example


def row_sentence(numbers: np.ndarray, kind: str, divisor: float) -> str:
    """The softmax of scores step by step; for weights, whether they can be the result of a softmax."""
    if kind == WEIGHTS:
        total = float(numbers.sum())
        if (numbers < 0).any():
            return TEXTS("negative weights", smallest=numbers.min())
        if abs(total - 1) <= SUM_TOLERANCE:
            return TEXTS("weights of a softmax", total=total)
        divided = TEXTS("divided by their sum", weights=weights_text(numbers / total)) if total else ""
        return TEXTS("no softmax", total=total, divided=divided)
    scaled = numbers / divisor
    powers, weights = np.exp(scaled - scaled.max()), softmax(scaled)
    return TEXTS(
        "softmax of a row",
        scaled=scaled,
        powers=powers,
        weights=weights_text(weights),
        sum=powers.sum(),
        total=weights.sum(),
        entropy=entropy(weights),
        count=len(weights),
        most=np.log(len(weights)),
    )


def slip_sentence(example: AttentionRow) -> str:
    """Correction of a widely copied error in this example."""
    numbers = np.array(example.numbers)
    if example.kind == WEIGHTS:
        return TEXTS("slip of weights", numbers=numbers, total=numbers.sum())
    printed, weights = np.array(example.printed_weights), softmax(numbers / example.divisor)
    output = ""
    if example.printed_output:
        correct = (weights @ np.array(example.values)).round(3)
        of_printed = ""
        if example.printed_values:
            of_printed = " " + TEXTS("slip of a sum", own=(printed @ np.array(example.printed_values)).round(3))
        output = TEXTS("slip of an output", printed=np.array(example.printed_output), output=correct, own=of_printed)
    over = "" if example.divisor == 1 else f" over {number(example.divisor)}"
    correct_weights = {"numbers": numbers, "over": over, "weights": weights_text(weights)}
    if example.printed_vectors:
        query, *others = np.array(example.printed_vectors)
        keys = {"keys": ", ".join(map(vector, others)), "right": np.array([key @ query for key in (query, *others)])}
        output = TEXTS("slip of a dot product", numbers=numbers, query=query, **keys)
    return TEXTS("slip of a softmax", printed=printed, total=printed.sum(), output=output, **correct_weights).strip()
