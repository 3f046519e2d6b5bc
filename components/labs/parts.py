"""A lab as tabs; the address names the open one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.controls import form
from models.spec.knob import Knob
from models.spec.settings import Settings


@dataclass(frozen=True)
class OpenPart(Settings):
    """The open tab."""

    part: Annotated[str, Knob("Part", choices={})] = ""


def parts(key: str, titles: Sequence[str]) -> Sequence[DeltaGenerator]:
    """A tab for each title. All are drawn, because settings of one are used in others and kept in the address."""
    form.keep(OpenPart, key, OpenPart(titles[0]), legal={"part": titles})
    return st.tabs(titles, key=f"{key}_part", on_change="rerun")
