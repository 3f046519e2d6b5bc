"""What layer norm guarantees for a token: its spread, and its largest number."""

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.parts import Figure
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_note, line_chart
from components.shell.text import number
from models.content import Texts
from models.labs.normalization import normalise
from models.labs.normalization_laws import TINY_EPS, with_spread

TEXTS = Texts("labs/normalization/promises")
KEY = "normalization"

TORCH_EPS = 1e-5  # the default of torch's layer norm
INPUT_SPREADS = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1.0, 10.0]


def draw(lab: LabTable) -> None:
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
