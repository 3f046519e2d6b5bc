"""Steps of descent on features of different scales, raw and standardised."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.controls import form
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_note, line_chart
from exhibits.labs.normalization.descent.numbers import (
    MAX_STEPS,
    curvatures,
    descent_steps,
    square_terms,
    unequal_features,
)
from models.content import Texts
from models.labs.normalization import normalise
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/descent")
KEY = "normalization"
RATIOS = [1, 2, 5, 10, 20, 50, 100]


@dataclass(frozen=True)
class Ratio(Settings):
    ratio: Annotated[
        int, Knob("Scale of one feature relative to the other", choices=dict.fromkeys(RATIOS), control="steps")
    ] = 100


def draw(_table: LabTable) -> None:
    """Draws the steps of descent on least squares by the ratio of the features' scales, raw and standardised."""
    ratio = form.draw(Ratio, KEY).ratio
    samples = unequal_features(ratio)
    standard = normalise(samples, "z-score").values
    flat, steep = curvatures(samples)
    lines = {
        "raw": [_steps(scale, standardised=False) for scale in RATIOS],
        "standardised": [_steps(scale, standardised=True) for scale in RATIOS],
    }
    steps = {name: steps_text(line[RATIOS.index(ratio)]) for name, line in lines.items()}
    st.markdown(TEXTS("curvatures", ratio=ratio, flat=flat, steep=steep, even=curvatures(standard)[0], **steps))
    st.latex(r"(a+b)^2=a^2+2ab+b^2")
    st.markdown(error_shares_sentence(samples, standard))
    sites = [f"{scale}x" for scale in RATIOS]
    x = "ratio of the features' scales"
    draw_charts(KEY, line_chart("Steps to converge", sites, lines, x=x, unit="steps", hue=LOSS))
    draw_note(TEXTS("descent", most=MAX_STEPS), "measured")


def error_shares_sentence(samples: np.ndarray, standard: np.ndarray) -> str:
    """The large feature's share of the squared error, with raw and with standardised features, (N, 2) each."""
    small, cross, large = square_terms(samples)
    raw = large / (small + cross + large)
    standard_terms = square_terms(standard)
    standardised = standard_terms[-1] / standard_terms.sum()
    return TEXTS("large feature", small=small, cross=cross, large=large, raw=raw, standardised=standardised)


def steps_text(steps: float) -> str:
    """The number of steps in words; NaN is a descent that was stopped early."""
    return f"more than {MAX_STEPS:,}" if np.isnan(steps) else f"{steps:,.0f}"


@st.cache_data(max_entries=32, show_spinner=False)
def _steps(ratio: int, *, standardised: bool) -> float:
    """The steps of descent on features with this ratio of scales; NaN if it was stopped early."""
    samples = unequal_features(ratio)
    steps = descent_steps(normalise(samples, "z-score").values if standardised else samples)
    return np.nan if steps is None else float(steps)
