"""Closer look: the bowl of least squares on two features, raw and standardised, with the path of descent."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import GREY, LOSS
from components.charts.parts import numbers
from components.controls import form
from components.labs.examples import numbered_choices
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_finding
from exhibits.labs.normalization.bowl.numbers import (
    MAX_COUNTED_STEPS,
    contour,
    correlation,
    descent_path,
    steps_to_converge,
)
from models.content import Texts
from models.labs.normalization import normalise
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/bowl")
KEY = "normalization_bowl"
CONTOUR_LEVELS = (0.04, 0.16, 0.36, 0.64, 1.0)  # shares of the loss at the start
MAX_DRAWN_STEPS = 40
MAX_WEIGHT = 1.6  # at the ends of the axes


@dataclass(frozen=True)
class Bowl(Settings):
    columns = (3,)

    first: Annotated[int, Knob("First feature", choices={}, link="bowl-first")] = 0
    second: Annotated[int, Knob("Second feature", choices={}, link="bowl-second")] = 1
    times: Annotated[
        float, Knob("Learning rate × largest curvature", 0.1, 2.2, 0.05, link="bowl-rate", control="slider")
    ] = 1.0


def draw(lab: LabTable) -> None:
    """Contours and path on two features of the table, raw and standardised."""
    values = lab.values
    features = numbered_choices("feature", values.shape[1])
    settings = form.draw(Bowl, KEY, legal={"first": features, "second": features})
    raw = values[:, [settings.first, settings.second]]
    tables = {"Raw": raw, "Standardised": normalise(raw, "z-score").values}
    try:
        figures = [descent_chart(title, table, settings.times) for title, table in tables.items()]
        counts = [steps_text(steps_to_converge(table, settings.times), settings.times) for table in tables.values()]
    except ValueError as problem:
        st.info(str(problem))
        return
    draw_charts(KEY, *figures, height=330)
    draw_finding(TEXTS("bowl", raw=counts[0], standardised=counts[1], correlation=correlation(raw)))
    st.caption(TEXTS("bowl, rates", drawn=MAX_DRAWN_STEPS))


def steps_text(steps: int | None, times: float) -> str:
    """How long descent takes at `times` / largest curvature; None is a descent that does not arrive."""
    if steps is not None:
        return f"takes {steps:,} steps"
    return "diverges" if times > 2 else f"does not arrive in {MAX_COUNTED_STEPS:,} steps"


def descent_chart(title: str, table: np.ndarray, times: float) -> Figure:
    """Contours of the loss around the minimum at 0, and the path of gradient descent."""
    layout = layout_of(title, x="first weight, off by", y="second weight, off by", legend=False, hue=LOSS)
    layout["xaxis"] |= {"range": [-MAX_WEIGHT, MAX_WEIGHT]}
    layout["yaxis"] |= {"range": [-MAX_WEIGHT, MAX_WEIGHT]}
    traces: list[dict[str, object]] = []
    for level in CONTOUR_LEVELS:
        points = contour(table, level)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"loss {level:.0%} of the first",
                "line": {"color": GREY, "width": 1},
                "x": numbers(points[:, 0]),
                "y": numbers(points[:, 1]),
                "hovertemplate": "%{fullData.name}<extra></extra>",
            }
        )
    steps = descent_path(table, times, MAX_DRAWN_STEPS)
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
