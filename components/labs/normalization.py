"""The normalisation lab: a table of tokens, normalised live, with the cells that share statistics in one colour."""

import numpy as np
import pandas as pd
import streamlit as st

from components.figures import BLUE, GREEN, ORANGE, PURPLE
from components.labs import table
from components.labs.normalization_parts import PARTS
from models.labs.normalization import CELL, FEATURE, GROUP, SHARED, TOKEN, Normed, normalised, remembered
from models.labs.notes import TABLES

KEY = "normalization"
FIRST = "three tokens, layer norm"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
AXIS = {
    TOKEN: "Statistics are taken over the features of each token: the cells of a **row** share them.",
    FEATURE: "Statistics are taken over the tokens, feature by feature: the cells of a **column** share them.",
    GROUP: "Statistics are taken over groups of features of each token: the cells of a **part of a row** share them.",
    CELL: "No statistics at all: every cell is mapped by itself.",
}


def draw() -> None:
    """The whole lab."""
    _preset()
    values = table.table(KEY, TABLES[FIRST].values)
    method = st.selectbox("Method", list(SHARED), key=f"{KEY}_method", persist_state="session")
    settings = _settings(values, method)
    try:
        found = normalised(values, method, **settings)
    except ValueError as problem:
        st.error(str(problem))
        return
    st.markdown(AXIS[SHARED[method]])
    _result(values, found, method, settings["groups"])
    row = _steps(values, found, method, settings)
    part = st.segmented_control("Look closer", list(PARTS), key=f"{KEY}_part")
    if part:
        PARTS[part](values, row, settings["eps"])


def _preset() -> None:
    """The notes' tables; choosing one replaces the table and sets the method it is about."""
    key = f"{KEY}_preset"
    st.session_state.setdefault(key, FIRST)

    def put() -> None:
        example = TABLES[st.session_state[key]]
        table.put(KEY, example.values, example.rows, example.columns)
        st.session_state[f"{KEY}_method"] = example.method
        pads = [at for at, name in enumerate(example.rows) if name.startswith("pad")]
        st.session_state[f"{KEY}_padding"] = [at + 1 for at in pads]

    st.selectbox("The notes' tables", list(TABLES), key=key, on_change=put, persist_state="session")
    if TABLES[st.session_state[key]].note:
        st.info(TABLES[st.session_state[key]].note)


def _settings(values: np.ndarray, method: str) -> dict:
    """What the method is applied with; controls that it does not read are not drawn."""
    tokens, features = values.shape
    kept: dict = {"eps": 1e-5, "gain": 1.0, "bias": 0.0, "unbiased": False, "groups": 1}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if method not in {"min-max", "z-score", "dynamic tanh"}:
            powers = [0.0, 1e-8, 1e-5, 1e-3, 1e-1, 1.0]
            kept["eps"] = st.select_slider("eps", powers, 1e-5, key=f"{KEY}_eps", persist_state="session", width=200)
        kept["gain"] = st.number_input("Gain", -10.0, 10.0, 1.0, 0.1, key=f"{KEY}_gain", persist_state="session", width=130)
        kept["bias"] = st.number_input("Bias", -10.0, 10.0, 0.0, 0.1, key=f"{KEY}_bias", persist_state="session", width=130)
        if method in {"layer norm", "group norm", "batch norm", "instance norm", "z-score"}:
            tip = "Divides the sum of squares by n - 1 instead of n. torch's norms divide by n."
            kept["unbiased"] = st.toggle("Unbiased variance", key=f"{KEY}_unbiased", persist_state="session", help=tip)
        if method == "group norm":
            divisors = [count for count in range(1, features + 1) if features % count == 0]
            tip = "1 group is layer norm; as many groups as features leave every number alone with itself: all zeros."
            kept["groups"] = st.selectbox("Groups", divisors, key=f"{KEY}_groups_{features}", help=tip, width=130)
        if method == "dynamic tanh":
            kept["alpha"] = st.slider("alpha", 0.1, 3.0, 0.5, 0.1, key=f"{KEY}_alpha", persist_state="session", width=200)
    if SHARED[method] == FEATURE:
        kept |= _over_tokens(values, method, tokens)
    return kept


