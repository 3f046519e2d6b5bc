"""Derivatives of activations: curves, maxima, and means under a Gaussian."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import GRADIENT, SIGNAL
from components.charts.parts import numbers, vertical_guide
from components.controls import form
from components.labs.parts import draw_charts, draw_sentence, number_cells
from components.shell.text import named_table, number
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS, moments, slope, steepest_point, value
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/gradients/slopes")
KEY = "gradients"
MAX_Z = 4.0
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "9px,3px,2px,3px,2px,3px")


@dataclass(frozen=True)
class ShownSlopes(Settings):
    columns = (1, 2)

    shown: Annotated[
        tuple[str, ...], Knob("Activations", choices=dict.fromkeys(ACTIVATIONS), multiple=True, link="activations")
    ] = ("relu", "gelu", "tanh", "sigmoid")
    z: Annotated[float, Knob("z", -MAX_Z, MAX_Z, 0.05, control="slider")] = 0.0
    spread: Annotated[float, Knob("Spread of z", 0.1, 5.0, 0.1, control="slider")] = 1.0


def draw() -> None:
    st.subheader("Where the factors come from: the activation's derivative", anchor=False)
    settings = form.draw(ShownSlopes, KEY)
    shown, z, spread = settings.shown, settings.z, settings.spread
    draw_charts(KEY, curve_chart("Activation φ(z)", shown, False, z), curve_chart("Derivative φ'(z)", shown, True, z))
    steepest_z, steepest_slope = steepest_point("sigmoid")
    square = moments("sigmoid", spread**2).slope
    steep = {"most": steepest_slope, "at": steepest_z}
    draw_sentence(TEXTS("bound", spread=spread, square=square, passed=square**0.5, **steep))
    _draw_table(shown, z, spread)


def _draw_table(shown: Sequence[str], z: float, spread: float) -> None:
    """Draws a table of φ' at z, its maximum, and the means under a Gaussian with this standard deviation."""
    names = [name for name in ACTIVATIONS if name in shown]
    maxima = [steepest_point(name) for name in names]
    means = [moments(name, spread**2) for name in names]
    columns = {
        "activation": names,
        f"φ' at {number(z)}": number_cells(slope(name, np.array(z)) for name in names),
        "largest φ'": number_cells(largest for _, largest in maxima),
        "at z": number_cells((place for place, _ in maxima), 3),
        "E φ": [f"{mean.mean + 0.0:.4f}" for mean in means],
        "E φ²": [f"{mean.square:.4f}" for mean in means],
        "Var φ": [f"{mean.variance:.4f}" for mean in means],
        "E φ'²": [f"{mean.slope:.4f}" for mean in means],
        "√E φ'²": [f"{mean.slope**0.5:.4f}" for mean in means],
    }
    named_table("Derivatives of the activations", columns)
    st.caption(TEXTS("means", spread=spread))


def curve_chart(title: str, shown: Sequence[str], derivative: bool, z: float) -> Figure:
    """φ or φ' of the chosen activations, with a guide at z."""
    hue = GRADIENT if derivative else SIGNAL
    grid = np.linspace(-MAX_Z, MAX_Z, 161)
    order = list(ACTIVATIONS)
    traces = [
        {
            "type": "scatter",
            "name": name,
            "x": numbers(grid),
            "y": numbers((slope if derivative else value)(name, grid)),
            "hovertemplate": "z %{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
            **_style(order.index(name), hue),
            "mode": "lines",
        }
        for name in order
        if name in shown
    ]
    layout = layout_of(title, x="z", y="φ'" if derivative else "φ", hue=hue)
    layout["shapes"] = [vertical_guide(z)]
    return figure_of(traces, layout, "choose an activation")


def _style(order: int, hue: str) -> dict[str, Any]:
    """The style of the line of activation number `order`: each combination of dash and shade occurs once."""
    shade = (order + order // len(DASHES)) % 4
    width = 3 if order == 0 else 2  # pixels
    return {"hue": hue, "shade": shade, "line": {"dash": DASHES[order % len(DASHES)], "width": width}}
