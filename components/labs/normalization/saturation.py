"""What a norm before tanh or sigmoid does to their slopes: how many numbers are saturated, and what slope is left."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import by_name, depth_profile
from components.controls import form
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.insight.gaussian import ACTIVATIONS
from models.labs.normalization_laws import SATURATED, Slopes, slopes
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "normalization"
CURVES = ("tanh", "sigmoid")
SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


@dataclass(frozen=True)
class Times(Settings):
    """How large the numbers are."""

    times: Annotated[float, Knob(
        "Times", 1.0, 100.0, 1.0,
        width=220
    )] = 10.0  # fmt: skip


def saturation(values: np.ndarray, row: int, eps: float, _names: list[str]) -> None:
    """The table times a factor, through tanh and sigmoid, with and without a layer norm before them."""
    times = form.draw(Times, KEY).times
    st.latex(r"\tanh'(z)=1-\tanh^2(z)\qquad\sigma'(z)=\sigma(z)\,(1-\sigma(z))")
    found = {
        (curve, normed): slopes(times * values, ACTIVATIONS[curve][1], normed=normed, eps=eps)
        for curve in CURVES
        for normed in (False, True)
    }
    st.markdown(f"**{said(times, found['tanh', False], found['tanh', True])}** {badge('formula')}")
    named_table(
        "Slopes with and without a norm",
        {
            "activation": [curve for curve, _ in found],
            "before it": ["layer norm" if normed else "nothing" for _, normed in found],
            "largest |z|": [number(one.largest) for one in found.values()],
            "saturated": [f"{one.saturated:.0%}" for one in found.values()],
            "least slope": [number(one.least, 3) for one in found.values()],
            "RMS of the slope": [number(one.rms, 3) for one in found.values()],
        },
    )
    rows = {
        f"{curve}, {'layer norm' if normed else 'nothing'} before it": [
            slopes(size * values, ACTIVATIONS[curve][1], normed=normed, eps=eps).rms for size in SIZES
        ]
        for curve in CURVES
        for normed in (False, True)
    }
    title = "Slope by size of the input"
    figure = depth_profile(
        title=title,
        x="table times",
        sites=[f"{size:g}" for size in SIZES],
        unit="RMS of the slope",
        hue=GRADIENT,
        series=by_name(rows, ("now", "other", "initial", "formula")),
    )
    static_chart(figure, title, f"{KEY}_saturation")
    st.caption(f"{bounds(values.shape[1])} {badge('formula')}")


def bounds(features: int) -> str:
    """What saturation means here, and how large a number after layer norm can be."""
    return (
        f"Saturated: less than {SATURATED:.0%} of the largest slope is left. Layer norm fixes the mean at 0 and the "
        f"mean square at 1, so no |z| exceeds √(d - 1) = {number(np.sqrt(features - 1))}, and at most a share of 1/c² "
        "of the features lies beyond c. This was the first reason for norms in nets with tanh and sigmoid (Ioffe & "
        "Szegedy 2015, 1502.03167); gain and bias can undo it."
    )


def said(times: float, bare: Slopes, normed: Slopes) -> str:
    """What the norm does to tanh's slope, in a sentence."""
    return (
        f"With numbers {times:g} times larger tanh has a slope of {number(bare.rms, 3)} (RMS) without a norm, and of "
        f"{number(normed.rms, 3)} after layer norm; {bare.saturated:.0%} and {normed.saturated:.0%} of the values are "
        "saturated."
    )
