"""Closer looks at sizes: what scale costs descent, what an outlier does, and slopes."""

from dataclasses import astuple, dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, LOSS, SIGNAL
from components.charts.depth import by_name, depth_profile
from components.controls import form
from components.labs.normalization.bowl import bowl
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import badge, named_table, number
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS
from models.labs.normalization import normalised
from models.labs.normalization_laws import (
    MAX_STEPS,
    SATURATED,
    below,
    curvatures,
    descent_steps,
    features_apart,
    left_over,
    robust_left_over,
    share_left,
    slopes,
    squares,
    with_outlier,
)
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"
QUARTILE_TOKENS = 5  # from which on a single outlier moves no quartile
RATIOS = [1, 2, 5, 10, 20, 50, 100]
METHODS = ("min-max", "z-score", "layer norm")
DISTANCES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # in ranges of the feature
TIMES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
SLOPES = [(curve, before) for curve in ("tanh", "sigmoid") for before in ("nothing", "layer norm")]


@dataclass(frozen=True)
class Ratio(Settings):
    """How different the features' scales are."""

    ratio: Annotated[
        int, Knob("Scale of one feature relative to the other", choices=dict.fromkeys(RATIOS), control="steps")
    ] = 100


def scale_and_descent(values: np.ndarray, _row: int, _eps: float, _names: list[str]) -> None:
    """Steps of descent on least squares by the ratio of the features' scales, raw and standardised."""
    bowl(values)
    ratio = form.draw(Ratio, KEY).ratio
    samples = features_apart(ratio)
    standard = normalised(samples, "z-score").values
    flat, steep = curvatures(samples)
    lines = {name: [_steps(at, standardised=name != "raw") for at in RATIOS] for name in ("raw", "standardised")}
    raw, even = (taken(line[RATIOS.index(ratio)]) for line in lines.values())
    level = curvatures(standard)[0]
    st.markdown(TEXTS("curvatures", ratio=ratio, flat=flat, steep=steep, raw=raw, even=level, standardised=even))
    st.latex(r"(a+b)^2=a^2+2ab+b^2")
    st.markdown(shares(samples, standard))
    title, x, sites = "Steps to converge", "ratio of the features' scales", [f"{at}x" for at in RATIOS]
    draw_charts(KEY, depth_profile(title=title, x=x, sites=sites, unit="steps", hue=LOSS, series=by_name(lines)))
    st.caption(f"{TEXTS('descent', most=MAX_STEPS)} {badge('measured')}")


def shares(samples: np.ndarray, standard: np.ndarray) -> str:
    """The large feature's share of the squared error, with raw and standardised features, (N, 2) each."""
    (small, cross, large), even = squares(samples), squares(standard)
    raw, standardised = large / (small + cross + large), even[2] / even.sum()
    return TEXTS("large feature", small=small, cross=cross, large=large, raw=raw, standardised=standardised)


def taken(steps: float) -> str:
    """The number of steps in words; NaN if descent was stopped early."""
    return f"more than {MAX_STEPS:,}" if np.isnan(steps) else f"{steps:,.0f}"


@st.cache_data(max_entries=32, show_spinner=False)
def _steps(ratio: int, *, standardised: bool) -> float:
    samples = features_apart(ratio)
    steps = descent_steps(normalised(samples, "z-score").values if standardised else samples)
    return np.nan if steps is None else float(steps)


@dataclass(frozen=True)
class Outlier(Settings):
    """In which feature the token is an outlier, and how far away."""

    columns = (2,)

    feature: Annotated[int, Knob("Feature", choices={})] = 0
    far: Annotated[float, Knob("Distance of the outlier", 0.0, 1000.0)] = 10.0


