"""A closer look at one head: how W_Q, W_K and W_V learn by gradient descent."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.examples import numbered_choices
from components.labs.parts import draw_charts, draw_finding, draw_matrix, number_cells, table_places
from components.shell.text import named_table
from exhibits.labs.attention.head_learning.numbers import HeadGradients, descent, head_gradients
from models.content import Texts
from models.insight.words import count_in_words
from models.labs.attention import Head, Matrices
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/head_learning")
KEY = "attention_learning"
MATRIX_NAMES = ("W_Q", "W_K", "W_V")


@dataclass(frozen=True)
class Descent(Settings):
    columns = (3,)

    target: Annotated[int, Knob("Target output: the value of", choices={}, link="wish")] = 0
    lr: Annotated[float, Knob("Learning rate", low=0.001, high=10.0, link="step-size")] = 0.1
    steps: Annotated[int, Knob("Steps of descent", low=1, high=300, link="steps-down")] = 50


def draw(head: Head, token: int, x: np.ndarray, matrices: Matrices) -> None:
    """Draws how the matrices of a head on tokens x (n, d) learn a target output for one token."""
    settings = form.draw(Descent, KEY, Descent(len(x) - 1), legal={"target": numbered_choices("token", len(x))})
    target = x[settings.target] @ matrices[2]
    steps = settings.steps
    start = head_gradients(x, matrices, token, target, divisor=head.divisor, mask=head.mask)
    if not np.isfinite(start.loss) or not head.mask[token].any():
        st.info(TEXTS("no gradient"))
        return
    path = list(descent(x, matrices, token, target, divisor=head.divisor, mask=head.mask, lr=settings.lr, steps=steps))
    draw_finding(descent_sentence(path, settings.target, steps))
    left, right = st.columns(2)
    with left:
        st.markdown(arithmetic(start, x, target))
    with right:
        draw_charts(KEY, descent_chart(path, settings.target))
    for column, name, gradient in zip(table_places(3), MATRIX_NAMES, start.matrices, strict=True):
        with column:
            draw_matrix(f"Gradient of {name}", gradient, "feature", name[2].lower())
    st.markdown("**What learns from zero?**")
    named_table("Sizes of the gradients", gradient_sizes(start, x, matrices))
    st.caption(TEXTS("sizes of gradients"))


def gradient_sizes(start: HeadGradients, x: np.ndarray, matrices: Matrices) -> dict[str, list[str]]:
    """Table columns: the norms of the three gradients, with these matrices and with some of them set to zero."""
    w_q, w_k, w_v = matrices
    head = start.head
    target = head.output[start.token] - start.output
    starts: dict[str, Matrices] = {
        "as they are": matrices,
        "W_Q = 0": (0 * w_q, w_k, w_v),
        "W_Q = W_K = 0": (0 * w_q, 0 * w_k, w_v),
        "W_V = 0": (w_q, w_k, 0 * w_v),
    }
    by_start = [
        head_gradients(x, point, start.token, target, divisor=head.divisor, mask=head.mask) for point in starts.values()
    ]
    lengths = {
        name: number_cells(np.linalg.norm(point.matrices[i]) for point in by_start)
        for i, name in enumerate(MATRIX_NAMES)
    }
    return {"matrices": list(starts)} | lengths


def arithmetic(start: HeadGradients, x: np.ndarray, target: np.ndarray) -> str:
    """Backpropagation with its numbers, step by step."""
    head, token = start.head, start.token
    return TEXTS(
        "backward",
        **vars(start) | {"o": head.output[token], "y": target, "q": head.q[token], "divisor": head.divisor},
        mixed=head.weights[token] @ x,
        mean=head.weights[token] @ start.weights,
        sum=start.scores.sum().round(12),
    ).replace("\n\n", "  \n")


def descent_sentence(path: list[HeadGradients], target: int, steps: int) -> str:
    """The loss, and the weight on the target token, at the start and at the end of the descent."""
    taken = count_in_words(len(path) - 1, "step")
    if len(path) <= steps:
        return TEXTS("descent overflows", steps=taken)
    start, end = path[0], path[-1]
    weights = {"before": start.head.weights[start.token, target], "after": end.head.weights[end.token, target]}
    return TEXTS("descent", steps=taken, first=start.loss, last=end.loss, target=target + 1, **weights)


def descent_chart(path: list[HeadGradients], target: int) -> Figure:
    """Loss relative to its first value, and the weight on the target token, by step."""
    losses = np.array([point.loss for point in path]) / (path[0].loss or 1.0)
    weights = np.array([point.head.weights[point.token, target] for point in path])
    series = [
        Series("loss, relative to the first", losses),
        Series(f"weight on token {target + 1}", weights, "other", hue=SIGNAL),
    ]
    return linear_profile(
        title="Gradient descent",
        x="step",
        sites=range(len(path)),
        unit="share",
        hue=LOSS,
        series=series,
        guides=(0.0, 1.0),
    )
