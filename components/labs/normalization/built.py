"""Layer norm built by its lines beside torch's, and gain and bias as rows that learn."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import LOSS, NORM
from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_names
from components.labs.normalization.table import LabTable
from components.labs.parts import draw_charts, draw_finding, line_chart
from components.player.answer import answer
from components.shell.text import number
from components.shell.waiting import poll_while
from models import answers
from models.content import Texts
from models.labs.built_norm import TORCH_EPS, TORCH_NORM, NormLines, digits, first_difference
from models.labs.learned_rows import STEPS, TrainedRows, largest_rate, least_loss, train_rows
from models.labs.normalization import normalise
from models.labs.normalization_laws import unbiased_std_shortfall
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
BUILT_KEY, ROWS_KEY = "normalization_built", "normalization_rows"
MAX_DRAWN_FEATURES = 8  # the chart shows gain and bias of the first ones
REACHED_SHARE = 1e-12  # a least loss below this share of the first loss counts as 0
THIS_TOKEN, ALL_TOKENS = "this token", "all tokens"


@dataclass(frozen=True)
class BuiltNorm(Settings):
    columns = ()

    biased: Annotated[bool, Knob("unbiased=False", link="divide-by-n")] = NormLines.biased
    inside: Annotated[bool, Knob("eps inside the root", link="eps-inside")] = NormLines.inside
    affine: Annotated[bool, Knob("gamma and beta", link="affine")] = NormLines.affine
    small: Annotated[float, Knob("eps =", choices={1e-6: "1e-6", 1e-5: "1e-5"}, link="line-eps", width=110)] = (
        NormLines.eps
    )
    gamma: Annotated[float, Knob("gamma is", -10.0, 10.0, 0.5, width=130)] = 1.5
    beta: Annotated[float, Knob("beta is", -10.0, 10.0, 0.5, width=130)] = 0.0


@dataclass(frozen=True)
class LearnedRows(Settings):
    columns = (3,)

    fit: Annotated[str, Knob("Fit the targets of", choices=dict.fromkeys((THIS_TOKEN, ALL_TOKENS)))] = ALL_TOKENS
    rate: Annotated[float, Knob("Learning rate", 0.01, 3.0, 0.05, link="rows-rate")] = 0.3
    shown: Annotated[int, Knob("Step", 0, STEPS, 1, control="slider", link="descent")] = STEPS


def draw_built_norm(lab: LabTable) -> None:
    """Draws a class built line by line, and its numbers for the chosen token beside torch's."""
    x = lab.token
    settings = form.draw(BuiltNorm, BUILT_KEY)
    gamma, beta = settings.gamma, settings.beta
    lines = NormLines(
        biased=settings.biased,
        inside=settings.inside,
        eps=settings.small,
        affine=settings.affine,
        gamma=gamma,
        beta=beta,
    )
    ours = lines.apply(x)
    code, beside = st.columns(2)
    with code:
        st.code(lines.code, language="python", wrap_lines=True)
        torch_lines = {"biased": True, "inside": True, "affine": True, "small": TORCH_EPS}
        st.button(
            "Use torch's lines", key=f"{BUILT_KEY}_right", on_click=form.put, args=(BUILT_KEY,), kwargs=torch_lines
        )

    def draw_answer() -> bool:
        reply = answer(answers.LAYER_NORM, RunConfig(), row=x.tolist(), eps=TORCH_EPS, gain=gamma, bias=beta)
        reply.show("Asking torch")
        if reply.value is not None:
            theirs = np.asarray(reply.value.row, float)
            st.markdown(digits_table(ours, theirs))
            draw_finding(digits_sentence(ours, theirs, lines), "measured")
        return reply.is_waiting

    with beside:
        poll_while(BUILT_KEY, draw_answer)
    if not lines.inside:
        divisors = {"formula": np.sqrt(x.var() + lines.eps), "code": lines.divisor(x)}
        st.markdown(TEXTS("formula and code", root=number(np.sqrt(lines.eps)), eps=number(lines.eps), **divisors))
    st.markdown(keepdim_sentence(lab.values))
    if not lines.biased:
        wide = {width: unbiased_std_shortfall(width) for width in (64, 512)}
        st.markdown(TEXTS("by hand", less=len(x) - 1, features=len(x), own=unbiased_std_shortfall(len(x)), wide=wide))


