"""The cost of scale: gradient descent on least squares with features of different scale, raw and standardised."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import by_name, depth_profile
from components.controls import form
from components.shell.static_chart import static_chart
from components.shell.text import badge
from models.labs.normalization import normalised
from models.labs.normalization_laws import MOST_STEPS, curvatures, descent_steps, features_apart, squares
from models.spec.knob import Knob
from models.spec.settings import Settings

RATIOS = [1, 2, 5, 10, 20, 50, 100]


@dataclass(frozen=True)
class Ratio(Settings):
    """How different the features' scales are."""

    ratio: Annotated[
        int, Knob("Scale of one feature relative to the other", choices=dict.fromkeys(RATIOS), control="steps")
    ] = 100


def scale_and_descent(_values: np.ndarray, _row: int, _eps: float, _names: list[str]) -> None:
    """Steps to converge by the ratio of the features' scales, raw and standardised."""
    ratio = form.draw(Ratio, "normalization").ratio
    samples = features_apart(ratio)
    standard = normalised(samples, "z-score").values
    flat, steep = curvatures(samples)
    raw = [_steps(at, standardised=False) for at in RATIOS]
    scaled = [_steps(at, standardised=True) for at in RATIOS]
    before, after = taken(raw[RATIOS.index(ratio)]), taken(scaled[RATIOS.index(ratio)])
    st.markdown(
        f"Two independent features, one {ratio} times larger: the curvatures of least squares are {flat:g} and "
        f"{steep:,.0f}. The learning rate must stay below 2 / {steep:,.0f}, or the steepest direction diverges; here "
        f"it is half of that, and the flat one takes **{before} steps**. Standardised by their z-scores, both have "
        f"curvature {curvatures(standard)[0]:g}, and descent takes **{after}**."
    )
    st.latex(r"(a+b)^2=a^2+2ab+b^2")
    st.markdown(shares(samples, standard))
    title, over = "Steps to converge", "scale of one feature relative to the other"
    series = by_name({"raw": raw, "standardised": scaled})
    sites = [f"{at}x" for at in RATIOS]
    figure = depth_profile(title=title, x=over, sites=sites, unit="steps", hue=LOSS, series=series)
    static_chart(figure, title, "normalization_descent")
    st.caption(
        "Real gradient descent on the four samples (±1, ±scale), from (1, 1) until the distance has shrunk to a "
        f"thousandth, {MOST_STEPS:,} steps at most. {badge('measured')}"
    )


def shares(samples: np.ndarray, standard: np.ndarray) -> str:
    """The large feature's share of the squared error, with raw and standardised features, (N, 2) each."""
    (small, cross, large), even = squares(samples), squares(standard)
    return (
        f"The loss squares what both features add to the error. With both weights off by 1, a² is {small:g} on "
        f"average, 2ab is {cross:g} and b² is {large:,.10g}: the large feature accounts for "
        f"**{large / (small + cross + large):.2%}** of the loss; standardised, for {even[2] / even.sum():.0%}."
    )


def taken(steps: float) -> str:
    """The number of steps in words; NaN if descent was stopped early."""
    return f"more than {MOST_STEPS:,}" if np.isnan(steps) else f"{steps:,.0f}"


@st.cache_data(max_entries=32, show_spinner=False)
def _steps(ratio: int, *, standardised: bool) -> float:
    samples = features_apart(ratio)
    found = descent_steps(normalised(samples, "z-score").values if standardised else samples)
    return np.nan if found is None else float(found)
