"""Dot product against cosine in one attention head: which token each prefers, and that neither is symmetric."""

import numpy as np
import streamlit as st

from components.labs.examples import numbered
from components.shell.text import badge, named_table, number
from models.labs.attention import Head, softmax


def draw(head: Head, at: int) -> None:
    """The scores of one query by both measures, and the same pairs with roles exchanged."""
    st.latex(r"q\cdot k=|q|\,|k|\cos(q,k)")
    cosines = cosine(head)
    st.markdown(f"**{said(head, cosines, at)}** {badge('formula')}")
    q, lengths = float(np.linalg.norm(head.q[at])), np.linalg.norm(head.k, axis=1)
    named_table(
        "Dot product and cosine",
        {
            "key of": numbered("token", len(head.k)),
            "length of k": [number(length) for length in lengths],
            "cosine with q": [number(value) for value in cosines[at]],
            "q·k": [number(value, 5) for value in head.scores[at]],
            "weight by q·k": [f"{weight:.1%}" for weight in head.weights[at]],
            "weight by cosine": [f"{weight:.1%}" for weight in by_cosine(cosines, head.seen)[at]],
            "roles exchanged, k·q": [number(value, 5) for value in head.scores[:, at]],
        },
    )
    st.caption(
        f"q has length {number(q)}, which scales all its scores and so sharpens its softmax; a cosine ignores both "
        "lengths. The last column is each token's own query times the key of the query token: W_Q and W_K differ, so "
        "the dot product of query and key does not measure how similar two tokens are."
    )


def cosine(head: Head) -> np.ndarray:
    """q·k over both lengths, (n, m); 0 where either is 0."""
    lengths = np.outer(np.linalg.norm(head.q, axis=1), np.linalg.norm(head.k, axis=1))
    return np.divide(head.scores, lengths, out=np.zeros_like(head.scores), where=lengths > 0)


def by_cosine(cosines: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The weights if cosines were the scores, (n, m)."""
    return softmax(np.where(seen, cosines, -np.inf))


def said(head: Head, cosines: np.ndarray, at: int) -> str:
    """Which token each measure prefers, and how much scores change when query and key are exchanged."""
    seen = np.flatnonzero(head.seen[at])
    if not len(seen):
        return f"Token {at + 1} sees nothing: there is nothing to compare."
    dot, cos = int(seen[head.scores[at, seen].argmax()]), int(seen[cosines[at, seen].argmax()])
    lengths = np.linalg.norm(head.k, axis=1)
    if dot != cos:
        first = (
            f"By dot product token {at + 1} attends most to token {dot + 1}, by cosine to token {cos + 1}, whose key "
            f"has length {number(lengths[cos])} instead of {number(lengths[dot])}"
        )
    else:
        weights = head.weights[at, dot], by_cosine(cosines, head.seen)[at, dot]
        first = (
            f"By both measures token {at + 1} attends most to token {dot + 1}: with {weights[0]:.1%} of its weight by "
            f"dot product, {weights[1]:.1%} by cosine"
        )
    apart = float(np.abs(head.scores - head.scores.T).max())
    other = (
        "and no score changes when query and key are exchanged."
        if apart < 1e-9
        else (f"and exchanging query and key changes a score by up to {number(apart)}.")
    )
    return f"{first}; {other}"
