"""The normalisation lab: a table of tokens, normalised live; cells that share statistics have one colour."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example
from components.labs.normalization import table as tables
from components.labs.normalization.memory import memory
from components.labs.normalization.parts import PARTS
from components.labs.normalization.picture import picture
from components.labs.normalization.steps import steps
from components.shell.text import badge, number, typed
from models.content import Texts
from models.labs.normalization import (
    ACROSS_TOKENS,
    CELL,
    GROUP,
    METHODS,
    SEQUENCE,
    TOKEN,
    NormedTable,
    about,
    normalised,
)
from models.labs.tables import TABLES, WILD, WILDER, ExampleTable, wild
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"
FIRST = "three tokens, layer norm"
LIMITED = 0.5  # of the spread that a token would have without eps, below which the page says so
EPS = [0.0, 1e-8, 1e-5, 1e-3, 1e-1, 1.0]


@dataclass(frozen=True)
class Norming(Settings):
    """The method with its settings, and what is looked at."""

    columns = ()

    method: Annotated[str, Knob("Method", choices=dict.fromkeys(METHODS))] = "layer norm"
    eps: Annotated[float, Knob("eps", choices={eps: number(eps) for eps in EPS}, control="steps", width=200)] = 1e-5
    gain: Annotated[float, Knob("Gain", -100.0, 100.0, 0.1, width=130)] = 1.0
    bias: Annotated[float, Knob("Bias", -100.0, 100.0, 0.1, width=130)] = 0.0
    unbiased: Annotated[
        bool,
        Knob("Unbiased variance"),
    ] = False
    groups: Annotated[int, Knob("Groups", choices={}, width=130)] = 1
    sequences: Annotated[int, Knob("Sequences", choices={}, width=130)] = 1
    alpha: Annotated[float, Knob("alpha", 0.1, 3.0, 0.1, control="slider", width=200)] = 0.5
    padding: Annotated[tuple[int, ...], Knob("Padding tokens", choices={}, many=True)] = ()
    left_out: Annotated[bool, Knob("Leave padding out of the statistics", link="leave")] = False
    row: Annotated[int, Knob("Token", choices={}, link="token")] = 0
    wilder: Annotated[
        int, Knob("Wilder", choices={times: f"{times:,}" for times in WILDER}, control="steps", width=416)
    ] = 1
    part: Annotated[str | None, Knob(
        "Look closer",
        choices={part: part.replace("against", "vs.") for part in PARTS},
        control="segments"
    )] = None  # fmt: skip


def draw() -> None:
    """The whole lab."""
    left, right = st.columns(2)
    with left:
        example = _example()
    usual = Norming(example.method, padding=_pads(example))
    chosen = form.draw(Norming, KEY, usual, only=["method"], places=[right])
    method = chosen.method
    shown = st.container()
    before, after = st.columns(2)
    with before:
        st.markdown("**In**")
        values = table.table(KEY, example.values, name="table", rows=example.rows, columns=example.columns)
    settings = _settings(values, chosen, usual)
    if method == "batch norm":
        values, settings["running"] = memory(values, settings["counted"])
    names, features = table.names(KEY)
    found = _normalised(values, method, settings)
    if found is not None:
        with shown:
            picture(values, found, method, settings)
            if example is TABLES[WILD]:
                st.markdown(f"**{tamed(values, found, method, names, settings)}** {badge('formula')}")
            st.markdown(f"{about(method)} {badge('formula')}")
        with after:
            tables.result(found, method, names, features)
    with st.expander("Formula, and one token step by step"):
        st.latex(METHODS[method].equation)
        row = form.draw(Norming, KEY, only=["row"], legal={"row": dict(enumerate(names))}).row
        if found is not None:
            steps(values, found, method, row, settings)
    st.subheader("Look closer", anchor=False)
    if part := form.draw(Norming, KEY, only=["part"], label_visibility="collapsed").part:
        for heading, show in PARTS[part].items():
            if heading:
                st.subheader(heading, anchor=False)
            show(values, row, float(settings["eps"]), names)


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
        form.put(KEY, method=example.method, padding=_pads(example), wilder=1)

    example = TABLES[choose_example(KEY, TABLES, load, first=FIRST, with_reset=True)]
    if example.note:
        st.info(typed(example.note, "formula"))
    if example is TABLES[WILD]:
        put = lambda: table.put(KEY, wild(form.held(Norming, KEY).wilder))  # noqa: E731
        form.draw(Norming, KEY, only=["wilder"], on_change=put)
    return example


def tamed(values: np.ndarray, found: NormedTable, method: str, names: list[str], settings: dict[str, Any]) -> str:
    """The largest numbers before and after, and a token that eps keeps small."""
    before, after = (float(np.abs(cells).max()) for cells in (values, found.values))
    said = TEXTS("largest before and after", before=before, after=after)
    spread, eps = found.spread[:, 0], float(settings["eps"])
    if METHODS[method].shares != TOKEN or not eps or not spread.all():
        return said
    raw = np.sqrt(spread / (spread + eps))
    token = int(np.argmin(raw))
    if raw[token] > LIMITED:
        return said
    size, root = float(np.sqrt(spread[token])), float(np.sqrt(eps))
    return f"{said} {TEXTS('held small by eps', token=names[token], size=size, root=root, out=float(raw[token]))}"


def _pads(example: ExampleTable) -> tuple[int, ...]:
    """The padding rows of an example."""
    return tuple(at for at, name in enumerate(example.rows) if name.startswith("pad"))


def _settings(values: np.ndarray, chosen: Norming, usual: Norming) -> dict[str, Any]:
    """The method's settings; controls that it does not use are not drawn, but keep their values."""
    (tokens, features), kind, method = values.shape, METHODS[chosen.method], chosen.method
    used = {
        "eps": kind.shares != CELL and method not in {"min-max", "z-score"},
        "gain": True,
        "bias": True,
        "unbiased": kind.spread == "variance",
        "groups": kind.shares == GROUP,
        "sequences": kind.shares == SEQUENCE,
        "alpha": kind.shares == CELL,
    }
    names = [name for name, needed in used.items() if needed]
    legal = {"groups": _divisors(features), "sequences": _divisors(tokens)}
    drawn = form.draw(Norming, KEY, usual, only=names, legal=legal)
    form.keep(Norming, KEY, usual, only=["padding"], legal={"padding": range(tokens)})  # which examples set
    found: dict[str, Any] = {"eps": 1e-5, "counted": None} | {name: getattr(drawn, name) for name in names}
    if kind.shares in ACROSS_TOKENS:
        found["counted"] = _counted(tokens, usual)
    return found


def _counted(tokens: int, usual: Norming) -> np.ndarray | None:
    """Which tokens count in statistics over tokens; None for all."""
    legal = {"padding": dict(enumerate(table.names(KEY)[0]))}
    idle = () if form.held(Norming, KEY, usual).padding else ["left_out"]
    drawn = form.draw(Norming, KEY, usual, only=["padding", "left_out"], legal=legal, idle=idle)
    padding, left_out = drawn.padding, drawn.left_out
    return np.array([at not in padding for at in range(tokens)]) if left_out and padding else None


def _divisors(count: int) -> list[int]:
    return [part for part in range(1, count + 1) if count % part == 0]
