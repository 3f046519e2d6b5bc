"""The Jacobian of layer norm and rms norm at one token: its
numbers, its singular values, and the directions that it swallows.
"""

import numpy as np
import pandas as pd
import streamlit as st

from models.labs.normalization_laws import jacobian

LOST = 1e-3  # of the largest singular value: below it a direction counts as swallowed
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
        "Before gain and bias. Layer norm forgets the shift, 1/sqrt(d), and the size, x^: two directions. RMS norm "
        "forgets the size only: one. eps lets a little of the size through, the more the larger it is. The two norms "
        "are the same function only where the token is centred. :green-badge[formula]"
    )


def directions(x_D: np.ndarray, method: str) -> dict[str, np.ndarray]:
    """The unit vectors along which a norm can lose its input: the shift of all features, and the token itself."""
    along = x_D - x_D.mean() if method == "layer norm" else x_D
    size = float(np.linalg.norm(along))
    shift = np.ones(len(x_D)) / np.sqrt(len(x_D))
    return {"shift, 1/sqrt(d)": shift, "size, x^": along / size if size else along}


def _findings(x: np.ndarray, matrix: np.ndarray, method: str) -> None:
    singular = np.linalg.svd(matrix, compute_uv=False)
    lost = int((singular < LOST * singular.max()).sum()) if singular.max() > 0 else len(x)
    st.markdown(
        f"Singular values {', '.join(f'{value:.3g}' for value in singular[:8])}{', ...' if len(x) > 8 else ''}: {lost} "
        f"of {len(x)} directions are swallowed (less than a thousandth of the largest comes through)."
    )
    found = directions(x, method)
    frame = pd.DataFrame(
        {name: [*vector, float(np.linalg.norm(matrix @ vector))] for name, vector in found.items()},
        index=[*_features(len(x)), "comes out with length"],
    )
    st.dataframe(frame.T, alt=f"Directions that {method} may swallow, table")
    with st.popover("The Jacobian", key=f"normalization_jacobian_{method}", icon=":material/table:"):
        frame = pd.DataFrame(matrix, [f"y {at + 1}" for at in range(len(x))], [f"x {at + 1}" for at in range(len(x))])
        st.dataframe(frame, alt=f"The Jacobian of {method}, table")


def _features(count: int) -> list[str]:
    return [f"feature {at + 1}" for at in range(count)]
