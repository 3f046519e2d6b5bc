"""One attention head on editable tables: Q, K and V, scores, scaling, masks, softmax, weighted sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.controls import number_table as table
from components.labs.attention import head_cosine, head_learning
from components.labs.attention import head_shown as shown
from components.labs.attention.head_words import Tables, arithmetic, fits, looks, slip
from components.labs.examples import choose, numbered
from components.shell.session import Key
from components.shell.text import badge
from models.labs.attention import attend, divisor, visible
from models.labs.attention_examples import PROJECTIONS, Projection
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_head"
CLOSER = (LEARNING, COSINE) = "How the matrices learn", "Dot product or cosine"
PARTS = {"x": "X, the tokens", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V"}

HEAD_FITTING: Key[Tables | None] = Key("attention_head_fitting", None)  # the last tables of matching shapes


@dataclass(frozen=True)
class ShownHead(Settings):
    """What the head sees, and what is looked at."""

    token: Annotated[int, Knob("Query token", choices={})] = 0
    scaled: Annotated[
        bool,
        Knob("Divide by √d_k", "Divides every score by the square root of the key size. Off: scores stay as they are."),
    ] = True
    causal: Annotated[
        bool,
        Knob("Causal mask", "A token sees itself and earlier tokens: scores of later tokens become minus infinity."),
    ] = False
    pads: Annotated[tuple[int, ...], Knob(
        "Padding", "Tokens that only fill up the sequence: no token attends to them.", choices={}, many=True,
        link="padding"
    )] = ()  # fmt: skip
    closer: Annotated[str | None, Knob("Look closer", choices=dict.fromkeys(CLOSER), control="segments")] = None


def draw() -> None:
    """The map of a sentence's weights, then the tables and the computation."""
    st.markdown("Which word does each word look at? Read it off the map, then edit the matrices that decide it.")
    name = _example()
    example = PROJECTIONS[name]
    picture, beside = st.columns([3, 2], gap="medium")
    note = st.container()
    tables = []
    for column, part in zip(st.columns(4), PARTS, strict=True):
        with column:
            tables.append(_table(part, example))
    x, w_q, w_k, w_v = _fitting((tables[0], tables[1], tables[2], tables[3]), example)
    words = example.words if len(example.words) == len(x) else ()
    with beside:
        scaled, causal, pads, at = _switches(words or numbered("token", len(x)), example)
    seen = visible(len(x), len(x), causal=causal, pads=pads)
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    by = divisor("√d_k", w_q.shape[1], x.shape[1])
    with_it, without = attend(q, k, v, by=by, seen=seen), attend(q, k, v, by=1.0, seen=seen)
    head = with_it if scaled else without
    with picture:
        shown.weights_map(head, words)
    with beside:
        st.markdown(f"**{looks(head, at, words)}** {badge('formula')}")
    if said := slip(name, (x, w_q, w_k, w_v), head):
        note.info(said)
    with st.expander("Formula, and every number on the way"):
        st.latex(r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V,\quad Q=XW_Q,\quad K=XW_K,\quad V=XW_V")
        st.markdown(arithmetic(head, x, w_q, at))
        shown.matrices(head)
    shown.scaling(with_it, without)
    shown.linear(x, (w_q, w_k, w_v), by)
    st.subheader("Look closer", anchor=False)
    closer = form.draw(ShownHead, KEY, only=["closer"], label_visibility="collapsed").closer
    if closer == LEARNING:
        head_learning.draw(x, (w_q, w_k, w_v), at, head.divisor, seen)
    elif closer == COSINE:
        head_cosine.draw(head, at)


def _example() -> str:
    def load(example: Projection) -> None:
        for part in PARTS:
            table.put(f"{KEY}_{part}", getattr(example, part))
        form.put(KEY, causal=example.causal, scaled=_scaled(example), pads=(), token=example.query)

    return choose(KEY, PROJECTIONS, load, again=True)


def _scaled(example: Projection) -> bool:
    return example.scaling != "none"


def _switches(names: Sequence[str], example: Projection) -> tuple[bool, bool, frozenset[int], int]:
    """Whether scores are scaled, whether later tokens are masked, which tokens are padding, and the query token."""
    tokens = dict(enumerate(names))
    usual = ShownHead(example.query if example.query in tokens else 0, _scaled(example), example.causal)
    legal, only = {"token": tokens, "pads": tokens}, ["token", "scaled", "causal", "pads"]
    at = form.draw(ShownHead, KEY, usual, only=only, legal=legal)
    return at.scaled, at.causal, frozenset(at.pads), at.token


def _names(part: str, example: Projection) -> tuple[list[str], list[str]]:
    """Names of rows and columns: a matrix has a row per feature, and a column per entry of q, k or v."""
    values: np.ndarray = getattr(example, part)
    if part == "x":
        return list(example.words), []
    return numbered("feature", len(values)), [f"{part[2]}{at + 1}" for at in range(values.shape[1])]


def _table(part: str, example: Projection) -> np.ndarray:
    rows, columns = _names(part, example)
    st.markdown(f"**{PARTS[part]}**")
    name = part.replace("_", "")
    return table.table(f"{KEY}_{part}", getattr(example, part), name=name, rows=rows, columns=columns)


def _fitting(tables: Tables, example: Projection) -> Tables:
    """The tables, or with an error the last ones whose shapes matched."""
    problem = fits(tables)
    if problem:
        st.error(f"{problem} Below are still the results for the last tables that matched.")
    else:
        HEAD_FITTING.put(tables)
    return HEAD_FITTING.get() or (example.x, example.w_q, example.w_k, example.w_v)
