"""What one outlier does to all other tokens: min-max and z-score compared with layer norm."""

from dataclasses import astuple, dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import by_name, depth_profile
from components.controls import form
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.labs.normalization_laws import left_over, with_outlier
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "normalization"
METHODS = ("min-max", "z-score", "layer norm")
DISTANCES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


@dataclass(frozen=True)
class Outlier(Settings):
    """In which feature the token is an outlier, and how far away."""

    columns = (2,)

    feature: Annotated[int, Knob("Feature", choices={})] = 0
    far: Annotated[float, Knob("Distance of the outlier", 0.0, 1000.0)] = 10.0


def outlier(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """Moves the chosen token's number in one feature away, and shows how far apart the others still are."""
    if len(values) < 3:
        st.info("This needs three tokens or more: one is moved away, and two or more stay.")
        return
    features = {at: f"feature {at + 1}" for at in range(values.shape[1])}
    feature, far = astuple(form.draw(Outlier, f"{KEY}_outlier", legal={"feature": features}))
    moved = with_outlier(values, row, feature, far)
    before, after = ({method: left_over(x, row, feature, method, eps) for method in METHODS} for x in (values, moved))
    least, greatest = moved[:, feature].min(), moved[:, feature].max()
    others = np.delete(values[:, feature], row)
    spread = float(others.max() - others.min())
    st.latex(r"\text{min-max: } \frac{x_b - x_a}{\max - \min}")
    st.markdown(
        f"**{names[row]}** has {number(moved[row, feature])} in feature {feature + 1}. Min-max maps this feature to a "
        f"range of 1. All other tokens together get {number(spread)} / ({number(greatest)} - {number(least)}) = "
        f"**{after['min-max']:.2%}** of it; before the outlier they had {before['min-max']:.2%}."
    )
    named_table(
        "Range of the other tokens",
        {
            "method": list(METHODS),
            "range of the others, before": [number(before[method]) for method in METHODS],
            "range of the others, with the outlier": [number(after[method]) for method in METHODS],
        },
    )
    rows = {
        method: [left_over(with_outlier(values, row, feature, at), row, feature, method, eps) for at in DISTANCES]
        for method in METHODS
    }
    title, over = "Range of the others by outlier", "distance of the outlier, in ranges of the feature"
    at, unit = [f"{distance:g}" for distance in DISTANCES], "maximum minus minimum"
    figure = depth_profile(title=title, x=over, sites=at, unit=unit, hue=SIGNAL, series=by_name(rows))
    static_chart(figure, title, f"{KEY}_outlier")
    st.caption(
        "Maximum minus minimum of the other tokens' numbers in this feature, before gain and bias. Min-max and "
        "z-score take their statistics over tokens, so one token affects all others; layer norm takes them within "
        f"each token, and the others are unchanged. {badge('formula')}"
    )