def draw_learned_rows(lab: LabTable) -> None:
    """Draws gain and bias as rows that gradient descent fits to targets, for one token or for all."""
    values, names = lab.values, lab.names
    settings = form.draw(LearnedRows, ROWS_KEY)
    tokens = [lab.row] if settings.fit == THIS_TOKEN else list(range(len(values)))
    normed = normalise(values, "layer norm", eps=lab.eps).values[tokens]
    left, right = st.columns(2)
    with left:
        st.markdown("**Start**")
        initial_rows = np.array([np.ones(values.shape[1]), np.zeros(values.shape[1])])
        start = table.draw_table(f"{ROWS_KEY}_start", initial_rows, name="rows", rows=("gamma", "beta"))
    with right:
        st.markdown("**Targets**")
        token_names = [names[token] for token in tokens]
        key, link = ("one", "target") if settings.fit == THIS_TOKEN else ("all", "targets")
        target = table.draw_table(f"{ROWS_KEY}_{key}", values[tokens], name=link, rows=token_names)
    if start.shape != initial_rows.shape or target.shape != normed.shape:
        st.error(TEXTS("rows do not fit", tokens=len(tokens), features=values.shape[1]))
        return
    path = train_rows(normed, target, start, rate=settings.rate)
    floor = least_loss(normed, target)
    draw_charts(ROWS_KEY, loss_chart(path, floor), rows_chart(path))
    draw_finding(learned_sentence(path, floor, settings.rate, largest_rate(normed), tokens=len(tokens)))
    step = min(settings.shown, len(path.loss) - 1)
    gain, bias = path.gain[step], path.bias[step]
    index = ["gamma", "beta", *token_names, *(f"target of {name}" for name in token_names)]
    cells = np.vstack([gain, bias, gain * normed + bias, target])
    frame = pd.DataFrame(cells, index, numbered_names("feature", values.shape[1])).map(number)
    draw_finding(f"After {step} steps")
    st.dataframe(frame, alt="Gain, bias and results after the step shown, table")


def keepdim_sentence(values: np.ndarray) -> str:
    """What `-1` and `keepdim=True` do for a table (T, D), and what would happen without the second."""
    tokens, features = values.shape
    if tokens == 1:
        consequence = TEXTS("keepdim, one token")
    elif features == 1:
        consequence = TEXTS("keepdim, one feature", tokens=tokens)
    elif tokens == features:
        wrong, right = (values - values.mean(-1))[0], values[0] - values[0].mean()
        consequence = TEXTS("keepdim, a silent slip", wrong=wrong.round(3), right=right.round(3))
    else:
        consequence = TEXTS("keepdim, refused", tokens=tokens, features=features)
    return TEXTS("keepdim", consequence=consequence)


def digits_table(ours: np.ndarray, theirs: np.ndarray) -> str:
    """A table in Markdown: the class's digits by feature, red from the first difference on, beside torch's."""
    rows = ["| feature | this class | nn.LayerNorm |", "|---|---|---|"]
    for i, (value, expected) in enumerate(zip(ours, theirs, strict=True), start=1):
        text, place = digits(value), first_difference(value, expected)
        if place is not None:
            text = f"{text[:place]}:red[**{text[place:]}**]"  # a background would stand apart from the digits before it
        rows.append(f"| {i} | {text} | {digits(expected)} |")
    return "\n".join(rows)


def digits_sentence(ours: np.ndarray, theirs: np.ndarray, lines: NormLines) -> str:
    """Whether all digits agree, or by how much the result is too short or too long."""
    if all(first_difference(value, expected) is None for value, expected in zip(ours, theirs, strict=True)):
        are_torchs = replace(TORCH_NORM, gamma=lines.gamma, beta=lines.beta) == lines
        return TEXTS("digits agree" if are_torchs else "digits agree by chance")
    our_length, their_length = float(np.linalg.norm(ours)), float(np.linalg.norm(theirs))
    share = our_length / their_length if their_length else np.inf
    return TEXTS("digits differ", apart=float(np.abs(ours - theirs).max()), share=share)


def learned_sentence(path: TrainedRows, floor: float, rate: float, largest: float, *, tokens: int) -> str:
    """Whether gain and bias reach the targets, and why or why not.

    `floor` is the least loss that any rows have, `largest` the largest learning rate that converges.
    """
    first_loss, last_loss = float(path.loss[0]), float(path.loss[-1])
    if rate > largest and last_loss > first_loss:
        return TEXTS("rows diverge", rate=rate, largest=largest)
    if floor > REACHED_SHARE * max(1.0, first_loss):
        heading = "rows fail"
    else:
        heading = "rows reach one" if tokens == 1 else "rows reach several"
    return TEXTS(heading, first=first_loss, last=last_loss, floor=floor, tokens=tokens, steps=len(path.loss) - 1)


def loss_chart(path: TrainedRows, floor: float) -> Figure:
    """The loss by step, and the least that any gain and bias can reach."""
    steps = len(path.loss)
    lines = {"loss": path.loss, "least for any gamma and beta": np.full(steps, floor)}
    roles = ("now", "formula")
    return line_chart("Loss by step", range(steps), lines, roles, x="step", unit="half mean square", hue=LOSS)


def rows_chart(path: TrainedRows) -> Figure:
    """Gain and bias by step, a line for each feature."""
    count = min(path.gain.shape[1], MAX_DRAWN_FEATURES)
    steps = range(len(path.loss))
    lines = {f"gamma {i + 1}": path.gain[:, i] for i in range(count)}
    lines |= {f"beta {i + 1}": path.bias[:, i] for i in range(count)}
    roles = ["now"] * count + ["other"] * count
    return line_chart("gamma and beta by step", steps, lines, roles, axis="linear", x="step", unit="value", hue=NORM)
