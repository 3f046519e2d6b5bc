"""Add & norm on one token in numbers: the input and output of each sublayer, and how much is left of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example, numbered_names
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_sentence
from components.shell.text import named_table, number, vector
from exhibits.labs.residual.token.numbers import contribution_factors
from models.content import Texts
from models.labs.residual import (
    EPS,
    WALKABLE_PLACEMENTS,
    WORKED_EXAMPLES,
    NormedToken,
    Step,
    WorkedExample,
    layer_norm,
    run_sublayers,
)
from models.spec.knob import Knob
from models.spec.placement import PLACEMENTS
from models.spec.settings import Settings

TEXTS = Texts("labs/residual/token")
KEY = "residual"
FIRST_EXAMPLE = "Attention, then feed-forward, post-norm"
FEATURE_PIXELS = 34  # the height of a feature in the picture
MAX_WRITTEN_CELLS = 12  # features and operations up to which the picture's cells show their numbers
MAX_WRITTEN_TERMS = 6  # features up to which a norm's sums are written out


@dataclass(frozen=True)
class Token(Settings):
    columns = ()

    placement: Annotated[str, Knob("Placement", choices=dict.fromkeys(WALKABLE_PLACEMENTS), word="placement")] = (
        WALKABLE_PLACEMENTS[0]
    )
    skip: Annotated[float, Knob("Skip weight", 0.0, 8.0, 0.5, width=220, word="skip weight")] = 1.0
    relu: Annotated[bool, Knob("ReLU after the add", word="ReLU after the add")] = False


def draw() -> np.ndarray:
    """Draws the worked example: controls, table, picture and steps.

    Returns the table edited by the visitor, (1 + M, D): the token, then M branch outputs.
    """
    left, right = st.columns(2)
    with left:
        example = _choose_example()
    defaults = Token(example.placement)
    placement = form.draw(Token, KEY, defaults, only=["placement"], places=[right]).placement
    picture = st.container()
    values = table.draw_table(f"{KEY}_token", _rows(example), name="table", rows=row_names)
    replaces_relu = PLACEMENTS[placement].norm_add
    settings = form.draw(Token, KEY, defaults, only=["skip", "relu"], disabled=["relu"] if replaces_relu else ())
    skip = settings.skip
    relu = settings.relu and not replaces_relu
    steps = run_sublayers(values[0], values[1:], placement, skip=skip, relu=relu)
    if not steps:
        picture.info(TEXTS("no branch"))
        return values
    with picture:
        draw_charts(KEY, walk_map(steps, values[0]), height=min(110 + FEATURE_PIXELS * values.shape[1], 420))
        draw_sentence(end_sentence(steps, skip))
    with st.expander("Step by step, with every sum and norm"):
        formula = weighted_formula(placement, skip)
        st.latex(rf"x\leftarrow\operatorname{{relu}}({formula})" if relu else f"y={formula}")
        for i, step in enumerate(steps, start=1):
            _draw_step(i, step, skip)
        _draw_norm_differences(steps, values, placement, skip)
    with st.expander("What each sublayer reads and writes, and what is left of it"):
        _draw_reads_and_writes(steps, values, skip)
        if not replaces_relu and PLACEMENTS[placement].final_norm:
            st.caption(TEXTS("final norm", read=_rounded(layer_norm(steps[-1].after).values)))
    return values


def _choose_example() -> WorkedExample:
    def load(example: WorkedExample) -> None:
        table.put(f"{KEY}_token", _rows(example))
        form.put(KEY, placement=example.placement, skip=1.0)

    example = WORKED_EXAMPLES[choose_example(KEY, WORKED_EXAMPLES, load, first=FIRST_EXAMPLE)]
    if sentence := erratum_sentence(example):
        st.info(sentence)
    return example


def weighted_formula(placement: str, skip: float) -> str:
    """Formula of a placement in LaTeX with its skip term, the first "x+", times the skip weight."""
    formula = PLACEMENTS[placement].formula
    if skip == 1:
        return formula
    skip_term = f"{number(skip)}\\,x+" if skip else ""
    return formula.replace("x+", skip_term, 1)


def _draw_step(position: int, step: Step, skip: float) -> None:
    """The arithmetic of one sublayer, one line per operation."""
    skip_term = "x" if skip == 1 else f"{number(skip)} x"
    if skip == 0:
        skip_term = "0"
    output = vector(step.branch_output)
    lines = [
        f"**Sublayer {position}**",
        _norm_text("reads N(x)", step.norm_in) if step.norm_in else f"reads x = {vector(step.branch_input)}",
        _norm_text("writes N(F)", step.norm_out) if step.norm_out else f"writes F = {output}",
        f"add: {skip_term} + output = {vector(skip * step.before)} + {output} = **{vector(step.sum)}**",
    ]
    if step.norm_add:
        lines.append(_norm_text("norm", step.norm_add))
    if step.relu_mask is not None:
        zeroed_features = " and ".join(str(i + 1) for i in np.flatnonzero(~step.relu_mask))
        zeroed_text = f"cut, in residual and branch: feature {zeroed_features}" if zeroed_features else "nothing is cut"
        lines.append(f"relu: max(0, sum) = **{_rounded(step.after)}**; {zeroed_text}")
    st.markdown("  \n".join(lines))


def _draw_norm_differences(steps: list[Step], values: np.ndarray, placement: str, skip: float) -> None:
    """Draws the input of the second sublayer, and how a norm on the branch differs from a norm on the sum."""

    def last_output(placement: str) -> str:
        return _rounded(run_sublayers(values[0], values[1:], placement, skip=skip)[-1].after)

    if len(steps) > 1:
        second = steps[1]
        stream = vector(second.before)
        read = _rounded(second.branch_input)
        rms = np.sqrt(np.mean(second.before**2))
        if placement == "post-norm":
            st.markdown(TEXTS("second read, post-norm", read=read, rms=rms))
        if placement == "pre-norm":
            st.markdown(TEXTS("second read, pre-norm", stream=stream, read=read, rms=rms))
    if placement in ("sandwich", "post-norm", "res-post-norm") and steps[0].relu_mask is None:
        st.markdown(TEXTS("norm on the sum", sum=last_output("post-norm"), branch=last_output("sandwich")))


def _draw_reads_and_writes(steps: list[Step], values: np.ndarray, skip: float) -> None:
    """The stream as a ledger of inputs, outputs and sums, and how much of each output is left at the end."""
    st.caption(TEXTS("channel"))
    rows = {
        "sublayer": [str(i + 1) for i in range(len(steps))],
        "read": [_rounded(step.branch_input) for step in steps],
        "wrote": [_rounded(step.branch_output) for step in steps],
        "sum": [_rounded(step.sum) for step in steps],
        "stream after": [_rounded(step.after) for step in steps],
    }
    named_table("Reads and writes", rows)
    factors = contribution_factors(steps, skip=skip)
    parts = np.array([values[0], *(step.branch_output for step in steps)])
    if steps[-1].norm_add:
        parts = parts - parts.mean(1, keepdims=True)  # the norm subtracts the mean of each part
    remaining = factors * parts
    shares = {
        "part": ["x", *numbered_names("output", len(steps)), "their sum"],
        "times": [*map(_factor_text, factors), ""],
        "in the stream's end": [_rounded(part) for part in (*remaining, remaining.sum(0))],
    }
    named_table("What is left of every output", shares)


def row_names(count: int) -> list[str]:
    """Names of the token and its branches."""
    return ["x", *(f"F{i}(x)" for i in range(1, count))]


def erratum_sentence(example: WorkedExample) -> str:
    """Sentence that corrects an arithmetic error found in many copies of this example; empty if it has none."""
    if example.printed_variance is None:
        return ""
    norm = run_sublayers(np.array(example.token), np.array(example.branches), example.placement)[-1].norm_add
    assert norm is not None
    return TEXTS(
        "slip",
        printed_variance=example.printed_variance,
        sum=vector(norm.input),
        variance=norm.variance,
        result=_rounded(norm.values),
        printed_result=vector(example.printed_result),
        mean_square=np.mean(np.square(example.printed_result)),
    )


def end_sentence(steps: list[Step], skip: float) -> str:
    """How much of the token is left at the end of the stream, and why."""
    last = steps[-1]
    if last.norm_add:
        why = TEXTS("end after norms")
    elif last.relu_mask is not None:
        uncut = np.all([step.relu_mask for step in steps if step.relu_mask is not None], axis=0)
        why = TEXTS("end after relu", through=int(uncut.sum()), features=len(uncut))
    else:
        why = TEXTS("end of a memory") if skip == 1 else TEXTS("end after weights")
    factor = _factor_text(contribution_factors(steps, skip=skip)[0])
    centred = ", each minus its mean" if last.norm_add else ""
    return TEXTS("end", centred=centred, factor=factor, why=why)


def walk_map(steps: Sequence[Step], x: np.ndarray) -> Figure:
    """The features of a token (D,) as colours, after every operation from left to right."""
    columns = {"x": x}
    for i, step in enumerate(steps, start=1):
        if step.norm_in:
            columns[f"N(x) {i}"] = step.branch_input
        columns[f"N(F) {i}" if step.norm_out else f"F {i}"] = step.branch_output
        columns[f"sum {i}"] = step.sum
        if step.norm_add or step.relu_mask is not None:
            columns[f"norm {i}" if step.norm_add else f"relu {i}"] = step.after
    values = np.array(list(columns.values())).T
    digits = 3 if max(values.shape) <= MAX_WRITTEN_CELLS else None
    rows = [str(i) for i in range(1, len(x) + 1)]
    title = "The token after every operation"
    return signed_map(title, rows=rows, columns=list(columns), values=values, y="feature", digits=digits)


def _rows(example: WorkedExample) -> np.ndarray:
    return np.array([example.token, *example.branches], float)


def _rounded(values: np.ndarray) -> str:
    return vector(values.round(3))


def _norm_text(name: str, norm: NormedToken) -> str:
    """Mean, variance and result, worked out by hand."""
    x, count = norm.input, len(norm.input)
    terms = " + ".join(number(value) if value >= 0 else f"({number(value)})" for value in x)
    squares = " + ".join(f"{number(value)}²" if value >= 0 else f"({number(value)})²" for value in x - norm.mean)
    written_out = count <= MAX_WRITTEN_TERMS
    return TEXTS(
        "norm",
        name=name,
        mean_terms=f"({terms}) / {count} = " if written_out else "",
        mean=norm.mean,
        variance_terms=f"({squares}) / {count} = " if written_out else "",
        variance=norm.variance,
        eps=number(EPS),
        values=_rounded(norm.values),
    )


def _factor_text(factors: np.ndarray) -> str:
    """The factor of all features, or one for each."""
    return number(factors[0], 3) if np.all(factors == factors[0]) else vector(factors, 3)
