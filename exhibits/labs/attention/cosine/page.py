"""A closer look at one head: dot product against cosine, and query and key exchanged."""

import numpy as np
import streamlit as st

from components.labs.examples import numbered_names
from components.labs.parts import draw_finding, number_cells
from components.shell.text import named_table
from models.content import Texts
from models.labs.attention import Head, Matrices, softmax

TEXTS = Texts("labs/attention/cosine")
ROUNDING = 1e-9  # a smaller difference of two scores is rounding


def draw(head: Head, token: int, _x: np.ndarray, _matrices: Matrices) -> None:
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


def cosine_scores(head: Head) -> np.ndarray:
    """q·k divided by both lengths, (n, m); 0 if either length is 0."""
    lengths = np.outer(np.linalg.norm(head.q, axis=1), np.linalg.norm(head.k, axis=1))
    return np.divide(head.scores, lengths, out=np.zeros_like(head.scores), where=lengths > 0)


def cosine_weights(cosines: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The weights if cosines were the scores, (n, m)."""
    return softmax(np.where(seen, cosines, -np.inf))


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
