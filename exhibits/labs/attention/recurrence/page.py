"""One token after another or all at once: sequential dependencies in a recurrent cell and in attention."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import GREY, SIGNAL
from components.controls import form
from components.labs.examples import numbered_names
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import named_table
from exhibits.labs.attention.recurrence.numbers import sequential_steps
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/recurrence")
KEY = "attention_recurrence"
TITLES = {True: "Recurrent cell", False: "Causal attention"}
FORMULAS = {True: r"h_t=f(h_{t-1},x_t)", False: r"\mathrm{softmax}\!\left(\tfrac{QK^\top}{\sqrt{d_k}}\right)V"}


@dataclass(frozen=True)
class ReadTokens(Settings):
    count: Annotated[int, Knob("Tokens", low=2, high=12, link="length", control="slider")] = 7


def draw() -> None:
    count = form.draw(ReadTokens, KEY).count
    steps = {recurrent: sequential_steps(count, recurrent=recurrent) for recurrent in TITLES}
    draw_finding(steps_sentence(steps[True], steps[False]))
    for column, (recurrent, matrix) in zip(st.columns(2), steps.items(), strict=True):
        with column:
            st.latex(FORMULAS[recurrent])
            draw_charts(KEY, waiting_graph(matrix, recurrent=recurrent), height=260)
            with st.popover("Numbers", key=f"{KEY}_{recurrent}_numbers", icon=":material/table:"):
                named_table(f"{TITLES[recurrent]}: steps from token to position", step_table(matrix))
    st.caption(TEXTS("graphs"))
    st.markdown(TEXTS("the price"))


def step_table(steps: np.ndarray) -> pd.DataFrame:
    """Steps from token (column) to position (row); a dash where there is no way."""
    cells = [["-" if step < 0 else str(step) for step in row] for row in steps.tolist()]
    frame = pd.DataFrame(cells, columns=numbered_names("token", len(steps)))
    frame.insert(0, "position", [str(i + 1) for i in range(len(steps))])
    return frame


def steps_sentence(recurrent: np.ndarray, attention: np.ndarray) -> str:
    """How many steps the last position waits for the first token, from steps (n, n) as `waiting_graph` has them."""
    first, pairs = recurrent[-1, 0], (attention > 0).sum()
    steps = {"recurrent": recurrent.max(), "attention": attention.max()}
    return TEXTS("one by one or at once", tokens=len(recurrent), first=first, pairs=pairs, **steps)


def waiting_graph(steps: np.ndarray, *, recurrent: bool) -> Figure:
    """The dependencies: a chain from state to state, or every output directly on the tokens up to its own.

    `steps` (n, n): sequential steps from a token (column) to a position (row), negative where there is no way.
    """
    count = len(steps)
    layout = layout_of(TITLES[recurrent], x="token", y="", legend=False)
    layout["xaxis"] |= {"dtick": 1, "showgrid": False}
    rows = ["token", "state" if recurrent else "output"]
    layout["yaxis"] |= {"tickmode": "array", "tickvals": [0, 1], "ticktext": rows}
    layout["yaxis"] |= {"range": [-0.3, 1.3], "showgrid": False}
    places = range(1, count + 1)
    if recurrent:
        edges = [((i, 0), (i, 1)) for i in places] + [((i, 1), (i + 1, 1)) for i in places[:-1]]
    else:
        edges = [((seen, 0), (i, 1)) for i in places for seen in range(1, i + 1)]
    path = [point for start, end in edges for point in (start, end, (None, None))]
    arrows: dict[str, Any] = {
        "type": "scatter",
        "name": "needs",
        "x": [x for x, _ in path],
        "y": [y for _, y in path],
        "mode": "lines",
        "line": {"color": GREY, "width": 1.5},
        "hoverinfo": "skip",
    }
    steps_before = [0] * count + steps.max(1).tolist()
    dots: dict[str, Any] = {
        "type": "scatter",
        "name": "known after",
        "x": [*places, *places],
        "y": [0] * count + [1] * count,
        "mode": "markers+text",
        "text": [str(step) if step else "" for step in steps_before],
        "textposition": "top center",
        "marker": {"color": SIGNAL, "size": 10, "symbol": ["square"] * count + ["circle"] * count},
        "hovertemplate": "token %{x}: known after %{customdata} steps<extra></extra>",
        "customdata": steps_before,
    }
    return figure_of([arrows, dots], layout, "no tokens")
