"""Gain and bias as rows that gradient descent fits to targets."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import LOSS, NORM
from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_names
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_finding, line_chart
from components.shell.text import number
from exhibits.labs.normalization.learned_rows.numbers import STEPS, TrainedRows, largest_rate, least_loss, train_rows
from models.content import Texts
from models.labs.normalization import normalise
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/learned_rows")
ROWS_KEY = "normalization_rows"

MAX_DRAWN_FEATURES = 8  # the chart shows gain and bias of the first ones
REACHED_SHARE = 1e-12  # a least loss below this share of the first loss counts as 0
THIS_TOKEN, ALL_TOKENS = "this token", "all tokens"


@dataclass(frozen=True)
class LearnedRows(Settings):
    columns = (3,)

    fit: Annotated[str, Knob("Fit the targets of", choices=dict.fromkeys((THIS_TOKEN, ALL_TOKENS)))] = ALL_TOKENS
    rate: Annotated[float, Knob("Learning rate", 0.01, 3.0, 0.05, link="rows-rate")] = 0.3
    shown: Annotated[int, Knob("Step", 0, STEPS, 1, control="slider", link="descent")] = STEPS


def draw(lab: LabTable) -> None:
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
