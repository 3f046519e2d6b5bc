"""Closer looks: what layer norm guarantees and discards, which tokens affect which, and those of other modules."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import by_name, depth_profile
from components.labs.examples import numbered_names
from components.labs.normalization.batches import batches, recurrent
from components.labs.normalization.beside import block, two_norms
from components.labs.normalization.built import by_lines, rows_that_learn
from components.labs.normalization.few import overfitting
from components.labs.normalization.scale import outlier, saturation, scale_and_descent
from components.labs.normalization.shift import covariate_shift
from components.labs.parts import draw_charts
from components.shell.text import badge, number
from models.content import Texts
from models.labs.normalization import normalised
from models.labs.normalization_laws import TINY_EPS, jacobian, sized, told

TEXTS = Texts("labs/normalization")
KEY = "normalization"
TRUE_EPS = 1e-5  # the eps that torch's layer norm has by default
SIZES = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1.0, 10.0]
LOST = 1e-3  # share of the largest singular value below which a direction counts as discarded
MAX_VALUES = 8  # singular values that are written out
JACOBIANS = {
    "layer norm": r"J = \frac{1}{\sqrt{\sigma^2 + \varepsilon}} \left( I - \frac{\mathbf{1}\mathbf{1}^\top}{d}"
    r" - \frac{\hat x \hat x^\top}{d} \right)",
    "rms norm": r"J = \frac{1}{\sqrt{\overline{x^2} + \varepsilon}} \left( I - \frac{\hat x \hat x^\top}{d} \right)",
}
Part = Callable[[np.ndarray, int, float, list[str]], None]


def promised(values: np.ndarray, row: int, eps: float, _names: list[str]) -> None:
    """What layer norm guarantees: spread 1 only if eps is small by comparison, and no limit on one feature's share."""
    x = values[row]
    y = normalised(x[None], "layer norm", eps=eps).values[0]
    largest, size = float(np.abs(y).max()), len(x)
    share = largest**2 / float(y @ y) if y.any() else 0.0
    spread, unbiased, sigma, variance = y.std(), y.std(ddof=1), x.std(), x.var()
    measured = TEXTS("spread", token=row + 1, spread=spread, unbiased=unbiased, sigma=sigma, variance=variance, eps=eps)
    st.markdown(measured)
    st.markdown(TEXTS("largest", largest=largest, features=size, bound=np.sqrt(size - 1), share=share))
    if sigma == 0:
        st.caption(TEXTS("equal features"))
        return

    norms = {f"layer norm, eps {number(one)}": ("layer norm", one) for one in (eps, TRUE_EPS)}
    norms["rms norm, torch's eps"] = "rms norm", TINY_EPS
    tokens = [sized(x, size)[None] for size in SIZES]
    lines = {
        name: [normalised(token, method, eps=one).values.std() for token in tokens]
        for name, (method, one) in norms.items()
    }
    series = by_name(lines)
    title, sites = "Spread that comes out", [number(size) for size in SIZES]
    draw_charts(
        KEY,
        depth_profile(title=title, x="spread that goes in", sites=sites, unit="spread", hue=SIGNAL, series=series),
    )
    st.caption(f"{TEXTS('small tokens', eps=TINY_EPS)} {badge('formula')}")


def discarded(values: np.ndarray, row: int, eps: float, _names: list[str]) -> None:
    """The Jacobian of either norm at the token: singular values, and the directions that it discards."""
    x = values[row]
    for method, equation in JACOBIANS.items():
        st.markdown(f"**{method}**")
        st.latex(equation)
        try:
            matrix = jacobian(x, method, eps)
        except ValueError as problem:
            st.caption(str(problem))
            continue
        singular = np.linalg.svd(matrix, compute_uv=False)
        lost = int((singular < LOST * singular.max()).sum()) if singular.max() > 0 else len(x)
        listed = ", ".join([*map(number, singular[:MAX_VALUES]), *["..."][: len(x) > MAX_VALUES]])
        are = "is" if lost == 1 else "are"
        st.markdown(TEXTS("directions", values=listed, lost=lost, features=len(x), are=are))
        lengths = {name: [*unit, np.linalg.norm(matrix @ unit)] for name, unit in directions(x, method).items()}
        frame = pd.DataFrame(lengths, index=[*numbered_names("feature", len(x)), "output length"])
        st.dataframe(frame.T, alt=f"Directions that {method} may discard, table")
        with st.popover("The Jacobian", key=f"{KEY}_jacobian_{method}", icon=":material/table:"):
            frame = pd.DataFrame(matrix, numbered_names("y", len(x)), numbered_names("x", len(x)))
            st.dataframe(frame, alt=f"The Jacobian of {method}, table")
    st.caption(f"{TEXTS('discarded')} {badge('formula')}")


def directions(x_D: np.ndarray, method: str) -> dict[str, np.ndarray]:
    """The unit vectors along which a norm can discard its input: the shift of all features, and the token itself."""
    along = x_D - x_D.mean() if method == "layer norm" else x_D
    size = float(np.linalg.norm(along))
    shift = np.ones(len(x_D)) / np.sqrt(len(x_D))
    return {"shift, 1/sqrt(d)": shift, "size, x^": along / size if size else along}


def who_sees_whom(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """How far each token's result moves when one number of the chosen token changes, for four norms."""
    two_norms(values, eps, names)
    block()
    st.subheader(TEXTS("four norms"), anchor=False)
    st.markdown(TEXTS("a number grows", token=names[row]))
    rows: dict[str, np.ndarray] = {}
    for method in ("layer norm", "rms norm", "batch norm", "joint layer norm"):
        try:
            rows[method] = told(values, method, row, eps=eps)
        except ValueError as problem:
            st.caption(f"{method.capitalize()}: {problem}")
    st.dataframe(pd.DataFrame(rows, index=names).T, alt="How far each token moves, table")
    counts = {method: int((moved > 0).sum()) for method, moved in rows.items()}
    st.markdown("  \n".join(f"**{method}** moves {count} of {len(names)} tokens" for method, count in counts.items()))
    st.caption(f"{TEXTS('which tokens')} {badge('formula')}")


# What each part shows, one below the other under their headings.
PARTS: dict[str, dict[str, Part]] = {
    "By hand against torch": {"": by_lines},
    "What layer norm promises": {"": promised, "What it throws away": discarded},
    "Gain and bias": {"": rows_that_learn},
    "Who sees whom": {"": who_sees_whom},
    "What scale costs": {"": scale_and_descent, "An outlier": outlier, "tanh and sigmoid": saturation},
    "A batch's statistics": {"": batches, "A recurrent net": recurrent},
    "Trained nets": {"Internal covariate shift": covariate_shift, "Overfitting and landscape": overfitting},
}
