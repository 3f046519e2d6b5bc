"""A closer look at one head: how W_Q, W_K and W_V learn by gradient descent, and dot product against cosine."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.examples import numbered_choices, numbered_names
from components.labs.parts import draw_charts, draw_finding, draw_matrix, number_cells, table_places
from components.shell.text import named_table
from models.content import Texts
from models.insight.words import count_in_words
from models.labs.attention import Head, HeadGradients, Matrices, descent, head_gradients, softmax
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_learning"
MATRIX_NAMES = ("W_Q", "W_K", "W_V")
ROUNDING = 1e-9  # a smaller difference of two scores is rounding


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


def draw_cosine(head: Head, token: int, _x: np.ndarray, _matrices: Matrices) -> None:
    """Draws the scores of a query by dot product and by cosine, and the scores with query and key exchanged."""
    st.latex(r"q\cdot k=|q|\,|k|\cos(q,k)")
    cosines = cosine_scores(head)
    draw_finding(cosine_sentence(head, cosines, token))
    named_table(
        "Dot product and cosine",
        {
            "key of": numbered_names("token", len(head.k)),
            "length of k": number_cells(np.linalg.norm(head.k, axis=1)),
            "cosine with q": number_cells(cosines[token]),
            "q·k": number_cells(head.scores[token], 5),
            "weight by q·k": [f"{weight:.1%}" for weight in head.weights[token]],
            "weight by cosine": [f"{weight:.1%}" for weight in cosine_weights(cosines, head.mask)[token]],
            "roles exchanged, k·q": number_cells(head.scores[:, token], 5),
        },
    )
    st.caption(TEXTS("dot product and cosine", length=np.linalg.norm(head.q[token])))


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


def cosine_scores(head: Head) -> np.ndarray:
    """q·k divided by both lengths, (n, m); 0 if either length is 0."""
    lengths = np.outer(np.linalg.norm(head.q, axis=1), np.linalg.norm(head.k, axis=1))
    return np.divide(head.scores, lengths, out=np.zeros_like(head.scores), where=lengths > 0)


def cosine_weights(cosines: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The weights if cosines were the scores, (n, m)."""
    return softmax(np.where(seen, cosines, -np.inf))


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


def cosine_sentence(head: Head, cosines: np.ndarray, token: int) -> str:
    """Which token each measure prefers, and how much scores change when query and key are exchanged."""
    seen = np.flatnonzero(head.mask[token])
    if not len(seen):
        return TEXTS("token sees nothing", token=token + 1)
    by_product = int(seen[head.scores[token, seen].argmax()])
    by_cosine = int(seen[cosines[token, seen].argmax()])
    asymmetry = np.abs(head.scores - head.scores.T).max()
    exchanged = TEXTS("symmetric") if asymmetry < ROUNDING else TEXTS("not symmetric", apart=asymmetry)
    choice = {"token": token + 1, "dot": by_product + 1, "exchanged": exchanged}
    if by_product == by_cosine:
        cosine_weight = cosine_weights(cosines, head.mask)[token, by_cosine]
        return TEXTS("measures agree", by_dot=head.weights[token, by_product], by_cosine=cosine_weight, **choice)
    long, short = np.linalg.norm(head.k[[by_product, by_cosine]], axis=1)
    return TEXTS("measures differ", cosine=by_cosine + 1, short=short, long=long, **choice)


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
