"""Slopes of tanh and sigmoid at large inputs, with and without a layer norm before them."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.parts import Figure
from components.controls import form
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_finding, draw_note, line_chart, number_cells
from components.shell.text import named_table
from exhibits.labs.normalization.saturation.numbers import SATURATED, Slopes, slopes_at_inputs
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/saturation")
KEY = "normalization"

TABLE_FACTORS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# Activation functions, and what stands before them.
ACTIVATION_INPUTS = [(curve, norm) for curve in ("tanh", "sigmoid") for norm in ("nothing", "layer norm")]


@dataclass(frozen=True)
class Times(Settings):
    times: Annotated[float, Knob("Times", 1.0, 100.0, 1.0, width=220)] = 10.0


def draw(lab: LabTable) -> None:
    """Draws the slopes of tanh and sigmoid at the table times a factor, with and without a layer norm before them."""
    st.subheader("tanh and sigmoid", anchor=False)
    times = form.draw(Times, KEY).times
    st.latex(r"\tanh'(z)=1-\tanh^2(z)\qquad\sigma'(z)=\sigma(z)\,(1-\sigma(z))")

    def slopes_at(factor: float) -> list[Slopes]:
        return [
            slopes_at_inputs(factor * lab.values, ACTIVATIONS[curve][1], normed=norm != "nothing", eps=lab.eps)
            for curve, norm in ACTIVATION_INPUTS
        ]

    chosen = slopes_at(times)
    bare, normed = chosen[:2]
    sizes = {"bare": bare.rms, "normed": normed.rms}
    saturated = {"bare_saturated": bare.saturated, "normed_saturated": normed.saturated}
    draw_finding(TEXTS("slopes", times=times, **sizes, **saturated))
    named_table(
        "Slopes with and without a norm",
        {
            "activation": [curve for curve, _ in ACTIVATION_INPUTS],
            "before it": [norm for _, norm in ACTIVATION_INPUTS],
            "largest |z|": number_cells(slope.largest_input for slope in chosen),
            "saturated": [f"{slope.saturated:.0%}" for slope in chosen],
            "least slope": number_cells((slope.least for slope in chosen), 3),
            "RMS of the slope": number_cells((slope.rms for slope in chosen), 3),
        },
    )
    draw_charts(KEY, slope_chart([slopes_at(factor) for factor in TABLE_FACTORS]))
    draw_note(bounds_sentence(lab.values.shape[1]))


def bounds_sentence(features: int) -> str:
    """The definition of saturation, and how large a number after layer norm can be."""
    return TEXTS("saturated", share=SATURATED, bound=np.sqrt(features - 1))


def slope_chart(by_factor: list[list[Slopes]]) -> Figure:
    """RMS of the slope by factor, a line for each of ACTIVATION_INPUTS."""
    lines = {
        f"{curve}, {norm} before it": [slopes_at_factor[i].rms for slopes_at_factor in by_factor]
        for i, (curve, norm) in enumerate(ACTIVATION_INPUTS)
    }
    sites = [f"{factor:g}" for factor in TABLE_FACTORS]
    roles = ("now", "other", "initial", "formula")
    axes = {"x": "table times", "unit": "RMS of the slope", "hue": GRADIENT}
    return line_chart("Slope by size of the input", sites, lines, roles, **axes)
