"""Add & norm on one token, with its numbers: what each sublayer reads and writes, and what is left of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.parts import Figure, title_of
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose
from components.labs.maps import signed_map
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number, vector
from models.labs.residual import EPS, WALKED, WALKS, NormedToken, Step, Walk, layer_norm, left_over, walk
from models.spec.knob import Knob
from models.spec.placement import PLACEMENTS
from models.spec.settings import Settings

KEY = "residual"
FIRST = "Attention, then feed-forward, post-norm"
FEATURE = 34  # pixels: the height of a feature in the picture
WRITTEN_OUT = 12  # features and operations up to which its cells show their numbers
CHANNEL = (
    "The stream is the channel through which sublayers communicate: each reads it and adds to it, and nothing else "
    "leads from one to another (Elhage 2021, [A mathematical framework for transformer "
    "circuits](https://transformer-circuits.pub/2021/framework/index.html), of transformers whose residual passes no "
    "norm)."
)


@dataclass(frozen=True)
class Token(Settings):
    """How the outputs of the branches are added to the token."""

    columns = ()

    placement: Annotated[str, Knob(
        "Placement",
        "Where the norm goes. The table fixes the branches' outputs: a norm before them changes only their input.",
        choices=dict.fromkeys(WALKED), word="placement"
    )] = WALKED[0]  # fmt: skip
    skip: Annotated[
        float,
        Knob("Skip weight", "The factor on the residual; 0 removes it.", 0.0, 8.0, 0.5, width=220, word="skip weight"),
    ] = 1.0
    relu: Annotated[bool, Knob(
        "ReLU after the add",
        "As in the first residual nets: the stream is relu(x + F). Not with a norm after the add.",
        word="ReLU after the add"
    )] = False  # fmt: skip


def draw() -> np.ndarray:
    """The section. Returns the table: the token and the outputs of the branches (1 + M, D)."""
    left, right = st.columns(2)
    with left:
        example = _example()
    usual = Token(example.placement)
    placement = form.draw(Token, KEY, usual, only=["placement"], places=[right]).placement
    picture = st.container()
    values = table.table(f"{KEY}_token", _rows(example), name="table", rows=row_names)
    normed = PLACEMENTS[placement].norm_add  # which takes the place of the ReLU
    joined = form.draw(Token, KEY, usual, only=["skip", "relu"], idle=["relu"] if normed else ())
    skip, relu = joined.skip, joined.relu and not normed
    steps = walk(values[0], values[1:], placement, skip=skip, relu=relu)
    if not steps:
        picture.info("Add a second row: it is the output of the first branch.")
        return values
    with picture:
        _picture(steps, values[0], skip)
    with st.expander("Step by step, with every sum and norm"):
        formula = _weighted(PLACEMENTS[placement].formula, skip)
        st.latex(rf"x\leftarrow\operatorname{{relu}}({formula})" if relu else f"y={formula}")
        for at, step in enumerate(steps, start=1):
            _step(at, step, skip)
        _what_was_read(steps, values, placement, skip)
    with st.expander("What each sublayer reads and writes, and what is left of it"):
        _reads_and_writes(steps, values, skip)
    return values


def _picture(steps: list[Step], x: np.ndarray, skip: float) -> None:
    """The token on its way, and what is left of it at the end."""
    figure = walk_map(steps, x)
    static_chart(figure, title_of(figure), f"{KEY}_walk", height=min(110 + FEATURE * len(x), 420))
    st.markdown(f"{left_said(steps, skip)} {badge('formula')}")


def walk_map(steps: Sequence[Step], x: np.ndarray) -> Figure:
    """The features of a token (D,) as colours, after every operation from left to right."""
    columns = {"x": x}
    for at, step in enumerate(steps, start=1):
        if step.norm_in:
            columns[f"N(x) {at}"] = step.read
        columns[f"N(F) {at}" if step.norm_out else f"F {at}"] = step.written
        columns[f"sum {at}"] = step.sum
        if step.norm_add or step.open is not None:
            columns[f"norm {at}" if step.norm_add else f"relu {at}"] = step.after
    values = np.array(list(columns.values())).T
    written_out = values.shape[0] <= WRITTEN_OUT and values.shape[1] <= WRITTEN_OUT
    texts = [[number(value, 3) for value in row] for row in values] if written_out else None
    rows = [str(at) for at in range(1, len(x) + 1)]
    title = "The token after every operation"
    return signed_map(title, rows=rows, columns=list(columns), values=values, unit="", x="", y="feature", texts=texts)


def row_names(count: int) -> list[str]:
    """Names of the rows: the token, then its branches."""
    return ["x", *(f"F{at}(x)" for at in range(1, count))]


def slip(example: Walk) -> str:
    """A widely copied slip in this example and the right values, or ""."""
    if example.printed_variance is None:
        return ""
    found = walk(np.array(example.token), np.array(example.branches), example.placement)[-1].norm_add
    assert found is not None
    return (
        f"A widely copied worked example gives {number(example.printed_variance)} for the variance of "
        f"{vector(found.given)}; it is {found.variance:.4f}. So the result is {vector(found.values.round(3))}, not "
        f"{vector(np.array(example.printed_result))}. A good check: the squares of a normalised token average 1, "
        f"those of the printed one {np.mean(np.square(example.printed_result)):.3f}."
    )


def _example() -> Walk:
    def load(example: Walk) -> None:
        table.put(f"{KEY}_token", _rows(example))
        form.put(KEY, placement=example.placement, skip=1.0)

    example = WALKS[choose(KEY, WALKS, load, first=FIRST)]
    if said := slip(example):
        st.info(said)
    return example


def _rows(example: Walk) -> np.ndarray:
    return np.array([example.token, *example.branches], float)


def _step(at: int, step: Step, skip: float) -> None:
    """The arithmetic of one sublayer, one line per operation."""
    lines = [f"**Sublayer {at}**"]
    lines.append(_normed("reads N(x)", step.norm_in) if step.norm_in else f"reads x = {vector(step.read)}")
    lines.append(_normed("writes N(F)", step.norm_out) if step.norm_out else f"writes F = {vector(step.written)}")
    kept = "x" if skip == 1 else f"{number(skip)} x" if skip else "0"
    lines.append(
        f"add: {kept} + output = {vector(skip * step.before)} + {vector(step.written)} = **{vector(step.sum)}**"
    )
    if step.norm_add:
        lines.append(_normed("norm", step.norm_add))
    if step.open is not None:
        cut = [f"{feature}" for feature, through in enumerate(step.open, start=1) if not through]
        closed = f"; cut, in residual and branch: feature {' and '.join(cut)}" if cut else "; nothing is cut"
        lines.append(f"relu: max(0, sum) = **{vector(step.after.round(3))}**{closed}")
    st.markdown("  \n".join(lines))


def _normed(name: str, found: NormedToken) -> str:
    """Mean, variance and result, worked out by hand."""
    x, count = found.given, len(found.given)
    terms = " + ".join(number(value) if value >= 0 else f"({number(value)})" for value in x)
    squares = " + ".join(f"{number(value)}²" if value >= 0 else f"({number(value)})²" for value in x - found.mean)
    written_out = count <= 6
    mean = f"({terms}) / {count} = " if written_out else ""
    variance = f"({squares}) / {count} = " if written_out else ""
    return (
        f"{name}: mean {mean}{found.mean:.4f}, variance {variance}{found.variance:.4f}, so (x - {found.mean:.4f}) / "
        f"√({found.variance:.4f} + {EPS:g}) = **{vector(found.values.round(3))}**"
    )


def _what_was_read(steps: list[Step], values: np.ndarray, placement: str, skip: float) -> None:
    """What the second sublayer reads, and that a norm on the branch differs from a norm on the sum."""
    if len(steps) > 1 and placement in ("post-norm", "pre-norm"):
        second, rms = steps[1], float(np.sqrt(np.mean(steps[1].before ** 2)))
        st.markdown(
            "In post-norm the second sublayer does not read an un-normalised stream: it reads "
            f"{vector(second.read.round(3))}, the first norm's output, of RMS {number(rms, 3)}."
            if placement == "post-norm"
            else f"In pre-norm it is the stream that stays un-normalised, here {vector(second.before)} of RMS "
            f"{number(rms, 3)}; the second branch reads the normalised copy {vector(second.read.round(3))}."
        )
    if placement in ("sandwich", "post-norm", "res-post-norm") and steps[0].open is None:
        names = ("post-norm", "sandwich", "res-post-norm")
        ends = {name: walk(values[0], values[1:], name, skip=skip)[-1].after.round(3) for name in names}
        st.markdown(
            f"A norm on the sum is not a norm on the branch: post-norm ends at {vector(ends['post-norm'])}, sandwich "
            f"at {vector(ends['sandwich'])}, as does res-post-norm ({vector(ends['res-post-norm'])}) if the branches' "
            "outputs are the same; those two differ in what their branches read."
        )


def _reads_and_writes(steps: list[Step], values: np.ndarray, skip: float) -> None:
    """The stream as a ledger: input, output, sum; and how much of each output is left at the end."""
    st.caption(CHANNEL)
    rows = {
        "sublayer": [str(at) for at in range(1, len(steps) + 1)],
        "read": [vector(step.read.round(3)) for step in steps],
        "wrote": [vector(step.written.round(3)) for step in steps],
        "sum": [vector(step.sum.round(3)) for step in steps],
        "stream after": [vector(step.after.round(3)) for step in steps],
    }
    named_table("Reads and writes", rows)
    factors = left_over(steps, skip=skip)
    pieces = [values[0], *(step.written for step in steps)]
    centred = [piece - piece.mean() if steps[-1].norm_add else piece for piece in pieces]
    names = ["x", *(f"output {at}" for at in range(1, len(steps) + 1))]
    shares = {
        "part": [*names, "their sum"],
        "times": [*(_times(f) for f in factors), ""],
        "in the stream's end": [
            *(vector((f * piece).round(3)) for f, piece in zip(factors, centred, strict=True)),
            vector(
                sum((f * piece for f, piece in zip(factors, centred, strict=True)), np.zeros(values.shape[1])).round(3)
            ),
        ],
    }
    named_table("What is left of every output", pd.DataFrame(shares))
    normed = layer_norm(steps[-1].after)
    if not steps[-1].norm_add and PLACEMENTS[form.held(Token, KEY).placement].final_norm:
        st.caption(f"This placement has a final norm, so the output head reads {vector(normed.values.round(3))}.")


def left_said(steps: list[Step], skip: float) -> str:
    """What is left of the token at the end of the stream, and why."""
    why = (
        "Every norm after an add rescales all that came before, so the oldest outputs fade or grow with each one."
        if steps[-1].norm_add
        else relu_said(steps)
        if steps[-1].open is not None
        else "Nothing changes an output later on: the stream is a memory."
        if skip == 1
        else "Each residual multiplies all that came before by its weight."
    )
    factor = _times(left_over(steps, skip=skip)[0])
    parts = "the token and all outputs" + (", each minus its mean" if steps[-1].norm_add else "")
    return f"**The end of the stream is a sum of {parts}, with x times {factor}.** {why}"


def relu_said(steps: list[Step]) -> str:
    """How many features of the token are never cut by a ReLU after the add, so that the residual is no identity."""
    through = np.all([step.open for step in steps if step.open is not None], axis=0)
    return (
        f"The ReLU after the add leaves {int(through.sum())} of {len(through)} features of x a way to the end: where a "
        "sum is negative its slope is 0, for the gradient of the residual too. So the residual is no identity, and the "
        "stream is never negative (He 2015, 1512.03385); a year later its authors took that ReLU away (He 2016, "
        "1603.05027)."
    )


def _times(factors: np.ndarray) -> str:
    """The factor of all features, or those of each."""
    return number(factors[0], 3) if np.all(factors == factors[0]) else vector(factors, 3)


def _weighted(formula: str, skip: float) -> str:
    """The placement's formula with the skip weight."""
    if skip == 1:
        return formula
    return formula.replace("x+", f"{number(skip)}\\,x+" if skip else "", 1)
