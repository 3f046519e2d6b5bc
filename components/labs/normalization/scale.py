"""Closer looks at sizes: descent on features of different scales, an outlier, and slopes of large inputs."""

from dataclasses import astuple, dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, LOSS, SIGNAL
from components.charts.parts import Figure
from components.controls import form
from components.labs.examples import numbered_choices
from components.labs.normalization.bowl import draw_bowl
from components.labs.normalization.table import LabTable
from components.labs.parts import draw_charts, draw_finding, draw_note, draw_sentence, line_chart, number_cells
from components.shell.text import named_table
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS
from models.labs.normalization import normalise
from models.labs.normalization_laws import (
    MAX_STEPS,
    SATURATED,
    Slopes,
    curvatures,
    descent_steps,
    range_of_others,
    robust_range_of_others,
    share_of_gaussian_below,
    share_of_range,
    slopes_at_inputs,
    square_terms,
    unequal_features,
    with_outlier,
    z_score_and_shares_below,
)
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"
MIN_QUARTILE_TOKENS = 5  # with fewer, a single outlier moves a quartile
RATIOS = [1, 2, 5, 10, 20, 50, 100]
METHODS = ("min-max", "z-score", "layer norm")
OUTLIER_DISTANCES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # in ranges of the feature
TABLE_FACTORS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# Activation functions, and what stands before them.
ACTIVATION_INPUTS = [(curve, norm) for curve in ("tanh", "sigmoid") for norm in ("nothing", "layer norm")]


@dataclass(frozen=True)
class Ratio(Settings):
    ratio: Annotated[
        int, Knob("Scale of one feature relative to the other", choices=dict.fromkeys(RATIOS), control="steps")
    ] = 100


@dataclass(frozen=True)
class ZScores(Settings):
    column: Annotated[int, Knob("Feature of the z-scores", choices={}, link="z-feature")] = 0


@dataclass(frozen=True)
class Outlier(Settings):
    columns = (2,)

    feature: Annotated[int, Knob("Feature", choices={})] = 0
    far: Annotated[float, Knob("Distance of the outlier", 0.0, 1000.0)] = 10.0


@dataclass(frozen=True)
class Times(Settings):
    times: Annotated[float, Knob("Times", 1.0, 100.0, 1.0, width=220)] = 10.0


def draw_scale_and_descent(lab: LabTable) -> None:
    """Draws the steps of descent on least squares by the ratio of the features' scales, raw and standardised."""
    draw_bowl(lab.values)
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


def draw_z_scores(lab: LabTable) -> None:
    """Draws the z-score of each token in one feature, and how many numbers lie below it."""
    legal = {"column": numbered_choices("feature", lab.values.shape[1])}
    column = lab.values[:, form.draw(ZScores, f"{KEY}_z", legal=legal).column]
    if normalise(column[:, None], "z-score").undefined.any():
        st.info(TEXTS("no z-score"))
        return
    rows = [z_score_and_shares_below(column, row) for row in range(len(column))]
    named_table(
        "z-scores of a feature",
        {
            "token": lab.names,
            "value": number_cells(column),
            "z": number_cells((z for z, *_ in rows), 3),
            "of a Gaussian below": [f"{gaussian:.1%}" for _, gaussian, _ in rows],
            "of this feature below": [f"{table:.0%}" for *_, table in rows],
        },
    )
    draw_sentence(TEXTS("z of 0, 1 and 2", below={z: share_of_gaussian_below(z) for z in (0, 1, 2)}))


def draw_outlier(lab: LabTable) -> None:
    """Moves the chosen token's number in one feature away, and draws how far apart the others still are."""
    values, row = lab.values, lab.row
    if len(values) < 3:
        st.info(TEXTS("too few tokens"))
        return
    features = numbered_choices("feature", values.shape[1])
    feature, far = astuple(form.draw(Outlier, f"{KEY}_outlier", legal={"feature": features}))

    def ranges(table: np.ndarray) -> dict[str, float]:
        return {method: range_of_others(table, row, feature, method, lab.eps) for method in METHODS}

    moved = with_outlier(values, row, feature, far)
    before, after = ranges(values), ranges(moved)
    column = moved[:, feature]
    sentence = TEXTS(
        "outlier",
        token=lab.names[row],
        value=column[row],
        feature=feature + 1,
        spread=np.ptp(np.delete(column, row)),
        greatest=column.max(),
        least=column.min(),
        after=after["min-max"],
        before=before["min-max"],
    )
    st.latex(r"\text{min-max: } \frac{x_b - x_a}{\max - \min}")
    st.markdown(sentence)
    robust = [robust_range_of_others(table, row, feature) for table in (values, moved)]
    named_table(
        "Range of the other tokens",
        {
            "method": [*METHODS, "median/IQR"],
            "range of the others, before": number_cells([*before.values(), robust[0]]),
            "range of the others, with the outlier": number_cells([*after.values(), robust[1]]),
        },
    )
    draw_sentence(outlier_sentence(values, moved, row=row, feature=feature))
    by_distance = [ranges(with_outlier(values, row, feature, distance)) for distance in OUTLIER_DISTANCES]
    lines = {method: [by_method[method] for by_method in by_distance] for method in METHODS}
    sites = [f"{distance:g}" for distance in OUTLIER_DISTANCES]
    axes = {"x": "distance in ranges of the feature", "unit": "maximum minus minimum", "hue": SIGNAL}
    draw_charts(KEY, line_chart("Range of the others by outlier", sites, lines, **axes))
    draw_note(TEXTS("range of the others"))


def draw_saturation(lab: LabTable) -> None:
    """Draws the slopes of tanh and sigmoid at the table times a factor, with and without a layer norm before them."""
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


def outlier_sentence(values: np.ndarray, moved: np.ndarray, *, row: int, feature: int) -> str:
    """The range that an outlier leaves to the others, by three methods.

    `values`: the table without the outlier, `moved`: with it, at this row and feature.
    """
    min_max_share = share_of_range(moved, row, feature, "min-max")
    z_share = share_of_range(moved, row, feature, "z-score")
    before = robust_range_of_others(values, row, feature)
    after = robust_range_of_others(moved, row, feature)
    if np.isfinite([before, after]).all() and before and np.isfinite(min_max_share):
        sentence = TEXTS("shares of the range", least=min_max_share, z=z_share, robust=after / before)
    else:
        sentence = TEXTS("no quartiles")
    warning = f" {TEXTS('few tokens for quartiles')}" if len(values) < MIN_QUARTILE_TOKENS else ""
    return f"{sentence}{warning}"


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


@st.cache_data(max_entries=32, show_spinner=False)
def _steps(ratio: int, *, standardised: bool) -> float:
    """The steps of descent on features with this ratio of scales; NaN if it was stopped early."""
    samples = unequal_features(ratio)
    steps = descent_steps(normalise(samples, "z-score").values if standardised else samples)
    return np.nan if steps is None else float(steps)
