"""Two norms beside each other on one table, in five aspects."""

from dataclasses import astuple, dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.controls import number_table as table
from components.labs.normed_table import LabTable, draw_coloured
from components.labs.parts import draw_note
from components.shell.text import named_table, number
from exhibits.labs.normalization.two_norms.numbers import COMPARED, Aspects, aspects
from models.content import Texts
from models.insight.words import count_in_words
from models.labs.normalization import normalise
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/two_norms")
KEY = "normalization"
NORMS = dict.fromkeys(COMPARED)
ASPECTS = (
    "statistics over",
    "a batch of one",
    "another token's number grows by 1",
    "a row of padding is added",
    "at inference",
)


@dataclass(frozen=True)
class TwoNorms(Settings):
    columns = (2,)

    first: Annotated[str, Knob("Norm", choices=NORMS, link="one")] = "layer norm"
    beside: Annotated[str, Knob("Beside it", choices=NORMS, link="beside")] = "batch norm"


def draw(lab: LabTable) -> None:
    """Draws the table after each of two norms, and five aspects of each norm, measured on it."""
    values, eps = lab.values, lab.eps
    features = table.axis_names(KEY)[1]
    methods = astuple(form.draw(TwoNorms, KEY))
    measured: dict[str, Aspects] = {}
    for method, column in zip(methods, st.columns(2), strict=True):
        with column:
            try:
                normed = normalise(values, method, eps=eps)
                measured[method] = aspects(values, method, eps=eps)
                draw_coloured(normed, method, lab.names, features, alt=f"After {method}, table")
            except ValueError as problem:
                st.error(str(problem))
    if not measured:
        return
    columns = {"": ASPECTS} | {method: aspect_cells(norm_aspects) for method, norm_aspects in measured.items()}
    named_table("Two norms beside each other", columns)
    draw_note(TEXTS("five aspects"))


def aspect_cells(aspects: Aspects) -> list[str]:
    """The aspects of a norm in words, in the order of ASPECTS."""
    shared = f"{count_in_words(aspects.tokens, 'token')} × {count_in_words(aspects.features, 'feature')}"
    inference = "running statistics" if aspects.uses_running_statistics else "the same formula"
    if not aspects.uses_running_statistics and aspects.alone_change:
        inference += ", alone other results"
    batch_of_one = "refused" if aspects.single_token_error else "works"
    return [shared, batch_of_one, _moves_text(aspects.neighbour_change), _moves_text(aspects.padding_change), inference]


def _moves_text(distance: float | None) -> str:
    """How far other results move, in words; None: there are no other results."""
    if distance is None:
        return "there is no other"
    return f"others move by up to {number(distance, 3)}" if distance else "others stay"
