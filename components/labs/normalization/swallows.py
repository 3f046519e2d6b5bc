"""The Jacobian of layer norm and rms norm at one token: entries, singular values, and the directions it discards."""

import numpy as np
import pandas as pd
import streamlit as st

from components.labs.examples import numbered
from components.shell.text import badge, number
from models.labs.normalization_laws import jacobian

LOST = 1e-3  # share of the largest singular value below which a direction counts as discarded
EQUATIONS = {
    "layer norm": r"J = \frac{1}{\sqrt{\sigma^2 + \varepsilon}} \left( I - \frac{\mathbf{1}\mathbf{1}^\top}{d}"
    r" - \frac{\hat x \hat x^\top}{d} \right)",
    "rms norm": r"J = \frac{1}{\sqrt{\overline{x^2} + \varepsilon}} \left( I - \frac{\hat x \hat x^\top}{d} \right)",
}


def swallowed(values: np.ndarray, row: int, eps: float, _names: list[str]) -> None:
    """Both norms, one below the other."""
    for method, equation in EQUATIONS.items():
        st.markdown(f"**{method}**")
        st.latex(equation)
        try:
            matrix = jacobian(values[row], method, eps)
        except ValueError as problem:
            st.caption(str(problem))
            continue
        _findings(values[row], matrix, method)
    st.caption(
        "Before gain and bias. With eps far below the variance layer norm discards two directions, the shift, "
        "1/sqrt(d), and the size, x^, and RMS norm only the size. eps lets a little of the size through, the more the "
        f"larger it is. The two norms agree only for centred tokens. {badge('formula')}"
    )


def directions(x_D: np.ndarray, method: str) -> dict[str, np.ndarray]:
    """The unit vectors along which a norm can discard its input: the shift of all features, and the token itself."""
    along = x_D - x_D.mean() if method == "layer norm" else x_D
    size = float(np.linalg.norm(along))
    shift = np.ones(len(x_D)) / np.sqrt(len(x_D))
    return {"shift, 1/sqrt(d)": shift, "size, x^": along / size if size else along}


def _findings(x: np.ndarray, matrix: np.ndarray, method: str) -> None:
    singular = np.linalg.svd(matrix, compute_uv=False)
    lost = int((singular < LOST * singular.max()).sum()) if singular.max() > 0 else len(x)
    st.markdown(
        f"Singular values {', '.join(number(value) for value in singular[:8])}{', ...' if len(x) > 8 else ''}: {lost} "
        f"of {len(x)} directions {'is' if lost == 1 else 'are'} discarded (less than a thousandth of the largest is "
        "left)."
    )
    found = directions(x, method)
    frame = pd.DataFrame(
        {name: [*vector, float(np.linalg.norm(matrix @ vector))] for name, vector in found.items()},
        index=[*numbered("feature", len(x)), "output length"],
    )
    st.dataframe(frame.T, alt=f"Directions that {method} may discard, table")
    with st.popover("The Jacobian", key=f"normalization_jacobian_{method}", icon=":material/table:"):
        frame = pd.DataFrame(matrix, numbered("y", len(x)), numbered("x", len(x)))
        st.dataframe(frame, alt=f"The Jacobian of {method}, table")
