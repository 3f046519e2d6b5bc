"""Dot product against cosine on the head of the page: who is
looked at by each, and that neither side can be exchanged.
"""

import numpy as np
import streamlit as st

from components.shell.text import badge, listed, number
from models.labs.attention import Head, softmax


def draw(head: Head, at: int) -> None:
    """The scores of one query by both measures, and the same pairs the other way round."""
    st.latex(r"q\cdot k=|q|\,|k|\cos(q,k)")
    cosines = cosine(head)
    st.markdown(f"**{said(head, cosines, at)}** {badge('formula')}")
    q, lengths = float(np.linalg.norm(head.q[at])), np.linalg.norm(head.k, axis=1)
    listed(
        "Dot product and cosine",
        {
            "key of": [f"token {j + 1}" for j in range(len(head.k))],
            "length of k": [number(length) for length in lengths],
            "cosine with q": [number(value) for value in cosines[at]],
            "q·k": [number(value, 5) for value in head.scores[at]],
            "weight by q·k": [f"{weight:.1%}" for weight in head.weights[at]],
            "weight by cosine": [f"{weight:.1%}" for weight in by_cosine(cosines, head.seen)[at]],
            "asked the other way, k·q": [number(value, 5) for value in head.scores[:, at]],
        },
    )
    st.caption(
        f"q is {number(q)} long, which scales all its scores and so sharpens its softmax; a cosine drops both lengths. "
        "The last column is what each token's own query gives with the key of the query token: W_Q and W_K differ, so "
        "a dot product of query and key is no measure of how alike two tokens are."
    )


def cosine(head: Head) -> np.ndarray:
    """q·k over both lengths, (n, m); 0 where one of them is 0."""
    lengths = np.outer(np.linalg.norm(head.q, axis=1), np.linalg.norm(head.k, axis=1))
    return np.divide(head.scores, lengths, out=np.zeros_like(head.scores), where=lengths > 0)


def by_cosine(cosines: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The weights if cosines were the scores, (n, m)."""
    return softmax(np.where(seen, cosines, -np.inf))


def said(head: Head, cosines: np.ndarray, at: int) -> str:
    """Whom each measure prefers, and by how much the scores change when the two sides are exchanged."""
    seen = np.flatnonzero(head.seen[at])
    if not len(seen):
        return f"Token {at + 1} sees nothing: there is nothing to compare."
    dot, cos = int(seen[head.scores[at, seen].argmax()]), int(seen[cosines[at, seen].argmax()])
    lengths = np.linalg.norm(head.k, axis=1)
    if dot != cos:
        first = (
            f"By dot product token {at + 1} looks hardest at token {dot + 1}, by cosine at token {cos + 1}, whose key "
            f"is {number(lengths[cos])} long beside {number(lengths[dot])}"
        )
    else:
        weights = head.weights[at, dot], by_cosine(cosines, head.seen)[at, dot]
        first = (
            f"By both measures token {at + 1} looks hardest at token {dot + 1}: with {weights[0]:.1%} of its weight by "
            f"dot product, {weights[1]:.1%} by cosine"
        )
    apart = float(np.abs(head.scores - head.scores.T).max())
    other = (
        "and no pair changes when query and key change places."
        if apart < 1e-9
        else (f"and exchanging query and key changes a score by up to {number(apart)}.")
    )
    return f"{first}; {other}"
