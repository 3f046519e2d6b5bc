"""Closer looks: layer norm by hand against torch's, what it guarantees, and which tokens affect which."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.labs.examples import numbered
from components.labs.normalization.descent import scale_and_descent
from components.labs.normalization.few import overfitting
from components.labs.normalization.outlier import outlier
from components.labs.normalization.recurrent import recurrent
from components.labs.normalization.saturation import saturation
from components.labs.normalization.swallows import swallowed
from components.shell.static_chart import static_chart
from components.shell.text import badge, number
from components.shell.waiting import poll_while
from components.stage.answer import answer
from models import answers
from models.labs.normalization import normalised
from models.labs.normalization_laws import TINY_EPS, by_hand, shortfall, sized, told
from models.spec import RunConfig

TRUE_EPS = 1e-5  # the eps that torch's layer norm has by default
SIZES = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1, 1.0, 10.0]
Part = Callable[[np.ndarray, int, float, list[str]], None]


def hand_against_torch(values: np.ndarray, row: int, eps: float, _names: list[str]) -> None:
    """Layer norm as often written by hand, by the formula, and by torch, for the chosen token."""
    x = values[row]
    hand, formula = by_hand(x, eps), normalised(x[None], "layer norm", eps=eps).values[0]
    length, size = np.linalg.norm(formula), len(x)
    st.latex(
        r"\text{by hand: } \frac{x - \mu}{s_{n-1} + \varepsilon} \qquad \text{torch: } "
        r"\frac{x - \mu}{\sqrt{\sigma_n^2 + \varepsilon}}"
    )
    st.markdown(
        "`x.std()` divides by n - 1, layer norm by n: with eps far below the variance, the result by hand is shorter "
        f"by 1 - sqrt({size - 1}/{size}) = {shortfall(size):.2%} with {size} features, {shortfall(64):.2%} with 64, "
        f"{shortfall(512):.2%} with 512. "
        + (
            f"Here it is **{1 - np.linalg.norm(hand) / length:.2%} shorter**. "
            if length and np.isfinite(hand).all()
            else ""
        )
        + "The two are often treated as equivalent, and the Annotated Transformer uses the first; for many "
        "features and small eps they agree."
    )

    def answered() -> bool:
        reply = answer(answers.LAYER_NORM, RunConfig(), row=x.tolist(), eps=eps)
        reply.show("Asking torch")
        rows = {"by hand": hand, "formula": formula}
        if reply.value is not None:
            ours = np.asarray(reply.value.row, float)
            rows |= {"torch": ours, "torch - formula": ours - formula, "torch - by hand": ours - hand}
            st.caption(f"torch's layer norm, run in the trainer, compared with the formula. {badge('measured')}")
        st.dataframe(
            pd.DataFrame(rows, index=numbered("feature", size)).T, alt="Layer norm by hand and by torch, table"
        )
        return reply.waiting

    poll_while("normalization_torch", answered)


def promised(values: np.ndarray, row: int, eps: float, _names: list[str]) -> None:
    """What layer norm guarantees: spread 1 only if eps is small by comparison, and no limit on one feature's share."""
    x = values[row]
    y = normalised(x[None], "layer norm", eps=eps).values[0]
    largest = float(np.abs(y).max())
    share = largest**2 / float(y @ y) if y.any() else 0.0
    st.markdown(
        f"Before gain and bias, token {row + 1} comes out with spread **{y.std():.4f}** over n ({y.std(ddof=1):.4f} "
        "over n - 1): "
        f"sigma / sqrt(sigma² + eps) = {number(x.std(), 4)} / sqrt({number(x.var(), 4)} + {number(eps)}). "
        '"Standard deviation exactly 1" needs '
        "gain 1 and bias 0, the biased spread, and a variance far above eps."
    )
    st.markdown(
        f"Its largest number is {largest:.4f}, of at most sqrt({len(x)} - 1) = {np.sqrt(len(x) - 1):.4f}, and holds "
        f"**{share:.1%}** of the sum of squares. Layer norm fixes that sum, but one of many features can hold nearly "
        "all of it: type a large number into the table to see it."
    )
    if x.std() == 0:
        st.caption("All features of this token are equal, so it cannot be stretched.")
        return

    def spreads(method: str, eps: float) -> list[float]:
        return [normalised(sized(x, size)[None], method, eps=eps).values.std() for size in SIZES]

    title, at = "Spread that comes out", [number(size) for size in SIZES]
    series = [
        Series(f"layer norm, eps {number(eps)}", np.array(spreads("layer norm", eps))),
        Series(f"layer norm, eps {number(TRUE_EPS)}", np.array(spreads("layer norm", TRUE_EPS)), "other"),
        Series("rms norm, torch's eps", np.array(spreads("rms norm", TINY_EPS)), "formula"),
    ]
    figure = depth_profile(title=title, x="spread that goes in", sites=at, unit="spread", hue=SIGNAL, series=series)
    static_chart(figure, title, "normalization_small")
    st.caption(
        "This token, centred and stretched. Layer norm and rms norm agree only for centred tokens, and for small "
        f"ones their eps makes them differ: torch's default for rms norm is {number(TINY_EPS, 2)} in 32 bits. "
        f"{badge('formula')}"
    )


