"""The normalisation lab: a table of tokens, normalised live; cells that share statistics have one colour."""

from typing import Any

import numpy as np
import streamlit as st

from components.controls import number_table as table
from components.labs.examples import choose
from components.labs.normalization import table as tables
from components.labs.normalization.memory import memory
from components.labs.normalization.parts import PARTS
from components.labs.normalization.picture import picture
from components.labs.normalization.steps import steps
from components.shell import session
from components.shell.address import url_param
from components.shell.text import badge, typed
from models.labs.normalization import ACROSS_TOKENS, CELL, GROUP, METHODS, SEQUENCE, NormedTable, normalised
from models.labs.tables import TABLES, ExampleTable

KEY = "normalization"
FIRST = "three tokens, layer norm"
EPS = [0.0, 1e-8, 1e-5, 1e-3, 1e-1, 1.0]
LEGAL = (-100.0, 100.0)  # of gain and bias
TIPS = {
    "layer norm": "Training and inference do the same.",
    "rms norm": "No mean is subtracted.",
    "batch norm": "At inference, running statistics take their place.",
    "instance norm": "With one sequence it is batch norm in training.",
    "joint layer norm": "This is what nn.LayerNorm([T, d]) does, which is rarely intended.",
    "min-max": "The minimum becomes 0, the maximum 1.",
    "z-score": "There is no eps.",
}


def draw() -> None:
    """The whole lab."""
    left, right = st.columns(2)
    with left:
        example = _example()
    method = right.selectbox("Method", list(METHODS), **_kept("method", example.method, among=METHODS))
    shown = st.container()
    before, after = st.columns(2)
    with before:
        st.markdown("**In**")
        values = table.table(KEY, example.values, name="table", rows=example.rows, columns=example.columns)
    settings = _settings(values, method, example)
    if method == "batch norm":
        values, settings["running"] = memory(values, settings["counted"])
    names, features = table.names(KEY)
    found = _normalised(values, method, settings)
    if found is not None:
        with shown:
            picture(values, found, method, settings)
            st.markdown(f"{tables.AXIS[METHODS[method].shares]} {TIPS.get(method, '')} {badge('formula')}")
        with after:
            tables.result(found, method, names, features)
    row = _step_by_step(values, found, method, settings)
    st.subheader("Look closer", anchor=False)
    choice = _kept("part", None, among=PARTS)
    part = st.segmented_control(
        "Look closer", list(PARTS), format_func=_in_words, label_visibility="collapsed", **choice
    )
    if part:
        PARTS[part](values, row, float(settings["eps"]), names)


def _in_words(part: str) -> str:
    """A part's name, which holds other words in addresses."""
    return part.replace("swallows", "throws away").replace("against", "vs.")


def _step_by_step(values: np.ndarray, found: NormedTable | None, method: str, settings: dict[str, Any]) -> int:
    """The formula, and one token worked out, folded. Returns the token's number."""
    names, _ = table.names(KEY)
    with st.expander("Formula, and one token step by step"):
        st.latex(METHODS[method].equation)
        tokens = range(len(values))
        row = int(
            st.selectbox("Token", tokens, format_func=names.__getitem__, **_kept("row", 0, "token", among=tokens))
        )
        if found is not None:
            steps(values, found, method, row, settings)
    return row


def _normalised(values: np.ndarray, method: str, settings: dict[str, Any]) -> NormedTable | None:
    """The norm's result; None with an error on the page if its statistics do not exist."""
    try:
        return normalised(values, method, **settings)
    except ValueError as problem:
        st.error(str(problem))
        return None


def _example() -> ExampleTable:
    """The chosen example, with what is to be said about it."""

    def load(example: ExampleTable) -> None:
        table.put(KEY, example.values)
        session.set_widget(f"{KEY}_method", example.method)
        session.set_widget(f"{KEY}_padding", _pads(example))

    example = TABLES[choose(KEY, TABLES, load, first=FIRST, again=True)]
    if example.note:
        st.info(typed(example.note, "formula"))
    return example


def _pads(example: ExampleTable) -> list[int]:
    """The padding rows of an example."""
    return [at for at, name in enumerate(example.rows) if name.startswith("pad")]


def _settings(values: np.ndarray, method: str, example: ExampleTable) -> dict[str, Any]:
    """The method's settings; controls that it does not use are not drawn, but keep their values."""
    tokens, features = values.shape
    kind = METHODS[method]
    found: dict[str, Any] = {"eps": 1e-5, "counted": None}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if kind.shares != CELL and method not in {"min-max", "z-score"}:
            choice = _kept("eps", 1e-5, among=EPS)
            found["eps"] = st.select_slider("eps", EPS, format_func="{:g}".format, width=200, **choice)
        for name, usual in (("gain", 1.0), ("bias", 0.0)):
            choice = _kept(name, usual, bounds=LEGAL)
            found[name] = st.number_input(name.capitalize(), *LEGAL, step=0.1, format="%g", width=130, **choice)
        if kind.spread == "variance":
            tip = "Divides the sum of squares by n - 1 instead of n. The norms of torch divide by n."
            found["unbiased"] = st.toggle("Unbiased variance", help=tip, **_kept("unbiased", False))
        if kind.shares == GROUP:
            tip = "1 group is layer norm; with as many groups as features, every number becomes 0."
            choice = _kept("groups", 1, among=_divisors(features))
            found["groups"] = st.selectbox("Groups", _divisors(features), help=tip, width=130, **choice)
        if kind.shares == SEQUENCE:
            tip = "The rows are split into this many sequences of equal length, each with its own statistics."
            choice = _kept("sequences", 1, among=_divisors(tokens))
            found["sequences"] = st.selectbox("Sequences", _divisors(tokens), help=tip, width=130, **choice)
        if kind.shares == CELL:
            found["alpha"] = st.slider("alpha", 0.1, 3.0, step=0.1, width=200, **_kept("alpha", 0.5, bounds=(0.1, 3.0)))
    padding = _kept("padding", _pads(example), among=range(tokens), many=True)  # set by examples even if not drawn
    if kind.shares in ACROSS_TOKENS:
        found["counted"] = _counted(tokens, padding)
    return found


def _counted(tokens: int, choice: dict[str, Any]) -> np.ndarray | None:
    """Which tokens count in statistics over tokens; None for all."""
    names, _ = table.names(KEY)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tip = "Rows that only fill up the batch."
        padding = st.multiselect("Padding tokens", range(tokens), format_func=names.__getitem__, help=tip, **choice)
        left_out = st.toggle(
            "Leave padding out of the statistics", disabled=not padding, **_kept("left_out", False, "leave")
        )
    return np.array([at not in padding for at in range(tokens)]) if left_out and padding else None


def _kept(control: str, default: Any, name: str = "", **legal: Any) -> dict[str, Any]:
    return url_param(f"{KEY}_{control}", default, name=name or control, **legal)


def _divisors(count: int) -> list[int]:
    return [part for part in range(1, count + 1) if count % part == 0]
