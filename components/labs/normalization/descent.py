"""What scale costs: gradient descent on least squares with
features of different size, before and after standardising them.
"""

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import Series, depth_profile
from components.shell.address import kept
from components.stage.still import still_chart
from models.labs.normalization import normalised
from models.labs.normalization_laws import MOST_STEPS, curvatures, descent_steps, features_apart, squares

RATIOS = [1, 2, 5, 10, 20, 50, 100]
KEY = "normalization_ratio"


def scale_and_descent(_values: np.ndarray, _row: int, _eps: float, _names: list[str]) -> None:
    """Steps to converge by the scale of one feature over the other, and what standardising makes of it."""
    choice = kept(KEY, 100, name="ratio", among=RATIOS)
    ratio = int(st.select_slider("Scale of one feature over the other", RATIOS, **choice))
    samples = features_apart(ratio)
    standard = normalised(samples, "z-score").values
    flat, steep = curvatures(samples)
    raw = [_steps(at, standardised=False) for at in RATIOS]
    scaled = [_steps(at, standardised=True) for at in RATIOS]
    before, after = taken(raw[RATIOS.index(ratio)]), taken(scaled[RATIOS.index(ratio)])
    st.markdown(
        f"Two independent features, one {ratio} times larger: the curvatures of least squares are {flat:g} and "
        f"{steep:,.0f}. The learning rate must suit the steepest direction, 1 / {steep:,.0f}, so the flat one takes "
        f"**{before} steps**. Standardised by the z-score above, both curvatures are {curvatures(standard)[0]:g}, and "
        f"it takes **{after}**."
    )
    st.latex(r"(a+b)^2=a^2+2ab+b^2")
    st.markdown(shares(samples, standard))
    series = [
        Series("as it is", np.array(raw, float)),
        Series("standardised", np.array(scaled, float), "other"),
    ]
    figure = depth_profile(
        title="Steps to converge", unit="steps", hue=LOSS, sites=[f"{at}x" for at in RATIOS], series=series
    )
    figure["layout"]["xaxis"]["title"]["text"] = "scale of one feature over the other"
    still_chart(figure, key="normalization_descent", alt="Steps to converge, chart", height=280)
    with st.popover("Numbers", key="normalization_descent_numbers", icon=":material/table:"):
        st.dataframe(
            pd.DataFrame({"as it is": raw, "standardised": scaled}, index=RATIOS), alt="Steps to converge, table"
        )
    st.caption(
        "Real gradient descent on the four samples (±1, ±scale), from (1, 1) until the distance has shrunk to a "
        f"thousandth, {MOST_STEPS:,} steps at most. :blue-badge[measured]"
    )


def shares(samples: np.ndarray, standard: np.ndarray) -> str:
    """How much of a squared error is the large feature's, with features as they are and standardised, (N, 2) each."""
    (small, cross, large), even = squares(samples), squares(standard)
    return (
        f"The loss squares what both features add to the error. With both weights off by 1, a² is {small:g} on "
        f"average, 2ab is {cross:g} and b² is {large:,.10g}: the large feature has "
        f"**{large / (small + cross + large):.2%}** of the loss, standardised {even[2] / even.sum():.0%}."
    )


def taken(steps: float) -> str:
    """The steps of a descent in words; NaN is one that was cut short."""
    return f"more than {MOST_STEPS:,}" if np.isnan(steps) else f"{steps:,.0f}"


@st.cache_data(max_entries=32, show_spinner=False)
def _steps(ratio: int, *, standardised: bool) -> float:
    samples = features_apart(ratio)
    found = descent_steps(normalised(samples, "z-score").values if standardised else samples)
    return np.nan if found is None else float(found)
