"""What one outlier leaves of everybody else: min-max against
norms that divide by a spread, or look at one token only.
"""

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.shell.address import kept
from components.shell.text import listed, number
from components.stage.still import still_chart
from models.labs.normalization_laws import left_over, with_outlier

KEY = "normalization"
METHODS = ("min-max", "z-score", "layer norm")
FURTHEST = (0.0, 1000.0)
DISTANCES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def outlier(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """The chosen token's number in one feature moves away; how
    far apart the other tokens' numbers there still come out.
    """
    if len(values) < 3:
        st.info("One token goes away, and two are needed that stay: three tokens or more.")
        return
    left, right = st.columns(2)
    features = range(values.shape[1])
    choice = kept(f"{KEY}_outlier_feature", 0, name="feature", among=features)
    feature = int(left.selectbox("Feature", features, format_func=lambda at: f"feature {at + 1}", **choice))
    tip = "In lengths of the feature's range, beyond its greatest number."
    choice = kept(f"{KEY}_outlier_far", 10.0, name="far", bounds=FURTHEST)
    far = float(right.number_input("How far it goes away", *FURTHEST, format="%g", help=tip, **choice))
    moved = with_outlier(values, row, feature, far)
    before, after = ({method: left_over(x, row, feature, method, eps) for method in METHODS} for x in (values, moved))
    least, greatest = moved[:, feature].min(), moved[:, feature].max()
    others = np.delete(values[:, feature], row)
    spread = float(others.max() - others.min())
    st.latex(r"\text{min-max: } \frac{x_b - x_a}{\max - \min}")
    st.markdown(
        f"**{names[row]}** says {number(moved[row, feature])} in feature {feature + 1}. Of the range of 1 that min-max "
        f"gives, the others share {number(spread)} / ({number(greatest)} - {number(least)}) = "
        f"**{after['min-max']:.2%}**; before it was {before['min-max']:.2%}. All that they have to say stands within "
        "it."
    )
    listed(
        "What the others have left",
        {
            "method": list(METHODS),
            "others apart, before": [number(before[method]) for method in METHODS],
            "others apart, with the outlier": [number(after[method]) for method in METHODS],
        },
    )
    rows = {
        method: [left_over(with_outlier(values, row, feature, at), row, feature, method, eps) for at in DISTANCES]
        for method in METHODS
    }
    series = [
        Series(name, np.array(found), role)
        for (name, found), role in zip(rows.items(), ("now", "other", "formula"), strict=True)
    ]
    sites = [f"{at:g}" for at in DISTANCES]
    figure = depth_profile(
        title="Others apart by outlier", unit="greatest less least", hue=SIGNAL, sites=sites, series=series
    )
    figure["layout"]["xaxis"]["title"]["text"] = "how far the outlier is, in ranges of the feature"
    still_chart(figure, key=f"{KEY}_outlier", alt="Others apart by outlier, chart", height=280)
    st.caption(
        "Greatest less least of the other tokens' numbers in this feature, before gain and bias. Min-max and z-score "
        "take their statistics over the tokens, so one token decides what is left to all others; layer norm takes them "
        "inside each token, and the others come out as they did. :green-badge[formula]"
    )
