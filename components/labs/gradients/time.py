"""A gradient through time: how much of it reaches each earlier token through a recurrent cell, and past attention."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile
from components.controls import form
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import badge, number
from models.content import Texts
from models.insight.words import decades
from models.labs.through_time import FEATURES, by_distance, past_attention
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/gradients")
KEY = "gradients_time"
ROLES = {"plain": "now", "residual": "other", "gate": "formula"}
CELLS = (
    r"\text{plain: } \varphi(W_h h + U x) \qquad \text{residual: } h + \varphi(W_h h + U x) \qquad "
    r"\text{gate: } g h + (1 - g)\,\varphi(W_h h + U x)"
)
PRODUCT = (
    r"\text{plain: } \frac{\partial h_T}{\partial x_t} = "
    r"\left(\prod_{s=t+1}^{T} \mathrm{diag}(\varphi'_s)\, W_h\right) \mathrm{diag}(\varphi'_t)\, U"
)


@dataclass(frozen=True)
class RecurrentCell(Settings):
    """The cell, and the sequence that it reads."""

    columns = (4,)

    tokens: Annotated[int, Knob("Tokens of the sequence", low=2, high=64, link="sequence", control="slider")] = 32
    size: Annotated[float, Knob("Size of W_h", 0.1, 2.0, 0.05, link="recurrent-size", control="slider")] = 0.8
    bent: Annotated[bool, Knob("tanh", link="tanh")] = True
    seed: Annotated[int, Knob("Seed of cell and sequence", high=999, link="cell-seed")] = 0


def draw() -> None:
    """The section."""
    at = form.draw(RecurrentCell, KEY)
    lines = {cell: by_distance(at.tokens, at.size, cell, at.seed, bent=at.bent) for cell in ROLES}
    attended = past_attention(at.tokens, at.seed)
    series = [Series(cell, line, ROLES[cell]) for cell, line in lines.items()]
    series.append(Series("attention", attended, "initial"))
    title, x = "Gradient by distance in time", "tokens back"
    draw_charts(
        KEY,
        depth_profile(title=title, x=x, sites=range(at.tokens), unit="RMS", hue=GRADIENT, series=series),
        height=330,
    )
    draw_finding(reaches(lines, attended))
    st.latex(CELLS)
    st.latex(PRODUCT)
    st.caption(f"{TEXTS('random recurrent cell', features=FEATURES)} {badge('formula')}")


def reaches(lines: dict[str, np.ndarray], attended: np.ndarray) -> str:
    """What is left of the gradient at the first token, by cell and past attention."""
    left = {cell: share(line) for cell, line in lines.items()}
    plain = decades(float(lines["plain"][0]), float(lines["plain"][-1]))
    heading = "vanishes in time" if plain < -1 else "explodes in time" if plain > 1 else "arrives in time"
    return TEXTS(heading, back=len(attended) - 1, **left, attention=share(attended))


def share(line: np.ndarray) -> str:
    """The gradient at the first token as a multiple of that at the last."""
    return number(float(line[-1] / line[0]), 2) if np.isfinite(line).all() else "beyond float64"
