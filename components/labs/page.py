"""A lab's page: its parts are the folders of `exhibits/labs/<lab>/`, as their words announce them.

CONTRIBUTING.md, "How to add", says what a new one has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Annotated, Any

import streamlit as st

from components.classroom.following import shown_state
from components.controls import form
from models import exhibits
from models.content import Content, Document
from models.labs.labs import LABS
from models.spec.knob import Knob
from models.spec.settings import Settings


@dataclass(frozen=True)
class LabPart:
    """A part of a lab as its words announce it: folder, place, and a title, which several parts may share.

    `takes`: the folder of the part whose `draw` returns what this one's takes. `within`: that of the part which draws
    this one, if it is not the lab's page. `map`: by box of the labs' map that leads here, its place among those of the
    box, and the link's text.
    """

    folder: str
    order: int
    title: str
    takes: str
    within: str
    map: Mapping[str, tuple[int, str]]

    @property
    def lab(self) -> str:
        return self.folder.partition("/")[0]

    @cached_property
    def page(self) -> ModuleType:
        """Its page, with `draw`; imported on first use."""
        return exhibits.part("labs", self.folder, "page")


def _by_lab(texts: list[Document]) -> dict[str, list[LabPart]]:
    by_lab: dict[str, list[LabPart]] = {}
    for text in texts:
        front = Document(text.path, dict(text.front))
        lab, name = text.path.parts[-3:-1]
        takes, within = (front.take(relation, str, "") for relation in ("takes", "within"))
        part = LabPart(
            f"{lab}/{name}",
            front.take("order", int),
            text.title,
            takes and f"{lab}/{takes}",
            within and f"{lab}/{within}",
            front.take("map", dict, {}),
        )
        front.require_all_taken()
        by_lab.setdefault(lab, []).append(part)
    return {lab: sorted(parts, key=lambda part: part.order) for lab, parts in by_lab.items()}


PARTS = Content("labs/*/*.md", _by_lab)  # by lab, in order


@dataclass(frozen=True)
class OpenPart(Settings):
    part: Annotated[str, Knob("Part", choices={}, control="segments")] = ""


def parts_of(lab: str, within: str = "") -> Mapping[str, list[LabPart]]:
    """The parts that a lab's page draws, or the part `within`; by title, in order."""
    by_title: dict[str, list[LabPart]] = {}
    for part in PARTS[lab]:
        if part.within == (within and f"{lab}/{within}"):
            by_title.setdefault(part.title, []).append(part)
    return by_title


def draw_lab(lab: str) -> None:
    """Draws a lab: title, what it invites to, and its parts in tabs, or one of them at a time."""
    st.title(LABS[lab].title, anchor=False)
    st.markdown(LABS[lab].lead)
    by_title = parts_of(lab)
    titles = list(by_title)
    if len(titles) > 1 and not LABS[lab].one_part:
        draw_tabs(lab)
        return
    first = OpenPart(titles[0])
    chosen = form.draw(OpenPart, lab, first, legal={"part": titles}).part if len(titles) > 1 else first.part
    for part in by_title[chosen]:
        part.page.draw()


def draw_tabs(lab: str, within: str = "", *arguments: Any) -> None:
    """Draws the parts of a lab, or those within another part, in tabs; their `draw` gets the arguments.

    All tabs are drawn, because settings of one act in others and in the address; but a class that is shown a part waits
    for no other. A part that takes what another returned is not drawn if that is None.
    """
    by_title = parts_of(lab, within)
    titles = list(by_title)
    form.keep(OpenPart, lab, OpenPart(titles[0]), legal={"part": titles})
    tabs: dict[str, Any] = dict(zip(titles, st.tabs(titles, key=f"{lab}_part", on_change="rerun"), strict=True))
    parts = [part for of_title in by_title.values() for part in of_title]
    drawn: dict[str, Any] = {}
    for part in parts:
        shown_in = [tabs[other.title] for other in parts if part.folder in (other.folder, other.takes)]
        taken = [drawn.get(part.takes)] if part.takes else []
        is_shown = shown_state() is None or any(tab.open for tab in shown_in)
        with tabs[part.title]:
            if is_shown and not (taken and taken[0] is None):
                drawn[part.folder] = part.page.draw(*arguments, *taken)
