"""The normalisation lab: a table of tokens, normalised live; cells that share statistics have one colour."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example
from components.labs.normalization.memory import draw_memory
from components.labs.normalization.parts import PARTS
from components.labs.normalization.picture import draw_picture
from components.labs.normalization.steps import draw_steps
from components.labs.normalization.table import LabTable, draw_result
from components.labs.parts import draw_finding, draw_sentence
from components.shell.text import number, with_badge
from models.content import Texts
from models.labs.normalization import (
    ACROSS_TOKENS,
    CELL,
    GROUP,
    METHODS,
    SEQUENCE,
    TOKEN,
    NormedTable,
    method_note,
    normalise,
)
from models.labs.tables import TABLES, WILD, WILDNESS_FACTORS, ExampleTable, wild_table
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"
FIRST_EXAMPLE = "three tokens, layer norm"
SMALL_SPREAD = 0.5  # the page mentions a token whose output eps keeps below this spread; without eps it is 1
EPS_CHOICES = {eps: number(eps) for eps in (0.0, 1e-8, 1e-5, 1e-3, 1e-1, 1.0)}
WILDER_CHOICES = {times: f"{times:,}" for times in WILDNESS_FACTORS}
PART_CHOICES = {part: part.replace("against", "vs.") for part in PARTS}


@dataclass(frozen=True)
class Norming(Settings):
    columns = ()

    method: Annotated[str, Knob("Method", choices=dict.fromkeys(METHODS))] = "layer norm"
    eps: Annotated[float, Knob("eps", choices=EPS_CHOICES, control="steps", width=200)] = 1e-5
    gain: Annotated[float, Knob("Gain", -100.0, 100.0, 0.1, width=130)] = 1.0
    bias: Annotated[float, Knob("Bias", -100.0, 100.0, 0.1, width=130)] = 0.0
    unbiased: Annotated[bool, Knob("Unbiased variance")] = False
    groups: Annotated[int, Knob("Groups", choices={}, width=130)] = 1
    sequences: Annotated[int, Knob("Sequences", choices={}, width=130)] = 1
    alpha: Annotated[float, Knob("alpha", 0.1, 3.0, 0.1, control="slider", width=200)] = 0.5
    padding: Annotated[tuple[int, ...], Knob("Padding tokens", choices={}, multiple=True)] = ()
    left_out: Annotated[bool, Knob("Leave padding out of the statistics", link="leave")] = False
    row: Annotated[int, Knob("Token", choices={}, link="token")] = 0
    wilder: Annotated[int, Knob("Wilder", choices=WILDER_CHOICES, control="steps", width=416)] = 1
    part: Annotated[str | None, Knob("Look closer", choices=PART_CHOICES, control="segments")] = None


def draw() -> None:
    """Draws the page: example and method, the table before and after the norm, the formula, and the closer looks."""
    left, right = st.columns(2)
    with left:
        example = _choose_example()
    defaults = Norming(example.method, padding=_padding_rows(example))
    settings = form.draw(Norming, KEY, defaults, only=["method"], places=[right])
    method = settings.method
    picture = st.container()
    input_column, output_column = st.columns(2)
    with input_column:
        st.markdown("**In**")
        values = table.draw_table(KEY, example.values, name="table", rows=example.rows, columns=example.columns)
    arguments = _draw_arguments(values, settings, defaults)
    if method == "batch norm":
        values, arguments["running"] = draw_memory(values, arguments["counted"])
    names, features = table.axis_names(KEY)
    normed = _normalise(values, method, arguments)
    if normed is not None:
        with picture:
            draw_picture(values, normed, method, arguments)
            if example is TABLES[WILD]:
                sentence = largest_sentence(values, normed, method, names, arguments["eps"])
                draw_finding(sentence)
            draw_sentence(method_note(method))
        with output_column:
            draw_result(normed, method, names, features)
    with st.expander("Formula, and one token step by step"):
        st.latex(METHODS[method].equation)
        row = form.draw(Norming, KEY, only=["row"], legal={"row": dict(enumerate(names))}).row
        if normed is not None:
            draw_steps(values, normed, method, row, arguments)
    _draw_closer_look(LabTable(values, names, row, float(arguments["eps"])))


def _draw_closer_look(lab: LabTable) -> None:
    """Draws the choice of a closer look, and the sections of the chosen one."""
    st.subheader("Look closer", anchor=False)
    part = form.draw(Norming, KEY, only=["part"], label_visibility="collapsed").part
    if not part:
        return
    for heading, draw_section in PARTS[part].items():
        if heading:
            st.subheader(heading, anchor=False)
        draw_section(lab)


def _choose_example() -> ExampleTable:
    """Draws the examples and the note on the chosen one. Returns it."""

    def load(example: ExampleTable) -> None:
        table.put(KEY, example.values)
        form.put(KEY, method=example.method, padding=_padding_rows(example), wilder=1)

    def load_wilder() -> None:
        table.put(KEY, wild_table(form.read(Norming, KEY).wilder))

    example = TABLES[choose_example(KEY, TABLES, load, first=FIRST_EXAMPLE, with_reset=True)]
    if example.note:
        st.info(with_badge(example.note, "formula"))
    if example is TABLES[WILD]:
        form.draw(Norming, KEY, only=["wilder"], on_change=load_wilder)
    return example


def _draw_arguments(values: np.ndarray, settings: Norming, defaults: Norming) -> dict[str, Any]:
    """Draws the controls that the method uses; the others keep their values. Returns the arguments of the norm."""
    tokens, features = values.shape
    method = METHODS[settings.method]
    uses = {
        "eps": method.shares != CELL and settings.method not in {"min-max", "z-score"},
        "gain": True,
        "bias": True,
        "unbiased": method.spread == "variance",
        "groups": method.shares == GROUP,
        "sequences": method.shares == SEQUENCE,
        "alpha": method.shares == CELL,
    }
    names = [name for name, is_used in uses.items() if is_used]
    legal = {"groups": _divisors(features), "sequences": _divisors(tokens)}
    drawn = form.draw(Norming, KEY, defaults, only=names, legal=legal)
    form.keep(Norming, KEY, defaults, only=["padding"], legal={"padding": range(tokens)})  # set by examples
    arguments: dict[str, Any] = {"eps": 1e-5, "counted": None} | {name: getattr(drawn, name) for name in names}
    if method.shares in ACROSS_TOKENS:
        arguments["counted"] = _draw_padding(tokens, defaults)
    return arguments


def _draw_padding(tokens: int, defaults: Norming) -> np.ndarray | None:
    """Draws the choice of padding. Returns which tokens count in statistics over tokens (N,); None if all do."""
    legal = {"padding": dict(enumerate(table.axis_names(KEY)[0]))}
    disabled = [] if form.read(Norming, KEY, defaults).padding else ["left_out"]
    settings = form.draw(Norming, KEY, defaults, only=["padding", "left_out"], legal=legal, disabled=disabled)
    if not settings.left_out or not settings.padding:
        return None
    return np.array([token not in settings.padding for token in range(tokens)])


def largest_sentence(values: np.ndarray, normed: NormedTable, method: str, names: list[str], eps: float) -> str:
    """The largest absolute values before and after the norm, and the token that eps keeps smallest, if it is small."""
    largest_input, largest_output = float(np.abs(values).max()), float(np.abs(normed.values).max())
    sentence = TEXTS("largest before and after", before=largest_input, after=largest_output)
    variance = normed.spread[:, 0]
    if METHODS[method].shares != TOKEN or not eps or not variance.all():
        return sentence
    output_spreads = np.sqrt(variance / (variance + eps))
    token = int(np.argmin(output_spreads))
    if output_spreads[token] > SMALL_SPREAD:
        return sentence
    sizes = {"size": float(np.sqrt(variance[token])), "root": eps**0.5, "out": float(output_spreads[token])}
    return f"{sentence} {TEXTS('held small by eps', token=names[token], **sizes)}"


def _padding_rows(example: ExampleTable) -> tuple[int, ...]:
    return tuple(row for row, name in enumerate(example.rows) if name.startswith("pad"))


def _normalise(values: np.ndarray, method: str, arguments: dict[str, Any]) -> NormedTable | None:
    """The table after the norm; None, and an error on the page, if its statistics do not exist."""
    try:
        return normalise(values, method, **arguments)
    except ValueError as problem:
        st.error(str(problem))
        return None


def _divisors(count: int) -> list[int]:
    return [divisor for divisor in range(1, count + 1) if count % divisor == 0]
