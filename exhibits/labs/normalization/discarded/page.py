"""The directions that a norm discards: its Jacobian at a token."""

import numpy as np
import pandas as pd
import streamlit as st

from components.labs.examples import numbered_names
from components.labs.normed_table import LabTable
from components.labs.parts import draw_note, number_cells
from models.content import Texts
from models.labs.normalization_laws import jacobian

TEXTS = Texts("labs/normalization/discarded")
KEY = "normalization"

DISCARDED_SHARE = 1e-3  # a direction below this share of the largest singular value counts as discarded
MAX_LISTED_SINGULAR_VALUES = 8
JACOBIANS = {
    "layer norm": r"J = \frac{1}{\sqrt{\sigma^2 + \varepsilon}} \left( I - \frac{\mathbf{1}\mathbf{1}^\top}{d}"
    r" - \frac{\hat x \hat x^\top}{d} \right)",
    "rms norm": r"J = \frac{1}{\sqrt{\overline{x^2} + \varepsilon}} \left( I - \frac{\hat x \hat x^\top}{d} \right)",
}


def draw(lab: LabTable) -> None:
    """Draws the Jacobian of layer norm and RMS norm at the token: singular values and discarded directions."""
    st.subheader("What it throws away", anchor=False)
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
