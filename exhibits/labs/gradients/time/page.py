"""A gradient through time: how much of it reaches each earlier token through recurrent cells and past attention."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.parts import Figure
from components.controls import form
from components.labs.parts import draw_charts, draw_finding, draw_note, line_chart
from components.shell.text import number
from exhibits.labs.gradients.time.numbers import FEATURES, attention_gradient_by_distance, gradient_by_distance
from models.content import Texts
from models.insight.words import decades
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/gradients/time")
KEY = "gradients_time"
CELLS = ("plain", "residual", "gate")
CELL_FORMULAS = (
    r"\text{plain: } \varphi(W_h h + U x) \qquad \text{residual: } h + \varphi(W_h h + U x) \qquad "
    r"\text{gate: } g h + (1 - g)\,\varphi(W_h h + U x)"
)
GRADIENT_FORMULA = (
    r"\text{plain: } \frac{\partial h_T}{\partial x_t} = "
    r"\left(\prod_{s=t+1}^{T} \mathrm{diag}(\varphi'_s)\, W_h\right) \mathrm{diag}(\varphi'_t)\, U"
)


@dataclass(frozen=True)
class RecurrentCell(Settings):
    columns = (4,)

    tokens: Annotated[int, Knob("Tokens of the sequence", low=2, high=64, link="sequence", control="slider")] = 32
    size: Annotated[float, Knob("Size of W_h", 0.1, 2.0, 0.05, link="recurrent-size", control="slider")] = 0.8
    bent: Annotated[bool, Knob("tanh", link="tanh")] = True
    seed: Annotated[int, Knob("Seed of cell and sequence", high=999, link="cell-seed")] = 0


def draw() -> None:
    settings = form.draw(RecurrentCell, KEY)
    tokens, seed = settings.tokens, settings.seed
    lines = {cell: gradient_by_distance(tokens, settings.size, cell, seed, bent=settings.bent) for cell in CELLS}
    lines["attention"] = attention_gradient_by_distance(tokens, seed)
    draw_charts(KEY, distance_chart(lines), height=330)
    draw_finding(gradient_sentence(lines))
    st.latex(CELL_FORMULAS)
    st.latex(GRADIENT_FORMULA)
    draw_note(TEXTS("random recurrent cell", features=FEATURES))


def gradient_sentence(lines: dict[str, np.ndarray]) -> str:
    """The share of the gradient that reaches the first token, by cell and through attention."""
    plain = lines["plain"]
    change = decades(float(plain[0]), float(plain[-1]))
    heading = "arrives in time"
    if change < -1:
        heading = "vanishes in time"
    elif change > 1:
        heading = "explodes in time"
    shares = {name: _share_at_first_token(line) for name, line in lines.items()}
    return TEXTS(heading, back=len(plain) - 1, **shares)


def distance_chart(lines: dict[str, np.ndarray]) -> Figure:
    """The gradients by how many tokens they have come back, a line for each cell and for attention."""
    return line_chart(
        "Gradient by distance in time",
        range(len(lines["plain"])),
        lines,
        ("now", "other", "formula", "initial"),
        x="tokens back",
        unit="RMS",
        hue=GRADIENT,
    )


def _share_at_first_token(line: np.ndarray) -> str:
    """The gradient at the first token as a multiple of that at the last."""
    return number(float(line[-1] / line[0]), 2) if np.isfinite(line).all() else "beyond float64"
