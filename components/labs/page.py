"""A lab's page: its parts are the folders of `exhibits/labs/<lab>/`, as their words announce them.

CONTRIBUTING.md, "How to add", says what a new one has.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from components.labs.parts import is_drawn, part_tabs
from models import exhibits
from models.content import Content, Document


@dataclass(frozen=True)
class LabPart:
    """A part of a lab as its words announce it: folder, place, the title of its tab, which several parts may share.

    `takes`: the folder of the part whose `draw` returns what this one's takes.
    """

    folder: str
    order: int
    title: str
    takes: str

    @property
    def page(self) -> ModuleType:
        """Its page, with `draw`; imported on first use."""
        return exhibits.part("labs", self.folder, "page")


def _by_lab(texts: list[Document]) -> dict[str, list[LabPart]]:
    by_lab: dict[str, list[LabPart]] = {}
    for text in texts:
        front = Document(text.path, dict(text.front))
        lab, name = text.path.parts[-3:-1]
        takes = front.take("takes", str, "")
        part = LabPart(f"{lab}/{name}", front.take("order", int), text.title, takes and f"{lab}/{takes}")
        front.require_all_taken()
        by_lab.setdefault(lab, []).append(part)
    return {lab: sorted(parts, key=lambda part: part.order) for lab, parts in by_lab.items()}


PARTS = Content("labs/*/*.md", _by_lab)  # by lab, in order


def draw_lab(lab: str) -> None:
    """Draws the parts of a lab in tabs."""
    parts = PARTS[lab]
    titles = list(dict.fromkeys(part.title for part in parts))
    tabs = dict(zip(titles, part_tabs(lab, titles), strict=True))
    drawn: dict[str, Any] = {}
    for part in parts:
        shown_in = [tabs[other.title] for other in parts if part.folder in (other.folder, other.takes)]
        with tabs[part.title]:
            if is_drawn(*shown_in):
                drawn[part.folder] = part.page.draw(*[drawn[part.takes]] if part.takes else [])
