"""What the parts of all labs share: tabs, measured sentences, charts side by side, matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.charts.parts import Figure, title_of
from components.controls import form
from components.labs.examples import numbered
from components.shell.static_chart import static_chart
from components.shell.text import badge, number
from models.spec.knob import Knob
from models.spec.settings import Settings

MAX_ROWS = 8  # of a matrix that is shown without a scroll bar


@dataclass(frozen=True)
class OpenPart(Settings):
    part: Annotated[str, Knob("Part", choices={})] = ""


def parts(key: str, titles: Sequence[str]) -> Sequence[DeltaGenerator]:
    """A tab for each title. All are drawn, because settings of one are used in others and kept in the address."""
    form.keep(OpenPart, key, OpenPart(titles[0]), legal={"part": titles})
    return st.tabs(titles, key=f"{key}_part", on_change="rerun")


def say(text: str, kind: str = "formula") -> None:
    """What the numbers say, with the badge of how they were made."""
    st.markdown(f"**{text}** {badge(kind)}")


def charts(key: str, *figures: Figure, height: int = 280) -> None:
    """Figures side by side, each under its own title."""
    for column, figure in zip(st.columns(len(figures)), figures, strict=True):
        title = title_of(figure)
        with column:
            static_chart(figure, title, f"{key}_{title}".lower().replace(" ", "_"), height)


def matrix(name: str, values: np.ndarray, row: str, column: str = "") -> None:
    """A matrix as a table, with its shape; rows are called "token 1", columns "q1"."""
    st.markdown(f"**{name}** {values.shape}")
    frame = pd.DataFrame(values, numbered(row, len(values)), [f"{column}{at + 1}" for at in range(values.shape[1])])
    st.dataframe(frame.map(number), alt=f"{name}, table", height="content" if len(values) <= MAX_ROWS else 260)
