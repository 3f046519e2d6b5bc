"""Closer looks: the guarantees of layer norm, the directions it discards, the tokens that affect each other."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.parts import Figure
from components.labs.examples import numbered_names
from components.labs.normalization.batches import draw_batches, draw_recurrent_cell
from components.labs.normalization.beside import draw_block, draw_two_norms
from components.labs.normalization.built import draw_built_norm, draw_learned_rows
from components.labs.normalization.few import draw_overfitting
from components.labs.normalization.scale import (
    draw_outlier,
    draw_saturation,
    draw_scale_and_descent,
    draw_z_scores,
)
from components.labs.normalization.shift import draw_covariate_shift
from components.labs.normalization.table import LabTable
from components.labs.parts import draw_charts, draw_note, line_chart, number_cells
from components.shell.text import number
from models.content import Texts
from models.labs.normalization import normalise
from models.labs.normalization_laws import TINY_EPS, changes_by_token, jacobian, with_spread

TEXTS = Texts("labs/normalization")
KEY = "normalization"
TORCH_EPS = 1e-5  # the default of torch's layer norm
INPUT_SPREADS = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1.0, 10.0]
DISCARDED_SHARE = 1e-3  # a direction below this share of the largest singular value counts as discarded
MAX_LISTED_SINGULAR_VALUES = 8
JACOBIANS = {
    "layer norm": r"J = \frac{1}{\sqrt{\sigma^2 + \varepsilon}} \left( I - \frac{\mathbf{1}\mathbf{1}^\top}{d}"
    r" - \frac{\hat x \hat x^\top}{d} \right)",
    "rms norm": r"J = \frac{1}{\sqrt{\overline{x^2} + \varepsilon}} \left( I - \frac{\hat x \hat x^\top}{d} \right)",
}


def draw_guarantees(lab: LabTable) -> None:
    """Draws what layer norm guarantees for the chosen token.

    The spread is 1 if eps is small by comparison; the share of a single feature has no limit.
    """
    x = lab.token
    y = normalise(x[None], "layer norm", eps=lab.eps).values[0]
    largest = float(np.abs(y).max())
    largest_share = largest**2 / float(y @ y) if y.any() else 0.0
    spreads = {"spread": y.std(), "unbiased": y.std(ddof=1), "sigma": x.std(), "variance": x.var()}
    st.markdown(TEXTS("spread", token=lab.row + 1, eps=lab.eps, **spreads))
    bound = np.sqrt(len(x) - 1)
    st.markdown(TEXTS("largest", largest=largest, features=len(x), bound=bound, share=largest_share))
    if spreads["sigma"] == 0:
        st.caption(TEXTS("equal features"))
        return
    draw_charts(KEY, spread_chart(x, lab.eps))
    draw_note(TEXTS("small tokens", eps=TINY_EPS))


def spread_chart(x: np.ndarray, eps: float) -> Figure:
    """The spread after a norm over the spread of a token (D,) before it: layer norm with two eps, and RMS norm."""
    tokens = [with_spread(x, spread)[None] for spread in INPUT_SPREADS]

    def spreads(method: str, eps: float) -> list[float]:
        return [float(normalise(token, method, eps=eps).values.std()) for token in tokens]

    lines = {f"layer norm, eps {number(value)}": spreads("layer norm", value) for value in (eps, TORCH_EPS)}
    lines["rms norm, torch's eps"] = spreads("rms norm", TINY_EPS)
    sites = [number(spread) for spread in INPUT_SPREADS]
    return line_chart("Spread that comes out", sites, lines, x="spread that goes in", unit="spread", hue=SIGNAL)


def draw_discarded_directions(lab: LabTable) -> None:
    """Draws the Jacobian of layer norm and RMS norm at the token: singular values and discarded directions."""
    x = lab.token
    for method, equation in JACOBIANS.items():
        st.markdown(f"**{method}**")
        st.latex(equation)
        try:
            matrix = jacobian(x, method, lab.eps)
        except ValueError as problem:
            st.caption(str(problem))
            continue
        singular = np.linalg.svd(matrix, compute_uv=False)
        largest = singular.max()
        discarded = int((singular < DISCARDED_SHARE * largest).sum()) if largest > 0 else len(x)
        dots = ["..."] if len(x) > MAX_LISTED_SINGULAR_VALUES else []
        values = ", ".join(number_cells(singular[:MAX_LISTED_SINGULAR_VALUES]) + dots)
        verb = "is" if discarded == 1 else "are"
        st.markdown(TEXTS("directions", values=values, lost=discarded, features=len(x), are=verb))
        columns = {
            name: [*direction, np.linalg.norm(matrix @ direction)] for name, direction in directions(x, method).items()
        }
        frame = pd.DataFrame(columns, index=[*numbered_names("feature", len(x)), "output length"])
        st.dataframe(frame.T, alt=f"Directions that {method} may discard, table")
        with st.popover("The Jacobian", key=f"{KEY}_jacobian_{method}", icon=":material/table:"):
            frame = pd.DataFrame(matrix, numbered_names("y", len(x)), numbered_names("x", len(x)))
            st.dataframe(frame, alt=f"The Jacobian of {method}, table")
    draw_note(TEXTS("discarded"))


def directions(x_D: np.ndarray, method: str) -> dict[str, np.ndarray]:
    """The unit vectors along which a norm can discard its input: the shift of all features, and the token itself."""
    token = x_D - x_D.mean() if method == "layer norm" else x_D
    length = float(np.linalg.norm(token))
    shift = np.ones(len(x_D)) / np.sqrt(len(x_D))
    return {"shift, 1/sqrt(d)": shift, "size, x^": token / length if length else token}


def draw_dependencies(lab: LabTable) -> None:
    """Draws how far each token's result moves when one number of the chosen token changes, for four norms."""
    draw_two_norms(lab)
    draw_block()
    st.subheader(TEXTS("four norms"), anchor=False)
    st.markdown(TEXTS("a number grows", token=lab.names[lab.row]))
    moves: dict[str, np.ndarray] = {}
    for method in ("layer norm", "rms norm", "batch norm", "joint layer norm"):
        try:
            moves[method] = changes_by_token(lab.values, method, lab.row, eps=lab.eps)
        except ValueError as problem:
            st.caption(f"{method.capitalize()}: {problem}")
    st.dataframe(pd.DataFrame(moves, index=lab.names).T, alt="How far each token moves, table")
    lines = [
        f"**{method}** moves {int((distances > 0).sum())} of {len(lab.names)} tokens"
        for method, distances in moves.items()
    ]
    st.markdown("  \n".join(lines))
    draw_note(TEXTS("which tokens"))


# By part, the functions that draw its sections, by heading.
PARTS: dict[str, dict[str, Callable[[LabTable], None]]] = {
    "By hand against torch": {"": draw_built_norm},
    "What layer norm promises": {"": draw_guarantees, "What it throws away": draw_discarded_directions},
    "Gain and bias": {"": draw_learned_rows},
    "Who sees whom": {"": draw_dependencies},
    "What scale costs": {
        "": draw_scale_and_descent,
        "What a z-score says": draw_z_scores,
        "An outlier": draw_outlier,
        "tanh and sigmoid": draw_saturation,
    },
    "A batch's statistics": {"": draw_batches, "A recurrent net": draw_recurrent_cell},
    "Trained nets": {"Internal covariate shift": draw_covariate_shift, "Overfitting and landscape": draw_overfitting},
}
