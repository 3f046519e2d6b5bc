"""The z-score of each token in one feature, and how many numbers lie below it."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.labs.examples import numbered_choices
from components.labs.normed_table import LabTable
from components.labs.parts import draw_sentence, number_cells
from components.shell.text import named_table
from exhibits.labs.normalization.z_scores.numbers import share_of_gaussian_below, z_score_and_shares_below
from models.content import Texts
from models.labs.normalization import normalise
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/z_scores")
KEY = "normalization"


@dataclass(frozen=True)
class ZScores(Settings):
    column: Annotated[int, Knob("Feature of the z-scores", choices={}, link="z-feature")] = 0


def draw(lab: LabTable) -> None:
    """Draws the z-score of each token in one feature, and how many numbers lie below it."""
    st.subheader("What a z-score says", anchor=False)
    legal = {"column": numbered_choices("feature", lab.values.shape[1])}
    column = lab.values[:, form.draw(ZScores, f"{KEY}_z", legal=legal).column]
    if normalise(column[:, None], "z-score").undefined.any():
        st.info(TEXTS("no z-score"))
        return
    rows = [z_score_and_shares_below(column, row) for row in range(len(column))]
    named_table(
        "z-scores of a feature",
        {
            "token": lab.names,
            "value": number_cells(column),
            "z": number_cells((z for z, *_ in rows), 3),
            "of a Gaussian below": [f"{gaussian:.1%}" for _, gaussian, _ in rows],
            "of this feature below": [f"{table:.0%}" for *_, table in rows],
        },
    )
    draw_sentence(TEXTS("z of 0, 1 and 2", below={z: share_of_gaussian_below(z) for z in (0, 1, 2)}))
