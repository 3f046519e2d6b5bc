"""A closer look at one head: how W_Q, W_K and W_V learn by gradient descent, and dot product against cosine."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.examples import numbered
from components.labs.parts import charts, matrix, say
from components.shell.text import named_table, number
from models.content import Texts
from models.insight.words import counted
from models.labs.attention import Head, Learning, Matrices, descent, learning, softmax
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_learning"
NAMES = ("W_Q", "W_K", "W_V")


@dataclass(frozen=True)
class Descent(Settings):
    columns = (3,)

    target: Annotated[int, Knob("Target output: the value of", choices={}, link="wish")] = 0
    lr: Annotated[float, Knob("Learning rate", low=0.001, high=10.0, link="step-size")] = 0.1
    steps: Annotated[int, Knob("Steps of descent", low=1, high=300, link="steps-down")] = 50


def draw(head: Head, at: int, x: np.ndarray, matrices: Matrices) -> None:
    tokens = dict(enumerate(numbered("token", len(x))))
    way = form.draw(Descent, KEY, Descent(len(x) - 1), legal={"target": tokens})
    target = x[way.target] @ matrices[2]
    start = learning(x, matrices, at, target, by=head.divisor, seen=head.seen)
    if not np.isfinite(start.loss) or not head.seen[at].any():
        st.info(TEXTS("no gradient"))
        return
    walk = list(descent(x, matrices, at, target, by=head.divisor, seen=head.seen, lr=way.lr, steps=way.steps))
    say(walk_sentence(walk, way.target, way.steps))
    left, right = st.columns(2)
    with left:
        st.markdown(arithmetic(start, x, target))
    with right:
        charts(KEY, walk_chart(walk, way.target))
    for column, name, gradient in zip(st.columns(3), NAMES, start.matrices, strict=True):
        with column:
            matrix(f"Gradient of {name}", gradient, "feature", name[2].lower())
    st.markdown("**What learns from zero?**")
    named_table("Sizes of the gradients", sizes(start, x, matrices))
    st.caption(TEXTS("sizes of gradients"))


def arithmetic(start: Learning, x: np.ndarray, target: np.ndarray) -> str:
    """Backpropagation, step by step with its numbers."""
    head, at = start.head, start.at
    return TEXTS(
        "backward",
        **vars(start) | {"o": head.output[at], "y": target, "q": head.q[at], "divisor": head.divisor},
        mixed=head.weights[at] @ x,
        mean=head.weights[at] @ start.weights,
        sum=start.scores.sum().round(12),
    ).replace("\n\n", "  \n")


def walk_sentence(walk: list[Learning], target: int, steps: int) -> str:
    first, last, taken = walk[0], walk[-1], counted(len(walk) - 1, "step")
    if len(walk) <= steps:
        return TEXTS("descent overflows", steps=taken)
    before, after = (point.head.weights[point.at, target] for point in (first, last))
    return TEXTS(
        "descent", steps=taken, first=first.loss, last=last.loss, target=target + 1, before=before, after=after
    )


def sizes(start: Learning, x: np.ndarray, matrices: Matrices) -> dict[str, list[str]]:
    """Lengths of the three gradients for the given matrices and with some of them zero, for the same target."""
    w_q, w_k, w_v = matrices
    head, target = start.head, start.head.output[start.at] - start.output
    starts: dict[str, Matrices] = {
        "as they are": matrices,
        "W_Q = 0": (0 * w_q, w_k, w_v),
        "W_Q = W_K = 0": (0 * w_q, 0 * w_k, w_v),
        "W_V = 0": (w_q, w_k, 0 * w_v),
    }
    rows = [learning(x, each, start.at, target, by=head.divisor, seen=head.seen).matrices for each in starts.values()]
    lengths = {name: [number(float(np.linalg.norm(row[at]))) for row in rows] for at, name in enumerate(NAMES)}
    return {"matrices": list(starts)} | lengths


def walk_chart(walk: list[Learning], target: int) -> Figure:
    """Loss relative to its first value, and the weight on the target token, by step."""
    losses = np.array([point.loss for point in walk]) / (walk[0].loss or 1.0)
    weights = np.array([point.head.weights[point.at, target] for point in walk])
    series = [
        Series("loss, relative to the first", losses),
        Series(f"weight on token {target + 1}", weights, "other", hue=SIGNAL),
    ]
    title, steps, guides = "Gradient descent", range(len(walk)), (0.0, 1.0)
    return linear_profile(title=title, x="step", sites=steps, unit="share", hue=LOSS, series=series, guides=guides)


def draw_cosine(head: Head, at: int, _x: np.ndarray, _matrices: Matrices) -> None:
    """The scores of one query by dot product and by cosine, and the same pairs with roles exchanged."""
    st.latex(r"q\cdot k=|q|\,|k|\cos(q,k)")
    cosines = cosine(head)
    say(cosine_sentence(head, cosines, at))
    named_table(
        "Dot product and cosine",
        {
            "key of": numbered("token", len(head.k)),
            "length of k": [number(length) for length in np.linalg.norm(head.k, axis=1)],
            "cosine with q": [number(value) for value in cosines[at]],
            "q·k": [number(value, 5) for value in head.scores[at]],
            "weight by q·k": [f"{weight:.1%}" for weight in head.weights[at]],
            "weight by cosine": [f"{weight:.1%}" for weight in by_cosine(cosines, head.seen)[at]],
            "roles exchanged, k·q": [number(value, 5) for value in head.scores[:, at]],
        },
    )
    st.caption(TEXTS("dot product and cosine", length=np.linalg.norm(head.q[at])))


def cosine(head: Head) -> np.ndarray:
    """q·k over both lengths, (n, m); 0 where either is 0."""
    lengths = np.outer(np.linalg.norm(head.q, axis=1), np.linalg.norm(head.k, axis=1))
    return np.divide(head.scores, lengths, out=np.zeros_like(head.scores), where=lengths > 0)


def by_cosine(cosines: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The weights if cosines were the scores, (n, m)."""
    return softmax(np.where(seen, cosines, -np.inf))


def cosine_sentence(head: Head, cosines: np.ndarray, at: int) -> str:
    """Which token each measure prefers, and how much scores change when query and key are exchanged."""
    token, seen = at + 1, np.flatnonzero(head.seen[at])
    if not len(seen):
        return TEXTS("token sees nothing", token=token)
    dot, cos = (int(seen[values[at, seen].argmax()]) for values in (head.scores, cosines))
    apart = np.abs(head.scores - head.scores.T).max()
    exchanged = TEXTS("symmetric") if apart < 1e-9 else TEXTS("not symmetric", apart=apart)
    if dot == cos:
        weights = {"by_dot": head.weights[at, dot], "by_cosine": by_cosine(cosines, head.seen)[at, dot]}
        return TEXTS("measures agree", token=token, dot=dot + 1, exchanged=exchanged, **weights)
    long, short = np.linalg.norm(head.k[[dot, cos]], axis=1)
    return TEXTS(
        "measures differ", token=token, dot=dot + 1, cosine=cos + 1, short=short, long=long, exchanged=exchanged
    )
