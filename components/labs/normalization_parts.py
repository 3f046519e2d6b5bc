"""What one can look at more closely: layer norm by hand against torch's, its Jacobian, gain and bias, and what scale costs."""

import numpy as np
import pandas as pd
import streamlit as st

from components.charts import Series, depth_profile
from components.live_chart import live_chart
from models.labs.normalization import by_hand, descent_steps, jacobian, normalised
from models.service.client import trainer
from models.spec import RunConfig

WAIT_SECONDS = 10.0


def hand_against_torch(values: np.ndarray, row: int, eps: float) -> None:
    """The layer norm that many notes write, the formula, and what torch answers for the chosen token."""
    x = values[row]
    hand, formula = by_hand(x, eps), normalised(x[None], "layer norm", eps=eps).values[0]
    answer = trainer().ask("layer_norm", RunConfig(), wait=WAIT_SECONDS, row=x.tolist(), eps=eps)
    torchs = np.array(answer.value["row"]) if answer is not None and answer.value is not None else np.full(len(x), np.nan)
    shrunk = np.linalg.norm(hand) / np.linalg.norm(formula) if np.linalg.norm(formula) else np.nan
    expected = np.sqrt((len(x) - 1) / len(x))
    st.markdown(
        f"Written as (x - mean) / (std + eps) with torch's default `std`, the result is **{1 - shrunk:.1%} shorter** than layer "
        f"norm: `std` divides by n - 1, layer norm by n, a factor of sqrt({len(x) - 1}/{len(x)}) = {expected:.4f}. "
        f"Many notes give the two as the same; with 512 features they differ by 0.1%, with {len(x)} by more."
    )
    rows = {
        "by hand": hand,
        "formula": formula,
        "torch": torchs,
        "torch - formula": torchs - formula,
        "torch - by hand": torchs - hand,
    }
    st.dataframe(pd.DataFrame(rows, index=_features(len(x))).T, alt="Layer norm by hand and by torch, table")
    st.caption("torch is asked in the trainer. :blue-badge[measured]")


def null_directions(values: np.ndarray, row: int, eps: float) -> None:
    """The Jacobian of layer norm and rms norm at the chosen token: its singular values and what it swallows."""
    x = values[row]
    for method in ("layer norm", "rms norm"):
        matrix = jacobian(x, method, eps)
        singular = np.linalg.svd(matrix, compute_uv=False)
        lost = int((singular < 1e-3 * singular.max()).sum()) if singular.max() > 0 else len(x)
        centred = x - x.mean() if method == "layer norm" else x
        ones, along = np.linalg.norm(matrix @ np.ones(len(x))), np.linalg.norm(matrix @ centred)
        st.markdown(
            f"**{method}**: singular values {', '.join(f'{value:.4g}' for value in singular)}; {lost} of {len(x)} directions are "
            f"swallowed. Adding the same number to all features moves the result by {ones:.3g}; making the "
            f"{'centred ' if method == 'layer norm' else ''}token longer by {along:.3g}."
        )
    st.caption(
        "Layer norm forgets shift and size: two directions. RMS norm forgets the size only: one. eps lets a little of the "
        "size through. :green-badge[formula]"
    )


def undone(values: np.ndarray, row: int, eps: float) -> None:
    """Gain and bias can undo the norm on one token: gain = its spread, bias = its mean."""
    x = values[row]
    spread, mean = float(np.sqrt(x.var() + eps)), float(x.mean())
    again = normalised(x[None], "layer norm", eps=eps, gain=spread, bias=mean).values[0]
    st.markdown(
        f"With gain {spread:.4g} (its spread) and bias {mean:.4g} (its mean), token {row + 1} comes out as it went in, up to "
        f"{np.abs(again - x).max():.1g}. For any other token the same gain and bias are wrong: the norm can be undone for one "
        f"token, not for all."
    )
    others = normalised(values, "layer norm", eps=eps, gain=spread, bias=mean).values - values
    frame = pd.DataFrame({"largest difference": np.abs(others).max(1)}, index=[f"token {at + 1}" for at in range(len(values))])
    st.dataframe(frame, alt="Difference by token, table")


def scale_and_descent(_values: np.ndarray, _row: int, _eps: float) -> None:
    """Steps of gradient descent on a quadratic whose features differ in scale, before and after standardising."""
    ratio = st.select_slider("Scale of one feature over the other", [1, 2, 5, 10, 20, 50, 100], 100, key="normalization_ratio")
    scales = [1, 2, 5, 10, 20, 50, 100]
    steps = {scale: _steps(float(scale) ** 2) for scale in scales}
    st.markdown(
        f"A feature {ratio} times larger gives a curvature {ratio**2:,} times larger. The learning rate must suit the steepest "
        f"direction, so the flat one takes **{steps[ratio]:,} steps**; standardised, both curvatures are 1 and it takes "
        f"**{_steps(1.0):,}**."
    )
    series = [Series("gradient descent", np.array([steps[scale] for scale in scales], float))]
    figure = depth_profile(title="Steps to converge", unit="steps", sites=[f"{scale}x" for scale in scales], series=series)
    figure["layout"]["xaxis"]["title"]["text"] = "scale of one feature over the other"
    live_chart(figure, key="normalization_descent", alt="Steps to converge, chart", height=280)
    st.caption(
        "Real gradient descent from (1, 1) until the distance has shrunk to a thousandth, learning rate 1 / largest "
        "curvature, 200,000 steps at most. :blue-badge[measured]"
    )


@st.cache_data(max_entries=32, show_spinner=False)
def _steps(curvature: float) -> int:
    found = descent_steps((1.0, curvature))
    return 200_000 if found is None else found


def _features(count: int) -> list[str]:
    return [f"feature {at + 1}" for at in range(count)]


PARTS = {
    "By hand against torch": hand_against_torch,
    "What the norm swallows": null_directions,
    "Gain and bias": undone,
    "What scale costs": scale_and_descent,
}
