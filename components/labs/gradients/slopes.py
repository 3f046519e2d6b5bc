"""Derivatives of activations: curves, maxima, and means under a Gaussian."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, frame_of
from components.charts.colour import GRADIENT, SIGNAL
from components.charts.parts import level, numbers
from components.controls import form
from components.labs.parts import draw_charts
from components.shell.text import badge, named_table, number
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS, moments, slope, steepest, value
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/gradients")
KEY = "gradients"
REACH = 4.0
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "9px,3px,2px,3px,2px,3px")


@dataclass(frozen=True)
class ShownSlopes(Settings):
    """Whose derivatives are shown, at which input, and how widely inputs spread."""

    columns = (1, 2)

    shown: Annotated[
        tuple[str, ...], Knob("Activations", choices=dict.fromkeys(ACTIVATIONS), many=True, link="activations")
    ] = ("relu", "gelu", "tanh", "sigmoid")
    z: Annotated[float, Knob("z", -REACH, REACH, 0.05, control="slider")] = 0.0
    spread: Annotated[float, Knob("Spread of z", 0.1, 5.0, 0.1, control="slider")] = 1.0


def draw() -> None:
    """The section."""
    st.subheader("Where the factors come from: the activation's derivative", anchor=False)
    at = form.draw(ShownSlopes, KEY)
    titles = ("Activation φ(z)", "Derivative φ'(z)")
    draw_charts(KEY, *(curve_chart(title, at.shown, title == titles[1], at.z) for title in titles))
    (place, most), square = steepest("sigmoid"), moments("sigmoid", at.spread**2).slope
    bound = TEXTS("bound", most=most, at=place, spread=at.spread, square=square, passed=square**0.5)
    st.markdown(f"{bound} {badge('formula')}")
    _table(at.shown, at.z, at.spread)


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
    st.caption(TEXTS("means", spread=spread))
