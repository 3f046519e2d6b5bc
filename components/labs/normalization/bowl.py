"""Closer look: the bowl of least squares on two typed features, raw and standardised, with the path of descent."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import GREY, LOSS
from components.charts.parts import numbers
from components.controls import form
from components.labs.parts import draw_charts, draw_finding
from models.content import Texts
from models.labs.bowl import MAX_COUNTED_STEPS, contour, path, steps_to_arrive
from models.labs.normalization import normalised
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization_bowl"
LEVELS = (0.04, 0.16, 0.36, 0.64, 1.0)  # of the loss at the start
DRAWN_STEPS = 40
REACH = 1.6  # of the axes


@dataclass(frozen=True)
class Bowl(Settings):
    """Two features of the table, and the learning rate."""

    columns = (3,)

    first: Annotated[int, Knob("First feature", choices={}, link="bowl-first")] = 0
    second: Annotated[int, Knob("Second feature", choices={}, link="bowl-second")] = 1
    times: Annotated[
        float, Knob("Learning rate × largest curvature", 0.1, 2.2, 0.05, link="bowl-rate", control="slider")
    ] = 1.0


def bowl(values: np.ndarray) -> None:
    """Contours and path on the features of the table as they are, and standardised."""
    features = {at: f"feature {at + 1}" for at in range(values.shape[1])}
    chosen = form.draw(Bowl, KEY, legal={"first": features, "second": features})
    raw = values[:, [chosen.first, chosen.second]]
    tables = {"Raw": raw, "Standardised": normalised(raw, "z-score").values}
    try:
        figures = [descent(title, table, chosen.times) for title, table in tables.items()]
        counts = [in_words(steps_to_arrive(table, chosen.times)) for table in tables.values()]
    except ValueError as problem:
        st.info(str(problem))
        return
    draw_charts(KEY, *figures, height=330)
    draw_finding(TEXTS("bowl", raw=counts[0], standardised=counts[1]))
    st.caption(TEXTS("bowl, rates", drawn=DRAWN_STEPS))


def in_words(steps: int | None) -> str:
    """The number of steps, or that there is none."""
    return f"does not arrive in {MAX_COUNTED_STEPS:,} steps" if steps is None else f"takes {steps:,} steps"


def descent(title: str, table: np.ndarray, times: float) -> Figure:
    """Contours of the loss around the minimum at 0, and the path of gradient descent."""
    layout = layout_of(title, x="first weight, off by", y="second weight, off by", legend=False, hue=LOSS)
    layout["xaxis"] |= {"range": [-REACH, REACH]}
    layout["yaxis"] |= {"range": [-REACH, REACH]}
    traces: list[dict[str, object]] = []
    for level in LEVELS:
        points = contour(table, level)
        line = {"type": "scatter", "mode": "lines", "name": f"loss {level:.0%} of the first"}
        line |= {"hovertemplate": "%{fullData.name}<extra></extra>"}
        style = {"color": GREY, "width": 1}
        traces.append({**line, "line": style, "x": numbers(points[:, 0]), "y": numbers(points[:, 1])})
    steps = path(table, times, DRAWN_STEPS)
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "descent",
            "line": {"color": LOSS, "width": 2},
            "marker": {"color": LOSS, "size": 6},
            "x": numbers(steps[:, 0]),
            "y": numbers(steps[:, 1]),
            "text": [f"step {step}" for step in range(len(steps))],
            "hovertemplate": "%{text}<extra></extra>",
        }
    )
    return figure_of(traces, layout, "nothing to draw")
