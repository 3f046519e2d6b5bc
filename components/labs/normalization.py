"""The normalisation lab: a table of tokens, normalised live, with the cells that share statistics in one colour."""

from typing import Any

import numpy as np
import streamlit as st

from components.address import kept
from components.labs import normalization_table as tables
from components.labs import table
from components.labs.normalization_memory import memory
from components.labs.normalization_parts import PARTS
from components.labs.normalization_steps import steps
from models.labs.normalization import ACROSS_TOKENS, CELL, GROUP, METHODS, SEQUENCE, Normed, normalised
from models.labs.notes import TABLES

KEY = "normalization"
FIRST = "three tokens, layer norm"
EPS = [0.0, 1e-8, 1e-5, 1e-3, 1e-1, 1.0]
DEFAULTS: dict[str, Any] = {
    "preset": FIRST,
    "method": "layer norm",
    "eps": 1e-5,
    "gain": 1.0,
    "bias": 0.0,
    "alpha": 0.5,
    "padding": [],
    "left_out": False,
    "mode": "train",
}
TIPS = {
    "layer norm": "Token by token, over its features; the same in training and in use.",
    "rms norm": "As layer norm, without taking the mean away.",
    "group norm": "Token by token, over groups of features.",
    "batch norm": "Feature by feature, over all tokens of the batch; in use, by what it remembers of training.",
    "instance norm": "Feature by feature, over the tokens of one sequence. With one sequence it is batch norm in training.",
    "joint layer norm": "Over tokens and features at once: what nn.LayerNorm([T, d]) does, and seldom what is meant.",
    "dynamic tanh": "No statistics: every number is squashed by itself.",
    "min-max": "Feature by feature: the least becomes 0, the greatest 1.",
    "z-score": "Feature by feature: mean 0 and standard deviation 1, without eps.",
}


def draw() -> None:
    """The whole lab."""
    for name, value in DEFAULTS.items():
        st.session_state.setdefault(f"{KEY}_{name}", value)
    values = _chosen_table()
    method = st.selectbox("Method", list(METHODS), key=f"{KEY}_method", persist_state="session")
    st.caption(TIPS[method])
    settings = _settings(values, method)
    if method == "batch norm":
        values, settings["running"] = memory(values, settings["counted"])
    row_key = f"{KEY}_row_{len(values)}"
    names, features = table.names(KEY)
    st.latex(METHODS[method].equation)
    found = _normalised(values, method, settings)
    if found is not None:
        tables.result(values, found, method, names, features)
    tokens = range(len(values))
    row = st.selectbox("Step by step for token", tokens, format_func=names.__getitem__, key=row_key, persist_state="session")
    if found is not None:
        steps(values, found, method, row, settings)
    st.subheader("Look closer", anchor=False)
    choice = kept(f"{KEY}_part", None, name="part", among=PARTS)
    part = st.segmented_control("Look closer", list(PARTS), label_visibility="collapsed", **choice)
    if part:
        PARTS[part](values, row, float(settings["eps"]), names)


def _normalised(values: np.ndarray, method: str, settings: dict[str, Any]) -> Normed | None:
    """The norm's result; None, and a sentence on the page, where its statistics do not exist."""
    try:
        return normalised(values, method, **settings)
    except ValueError as problem:
        st.error(str(problem))
        return None


def _chosen_table() -> np.ndarray:
    """The notes' tables to begin with, and the table as it stands."""
    key = f"{KEY}_preset"

    def put() -> None:
        example = TABLES[st.session_state[key]]
        table.put(KEY, example.values, example.rows, example.columns)
        st.session_state[f"{KEY}_method"] = example.method
        st.session_state[f"{KEY}_padding"] = [at for at, name in enumerate(example.rows) if name.startswith("pad")]

    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.selectbox("The notes' tables", list(TABLES), key=key, on_change=put, persist_state="session")
    right.button("Begin anew with it", key=f"{KEY}_again", on_click=put, width="stretch")
    example = TABLES[st.session_state[key]]
    if example.note:
        st.info(example.note)
    return table.table(KEY, TABLES[FIRST].values)


def _settings(values: np.ndarray, method: str) -> dict[str, Any]:
    """What the method is applied with; controls that it does not read are not drawn, and keep their values."""
    tokens, features = values.shape
    kind = METHODS[method]
    kept: dict[str, Any] = {"eps": 1e-5, "counted": None}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if kind.shares != CELL and method not in {"min-max", "z-score"}:
            kept["eps"] = st.select_slider("eps", EPS, format_func="{:g}".format, width=200, **_kept("eps"))
        kept["gain"] = st.number_input("Gain", -100.0, 100.0, step=0.1, format="%g", width=130, **_kept("gain"))
        kept["bias"] = st.number_input("Bias", -100.0, 100.0, step=0.1, format="%g", width=130, **_kept("bias"))
        if kind.spread == "variance":
            tip = "Divides the sum of squares by n - 1 instead of n. The norms of torch divide by n."
            kept["unbiased"] = st.toggle("Unbiased variance", help=tip, **_kept("unbiased"))
        if kind.shares == GROUP:
            tip = "1 group is layer norm; as many groups as features leave every number alone with itself: all zeros."
            kept["groups"] = st.selectbox("Groups", _divisors(features), help=tip, width=130, **_kept(f"groups_{features}"))
        if kind.shares == SEQUENCE:
            tip = "The rows are cut into so many sequences of equal length; each has its own statistics."
            kept["sequences"] = st.selectbox("Sequences", _divisors(tokens), help=tip, width=130, **_kept(f"sequences_{tokens}"))
        if kind.shares == CELL:
            kept["alpha"] = st.slider("alpha", 0.1, 3.0, step=0.1, width=200, **_kept("alpha"))
    if kind.shares in ACROSS_TOKENS:
        kept["counted"] = _counted(tokens)
    return kept


def _counted(tokens: int) -> np.ndarray | None:
    """Which tokens enter statistics over tokens; None for all."""
    key = f"{KEY}_padding"
    st.session_state[key] = [at for at in st.session_state[key] if at < tokens]
    names, _ = table.names(KEY)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        padding = st.multiselect(
            "Padding tokens", range(tokens), format_func=names.__getitem__, help="Rows that are no words.", **_kept("padding")
        )
        left_out = st.toggle("Leave padding out of the statistics", disabled=not padding, **_kept("left_out"))
    return np.array([at not in padding for at in range(tokens)]) if left_out and padding else None


def _kept(name: str) -> dict[str, Any]:
    return {"key": f"{KEY}_{name}", "persist_state": "session"}


def _divisors(count: int) -> list[int]:
    return [part for part in range(1, count + 1) if count % part == 0]
