"""How W_Q, W_K and W_V of one attention head learn: their gradients written out, and gradient descent."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.examples import numbered
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number, vector
from models.labs.attention_learning import Learning, Matrices, descent, learning
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_learning"
NAMES = ("W_Q", "W_K", "W_V")


@dataclass(frozen=True)
class Descent(Settings):
    """What the head is to learn, and how."""

    columns = (3,)

    target: Annotated[int, Knob(
        "Target output: the value of",
        "The loss is half the squared distance between the query token's output and this token's current value.",
        choices={}, link="wish"
    )] = 0  # fmt: skip
    lr: Annotated[float, Knob("Learning rate", low=0.001, high=10.0, link="step-size")] = 0.1
    steps: Annotated[int, Knob("Steps of descent", low=1, high=300, link="steps-down")] = 50


def draw(x: np.ndarray, matrices: Matrices, at: int, by: float, seen: np.ndarray) -> None:
    """The target, its gradients, and gradient descent towards it."""
    count = len(x)
    tokens = dict(enumerate(numbered("token", count)))
    way = form.draw(Descent, KEY, Descent(count - 1), legal={"target": tokens})
    wish, lr, steps = way.target, way.lr, way.steps
    target = x[wish] @ matrices[2]
    found = learning(x, matrices, at, target, by=by, seen=seen)
    if not np.isfinite(found.loss) or not found.head.seen[at].any():
        st.info("This token sees nothing: its output is 0 whatever the matrices are, and none of them gets a gradient.")
        return
    walk = list(descent(x, matrices, at, target, by=by, seen=seen, lr=lr, steps=steps))
    st.markdown(f"**{walked(walk, wish, steps)}** {badge('formula')}")
    left, right = st.columns(2)
    with left:
        st.markdown(arithmetic(found, x, target, by))
    with right:
        static_chart(walk_chart(walk, wish), "Gradient descent", f"{KEY}_walk")
    for column, name, w, gradient in zip(st.columns(3), NAMES, matrices, found.matrices, strict=True):
        with column:
            st.markdown(f"**Gradient of {name}** {w.shape}")
            columns = [f"{name[2].lower()}{column + 1}" for column in range(gradient.shape[1])]
            frame = pd.DataFrame(gradient, numbered("feature", len(gradient)), columns)
            st.dataframe(frame.map(number), alt=f"Gradient of {name}, table", height="content")
    st.markdown("**What learns from zero?**")
    named_table("Sizes of the gradients", sizes(found, x, matrices))
    st.caption(
        "The length of each gradient (root of the sum of squares). The gradient of W_Q is computed from keys, that "
        "of W_K from queries: if both matrices are zero, neither ever moves, so one of them must start elsewhere. If "
        "W_V is zero, all values are the same and the weights make no difference: only W_V learns at first. Descent "
        "moves most the matrix that changes the output most, so the loss can fall without the head attending to the "
        "target token."
    )


def arithmetic(found: Learning, x: np.ndarray, target: np.ndarray, by: float) -> str:
    """Backpropagation, step by step with its numbers."""
    share = found.head.weights[found.at]
    rows = (
        f"loss = |o - y|²/2 = **{number(found.loss)}** with o = {vector(found.head.output[found.at])}, y = "
        f"{vector(target)}",
        f"output: o - y = {vector(found.output)}",
        f"values: each gets its weight times o - y; W_V gets the weighted sum of all x, {vector(share @ x)}, times o - "
        "y",
        f"weights: each gets its value times o - y = {vector(found.weights)}",
        f"scores: each weight times (its gradient minus the weighted mean {number(share @ found.weights)}), over "
        f"{number(by)} = **{vector(found.scores)}**, which sum to {number(float(found.scores.sum().round(12)))}",
        f"query: the keys, weighted by these = {vector(found.query)}; W_Q gets x times this",
        f"keys: each gets its score's gradient times q = {vector(found.head.q[found.at])}; W_K gets the sum of x times "
        "these",
    )
    return "  \n".join(rows)


def walked(walk: list[Learning], wish: int, steps: int) -> str:
    """What the steps did to the loss and the weight."""
    first, last, taken = walk[0], walk[-1], len(walk) - 1
    if taken < steps:
        return f"After {taken} steps the loss overflows: the learning rate is too large."
    before, after = (one.head.weights[one.at, wish] for one in (first, last))
    return (
        f"In {taken} steps the loss goes from {number(first.loss)} to {number(last.loss, 3)}, and the weight on token "
        f"{wish + 1} from {before:.1%} to {after:.1%}."
    )


def sizes(found: Learning, x: np.ndarray, matrices: Matrices) -> dict[str, list[str]]:
    """Lengths of the three gradients for the given matrices and with some of them zero, for the same target."""
    w_q, w_k, w_v = matrices
    head, target = found.head, found.head.output[found.at] - found.output
    starts: dict[str, Matrices] = {
        "as they are": matrices,
        "W_Q = 0": (0 * w_q, w_k, w_v),
        "W_Q = W_K = 0": (0 * w_q, 0 * w_k, w_v),
        "W_V = 0": (w_q, w_k, 0 * w_v),
    }
    rows = {
        name: learning(x, start, found.at, target, by=head.divisor, seen=head.seen).matrices
        for name, start in starts.items()
    }
    return {"matrices": list(rows)} | {
        name: [number(float(np.linalg.norm(gradients[which]))) for gradients in rows.values()]
        for which, name in enumerate(NAMES)
    }


def walk_chart(walk: list[Learning], wish: int) -> Figure:
    """Loss relative to its first value, and the weight on the target token, by step."""
    first = walk[0].loss or 1.0
    series = [
        Series("loss, relative to the first", np.array([one.loss / first for one in walk])),
        Series(
            f"weight on token {wish + 1}",
            np.array([one.head.weights[one.at, wish] for one in walk]),
            "other",
            hue=SIGNAL,
        ),
    ]
    title, steps, guides = "Gradient descent", range(len(walk)), (0.0, 1.0)
    return linear_profile(title=title, x="step", sites=steps, unit="share", hue=LOSS, series=series, guides=guides)
