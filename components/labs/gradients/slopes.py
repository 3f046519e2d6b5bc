"""Derivatives of activations: curves, maxima, and means under a Gaussian."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.charts import Figure, figure_of, frame_of
from components.charts.colour import GRADIENT, SIGNAL
from components.charts.parts import level, numbers
from components.controls import form
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.insight.gaussian import ACTIVATIONS, moments, slope, steepest, value
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "gradients"
REACH = 4.0
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True)
class ShownSlopes(Settings):
    """Whose derivatives are shown, at which input, and how widely inputs spread."""

    columns = (1, 2)

    shown: Annotated[
        tuple[str, ...], Knob("Activations", choices=dict.fromkeys(ACTIVATIONS), many=True, link="activations")
    ] = ("relu", "gelu", "tanh", "sigmoid")
    z: Annotated[float, Knob("z", -REACH, REACH, 0.05, control="slider")] = 0.0
    spread: Annotated[float, Knob(
        "Spread of z", 0.1, 5.0, 0.1,
        control="slider"
    )] = 1.0  # fmt: skip


def draw() -> None:
    """The section."""
    st.subheader("Where the factors come from: the activation's derivative", anchor=False)
    at = form.draw(ShownSlopes, KEY)
    shown, z, spread = at.shown, at.z, at.spread
    left, right = st.columns(2)
    for column, kind, title in ((left, value, "Activation φ(z)"), (right, slope, "Derivative φ'(z)")):
        with column:
            static_chart(
                curve_chart(title, shown, kind is slope, z), title, f"{KEY}_{'slope' if kind is slope else 'value'}"
            )
    _bound(spread)
    _table(shown, z, spread)


def curve_chart(title: str, shown: Sequence[str], derivative: bool, z: float) -> Figure:
    """φ or φ' of the chosen activations over z, with a guide at z."""
    hue = GRADIENT if derivative else SIGNAL
    grid = np.linspace(-REACH, REACH, 161)
    order = list(ACTIVATIONS)
    traces = [
        {
            "type": "scatter",
            "name": name,
            "x": numbers(grid),
            "y": numbers((slope if derivative else value)(name, grid)),
            "hovertemplate": "z %{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
            **_look(order.index(name), hue),
            "mode": "lines",
        }
        for name in order
        if name in shown
    ]
    layout = frame_of(title, x="z", y="φ'" if derivative else "φ", hue=hue)
    layout["shapes"] = [level(z)]
    return figure_of(traces, layout, "choose an activation")


def _look(at: int, hue: str) -> dict[str, Any]:
    """The line style of an activation: a dash for each of six; the next six have another shade."""
    shade = (at + at // len(DASHES)) % 4
    return {"hue": hue, "shade": shade, "line": {"dash": DASHES[at % len(DASHES)], "width": 3 if at == 0 else 2}}


def _bound(spread: float) -> None:
    at, most = steepest("sigmoid")
    left = moments("sigmoid", spread**2).slope
    st.markdown(
        f"**The sigmoid's derivative is at most {number(most)}, at z = {number(at)}.** It is often said that its "
        "gradient shrinks by 1/4 per layer, but that is the upper bound for one factor with a weight of at most 1. "
        f"For z of spread {number(spread)} the mean square of the derivative is {number(left, 3)}, so a layer with "
        f"fan-in weights passes on √{number(left, 3)} = {number(left**0.5, 3)} of the gradient. {badge('formula')}"
    )


def _table(shown: Sequence[str], z: float, spread: float) -> None:
    """φ' at z, its maximum, and the Gaussian means by quadrature."""
    found = {name: (steepest(name), moments(name, spread**2)) for name in ACTIVATIONS if name in shown}
    rows = {
        "activation": list(found),
        f"φ' at {number(z)}": [number(float(slope(name, np.array(z)))) for name in found],
        "largest φ'": [number(top[1]) for top, _ in found.values()],
        "at z": [number(top[0], 3) for top, _ in found.values()],
        "E φ": [f"{m.mean + 0.0:.4f}" for _, m in found.values()],
        "E φ²": [f"{m.square:.4f}" for _, m in found.values()],
        "Var φ": [f"{m.variance:.4f}" for _, m in found.values()],
        "E φ'²": [f"{m.slope:.4f}" for _, m in found.values()],
        "√E φ'²": [f"{m.slope**0.5:.4f}" for _, m in found.values()],
    }
    named_table("Derivatives of the activations", rows)
    st.caption(
        f"Means over z from N(0, {number(spread)}²), by quadrature over 4,000 cells. √E φ'² is the factor by which a "
        "layer with fan-in weights scales the gradient's length, on average over its weights."
    )
