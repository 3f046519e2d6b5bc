"""The first minute: residual x norm, four nets that differ in nothing else, trained side by side under one player."""

from dataclasses import dataclass

import streamlit as st

from components.shell.link import PLAYGROUND
from components.shell.naming import chance
from components.stage import figures
from components.stage.panels import COLUMNS, Chart, Heading, Link, Panel, Stack, blocks_of
from components.stage.stage import stage
from models.insight.verdict import loss_sentence
from models.service.client import key_of
from models.spec import RunConfig


@dataclass(frozen=True)
class Cell:
    """One of the four: what it has, and the fields that differ from the default network."""

    title: str
    fields: dict[str, object]

    @property
    def cfg(self) -> RunConfig:
        """The default network with this cell's fields."""
        return RunConfig(**self.fields)  # type: ignore[arg-type]


CELLS = (
    Cell("Residual and norm", {}),
    Cell("Residual, no norm", {"norm": "none"}),
    Cell("Norm, no residual", {"residual": False}),
    Cell("Neither", {"residual": False, "norm": "none"}),
)
SPAN = COLUMNS // len(CELLS)


def draw() -> None:
    """The player, the four stacks and losses, and the way from each to the playground."""
    panels = [panel for at, cell in enumerate(CELLS) for panel in _panels(at, cell)]
    facts = [f"four nets of {RunConfig().depth} blocks"]
    stage("four", [cell.cfg for cell in CELLS], panels, tells="never", shared=" all four", facts=facts, on_open=_open)


def _open(run: int) -> None:
    st.switch_page(PLAYGROUND, query_params=CELLS[run].cfg.to_query())


def _panels(run: int, cell: Cell) -> list[Panel]:
    name, untrained = f"Loss, {cell.title.lower()}", loss_sentence(None, 0, chance(cell.cfg))
    figure = figures.loss(cell.cfg, run=run)
    return [
        Heading(cell.title, run, SPAN),
        Stack(f"Signal and gradient, {cell.title.lower()}", run, SPAN, 1, blocks=blocks_of(cell.cfg), height=96, scale="shared"),
        Chart(name, run, SPAN, 2, figure=figure, says="loss", before=untrained, ends=True, height=200),
        Link("Open in the playground", run, SPAN, 3, href=f"playground?{key_of(cell.cfg)}"),
    ]