def _over_tokens(values: np.ndarray, method: str, tokens: int) -> dict:
    """Padding, and batch norm in use: what a method over tokens reads besides the table."""
    kept: dict = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = f"{KEY}_padding"
        st.session_state[key] = [at for at in st.session_state.get(key, []) if at <= tokens]
        padding = st.multiselect("Padding tokens", range(1, tokens + 1), key=key, help="Rows that are no words.")
        left_out = st.toggle("Leave padding out of the statistics", key=f"{KEY}_left_out", disabled=not padding)
        if left_out:
            kept["counted"] = np.array([at + 1 not in padding for at in range(tokens)])
        if method == "batch norm":
            mode = st.segmented_control("Mode", ["train", "eval"], default="train", required=True, key=f"{KEY}_mode")
            if mode == "eval":
                batches = st.slider("Batches remembered", 0, 50, 5, key=f"{KEY}_batches", width=220)
                kept["running"] = remembered(values, batches, kept.get("counted"))
    return kept


def _result(values: np.ndarray, found: Normed, method: str, groups: int) -> None:
    """The normalised table, colours and marks for the cells that share statistics; their mean and RMS beside it."""
    shared = SHARED[method]
    tokens, features = values.shape
    letters = _letters(tokens, features, shared, groups)
    shown = pd.DataFrame(found.values, index=_names("token", tokens), columns=_names("feature", features))
    marked = shown.map(lambda value: f"{value:.3f}") + (" " + letters if shared != CELL else "")
    styles = letters.map(lambda letter: f"background-color: {COLOURS[(ord(letter) - ord('a')) % 4]}40")
    st.dataframe(marked.style.apply(lambda _: styles, axis=None) if shared != CELL else marked, alt="Normalised table, table")
    st.caption(f"The letter says which cells share statistics. Computed: {method}. :green-badge[formula]")
    axis = 0 if shared == FEATURE else 1
    mean, rms = found.values.mean(axis), np.sqrt((found.values**2).mean(axis))
    name = "feature" if axis == 0 else "token"
    spread = pd.DataFrame({"mean": mean, "RMS": rms}, index=_names(name, len(mean)))
    with st.popover("Mean and RMS of the result"):
        st.dataframe(spread, alt="Mean and RMS of the result, table")


def _letters(tokens: int, features: int, shared: str, groups: int) -> pd.DataFrame:
    """One letter a cell: equal letters share statistics."""
    row, column = np.mgrid[:tokens, :features]
    part = column // (features // groups) if shared == GROUP else np.zeros_like(column)
    number = {TOKEN: row, FEATURE: column, GROUP: row * groups + part, CELL: row * features + column}[shared]
    letters = np.vectorize(lambda at: chr(ord("a") + at % 26))(number)
    return pd.DataFrame(letters, index=_names("token", tokens), columns=_names("feature", features))


def _steps(values: np.ndarray, found: Normed, method: str, settings: dict) -> int:
    """The arithmetic of one token with its numbers; the row that was chosen."""
    row = int(st.selectbox("Step by step for token", range(1, len(values) + 1), key=f"{KEY}_row_{len(values)}")) - 1
    x, centre, scale, y = values[row], found.centre[row], found.scale[row], found.values[row]
    if method == "dynamic tanh":
        inside = settings["alpha"] * x
        st.markdown(f"alpha x = {_listed(inside)}, tanh of it {_listed(np.tanh(inside))}")
    else:
        divided = (x - centre) / np.where(scale, scale, 1)
        st.markdown(
            f"x = {_listed(x)}  \ncentre {_listed(centre)}, so x - centre = {_listed(x - centre)}  \n"
            f"scale {_listed(scale)} (its square {_listed(scale**2)}), so divided {_listed(divided)}"
        )
    st.markdown(f"times gain {settings['gain']:g}, plus bias {settings['bias']:g}: **{_listed(y)}**")
    return row


def _listed(values: np.ndarray) -> str:
    """Equal numbers once, else a list; four significant digits."""
    if np.ptp(values) == 0:
        return f"{values[0]:.4g}"
    return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"


def _names(word: str, count: int) -> list[str]:
    return [f"{word} {at + 1}" for at in range(count)]