def outlier(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """Moves the chosen token's number in one feature away, and shows how far apart the others still are."""
    if len(values) < 3:
        st.info(TEXTS("too few tokens"))
        return
    features = {at: f"feature {at + 1}" for at in range(values.shape[1])}
    feature, far = astuple(form.draw(Outlier, f"{KEY}_outlier", legal={"feature": features}))

    def ranges(far: float | None) -> dict[str, float]:
        moved = values if far is None else with_outlier(values, row, feature, far)
        return {method: left_over(moved, row, feature, method, eps) for method in METHODS}

    before, after, column = ranges(None), ranges(far), with_outlier(values, row, feature, far)[:, feature]
    sentence = TEXTS(
        "outlier",
        token=names[row],
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
    moved = with_outlier(values, row, feature, far)
    robust = [robust_left_over(table, row, feature) for table in (values, moved)]
    named_table(
        "Range of the other tokens",
        {
            "method": [*METHODS, "median/IQR"],
            "range of the others, before": [number(one) for one in (*before.values(), robust[0])],
            "range of the others, with the outlier": [number(one) for one in (*after.values(), robust[1])],
        },
    )
    st.markdown(f"{honest(values, moved, row, feature, names[row])} {badge('formula')}")
    by_distance = [ranges(distance) for distance in DISTANCES]
    series = by_name({method: [at[method] for at in by_distance] for method in METHODS})
    title, x = "Range of the others by outlier", "distance in ranges of the feature"
    sites, unit = [f"{distance:g}" for distance in DISTANCES], "maximum minus minimum"
    draw_charts(KEY, depth_profile(title=title, x=x, sites=sites, unit=unit, hue=SIGNAL, series=series))
    st.caption(f"{TEXTS('range of the others')} {badge('formula')}")


def honest(values: np.ndarray, moved: np.ndarray, row: int, feature: int, name: str) -> str:
    """What an outlier leaves to the others by three methods, and how unusual its z-score calls it."""
    least, z_share = (share_left(moved, row, feature, method) for method in ("min-max", "z-score"))
    before, after = (robust_left_over(table, row, feature) for table in (values, moved))
    if np.isfinite([before, after]).all() and before and np.isfinite(least):
        said = TEXTS("shares of the range", least=least, z=z_share, robust=after / before)
    else:
        said = TEXTS("no quartiles")
    few = f" {TEXTS('few tokens for quartiles')}" if len(values) < QUARTILE_TOKENS else ""
    z, gaussian, table = below(moved[:, feature], row)
    return f"{said}{few} {TEXTS('below', token=name, z=z, gaussian=gaussian, table=table)}"


@dataclass(frozen=True)
class Times(Settings):
    """How large the numbers are."""

    times: Annotated[float, Knob("Times", 1.0, 100.0, 1.0, width=220)] = 10.0


def saturation(values: np.ndarray, _row: int, eps: float, _names: list[str]) -> None:
    """The table times a factor, through tanh and sigmoid, with and without a layer norm before them."""
    times = form.draw(Times, KEY).times
    st.latex(r"\tanh'(z)=1-\tanh^2(z)\qquad\sigma'(z)=\sigma(z)\,(1-\sigma(z))")
    at, by_size = (
        [
            [slopes(size * values, ACTIVATIONS[curve][1], normed=before != "nothing", eps=eps) for size in sizes]
            for curve, before in SLOPES
        ]
        for sizes in ((times,), TIMES)
    )
    found = [one for (one,) in at]
    bare, normed = found[:2]
    sizes = {"bare": bare.rms, "normed": normed.rms}
    draw_finding(
        TEXTS("slopes", times=times, **sizes, bare_saturated=bare.saturated, normed_saturated=normed.saturated)
    )
    named_table(
        "Slopes with and without a norm",
        {
            "activation": [curve for curve, _ in SLOPES],
            "before it": [before for _, before in SLOPES],
            "largest |z|": [number(one.largest) for one in found],
            "saturated": [f"{one.saturated:.0%}" for one in found],
            "least slope": [number(one.least, 3) for one in found],
            "RMS of the slope": [number(one.rms, 3) for one in found],
        },
    )
    rows = {
        f"{curve}, {before} before it": [one.rms for one in line]
        for (curve, before), line in zip(SLOPES, by_size, strict=True)
    }
    series, unit = by_name(rows, ("now", "other", "initial", "formula")), "RMS of the slope"
    title, sites = "Slope by size of the input", [f"{size:g}" for size in TIMES]
    draw_charts(KEY, depth_profile(title=title, x="table times", sites=sites, unit=unit, hue=GRADIENT, series=series))
    st.caption(f"{bounds(values.shape[1])} {badge('formula')}")


def bounds(features: int) -> str:
    """What saturation means here, and how large a number after layer norm can be."""
    return TEXTS("saturated", share=SATURATED, bound=np.sqrt(features - 1))