def undone(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """Gain and bias can undo the norm on one token: gain = its divisor, bias = its mean."""
    x = values[row]
    gain, mean = float(np.sqrt(x.var() + eps)), float(x.mean())
    again = normalised(x[None], "layer norm", eps=eps, gain=gain, bias=mean).values[0]
    st.markdown(
        f"With gain {number(gain, 4)} (√(variance + eps)) and bias {number(mean, 4)} (its mean), token {row + 1} "
        "comes out of "
        f"layer norm as it went in, up to {number(np.abs(again - x).max(), 1)}. For the other tokens this gain and "
        "bias are "
        f"wrong: the norm can be undone for one token, not for all. {badge('formula')}"
    )
    others = normalised(values, "layer norm", eps=eps, gain=gain, bias=mean).values - values
    frame = pd.DataFrame({"largest difference": np.abs(others).max(1)}, index=names)
    st.dataframe(frame, alt="Difference by token, table")


def who_sees_whom(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """How far each token's result moves when one number of the chosen token changes, for four norms."""
    st.markdown(
        f"The first number of **{names[row]}** grows by 1. How far does each token's result move? A norm over tokens "
        "passes information from one to the others, backwards too: in a causal model that leaks the future."
    )
    rows: dict[str, np.ndarray] = {}
    for method in ("layer norm", "rms norm", "batch norm", "joint layer norm"):
        try:
            rows[method] = told(values, method, row, eps=eps)
        except ValueError as problem:
            st.caption(f"{method.capitalize()}: {problem}")
    st.dataframe(pd.DataFrame(rows, index=names).T, alt="How far each token moves, table")
    heard = {method: [name for name, by in zip(names, moved, strict=True) if by > 0] for method, moved in rows.items()}
    st.markdown("  \n".join(f"**{method}** moves {len(who)} of {len(names)} tokens" for method, who in heard.items()))
    st.caption(
        "Joint layer norm is nn.LayerNorm([T, d]). Layer norm takes its statistics neither over the batch nor over T "
        "and d together. Batch norm is not per token: torch's BatchNorm1d expects (B, d, T), and padding and future "
        f"tokens enter its statistics. {badge('formula')}"
    )


PARTS: dict[str, Part] = {
    "By hand against torch": hand_against_torch,
    "What layer norm promises": promised,
    "What it swallows": swallowed,
    "Gain and bias": undone,
    "Who sees whom": who_sees_whom,
    "What scale costs": scale_and_descent,
    "An outlier": outlier,
    "tanh and sigmoid": saturation,
    "A recurrent net": recurrent,
    "Overfitting and landscape": overfitting,
}
