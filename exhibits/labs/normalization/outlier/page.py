"""An outlier: how far apart the other tokens still are, by method."""

from dataclasses import astuple, dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.controls import form
from components.labs.examples import numbered_choices
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_note, draw_sentence, line_chart, number_cells
from components.shell.text import named_table
from exhibits.labs.normalization.outlier.numbers import (
    range_of_others,
    robust_range_of_others,
    share_of_range,
    with_outlier,
)
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/outlier")
KEY = "normalization"

MIN_QUARTILE_TOKENS = 5  # with fewer, a single outlier moves a quartile
METHODS = ("min-max", "z-score", "layer norm")
OUTLIER_DISTANCES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # in ranges of the feature


@dataclass(frozen=True)
class Outlier(Settings):
    columns = (2,)

    feature: Annotated[int, Knob("Feature", choices={})] = 0
    far: Annotated[float, Knob("Distance of the outlier", 0.0, 1000.0)] = 10.0


def draw(lab: LabTable) -> None:
    """Moves the chosen token's number in one feature away, and draws how far apart the others still are."""
    st.subheader("An outlier", anchor=False)
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
