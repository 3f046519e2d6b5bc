"""The experiment residual x norm: four nets that differ in nothing else, trained under one player."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from components.charts.diagram import small_diagram
from components.shell import projector
from components.shell.hide import hidden
from components.shell.link import PLAYGROUND
from components.shell.naming import chance
from components.shell.session import Key
from components.stage.panels import COLUMNS, BlockHeading, Curve, Link, LivingStack, Panel, Travel, blocks_of
from components.stage.stage import below, place, stage
from components.start.words import Ended
from models.insight.fate import FATES
from models.insight.outcome import BLOWS_UP
from models.service.client import key_of, trainer
from models.spec import RunConfig

NAME = "four"

START_WATCHED = Key("start_watched", False)


@dataclass(frozen=True)
class Combination:
    """One of the four: its title, and the fields that differ from the default network."""

    title: str
    fields: dict[str, object]

    @property
    def cfg(self) -> RunConfig:
        """The default network with this cell's fields."""
        return RunConfig(**self.fields)  # type: ignore[arg-type]


# Residual across, norm down.
CELLS = (
    Combination("Residual and norm", {}),
    Combination("Norm, no residual", {"residual": False}),
    Combination("Residual, no norm", {"norm": "none"}),
    Combination("Neither", {"residual": False, "norm": "none"}),
)
ACROSS, HALF = 2, COLUMNS // 2
TOLD, ASKED = (3, 0), (1, 2)  # which cells the picture begins with, and of which it asks


def ended() -> list[Ended]:
    """The four runs once they have been watched to the end, until they are reset; empty where a link hides them."""
    runs = [cell.cfg for cell in CELLS]
    step, tapes = place(NAME, runs).step, [trainer().tape(cfg) for cfg in runs]
    over = all(tape.done for tape in tapes)
    watched = over and step > 0 and (START_WATCHED.get() or step >= max(tape.rest for tape in tapes))
    START_WATCHED.put(watched)
    if not watched or hidden("verdict"):
        return []
    traces = [tape.trace() for tape in tapes]
    return [Ended(cell.title, cell.cfg, trace) for cell, trace in zip(CELLS, traces, strict=True) if trace is not None]


def draw(found: list[Ended]) -> None:
    """The player and the four cells. `found`: the outcomes, if known. A projector shows less, and larger."""
    large = projector.on()
    of: list[Ended | None] = [*found] or [None] * len(CELLS)
    panels = [
        panel
        for at, (cell, end) in enumerate(zip(CELLS, of, strict=True))
        for panel in _panels(at, cell, end, large=large)
    ]
    keys = projector.HINT if large else ""
    stage(NAME, [cell.cfg for cell in CELLS], panels, shared=" all four", keys=keys, on_open=_open)


def told() -> None:
    """Ten unseen digits on their way through the two nets of which a class is not asked."""
    with st.container(key="class_told"):
        height = 330 if projector.on() else 220
        stage("told", [CELLS[cell].cfg for cell in TOLD], [_travel(TOLD, range(len(TOLD)), height=height)])


def picture(*, asks: bool) -> None:
    """Ten unseen digits on their way through the nets; if it `asks`, two of them play at once, two after a guess."""
    cells = (*TOLD, *ASKED)
    travel = _travel(cells, cells, asks=ASKED if asks else (), height=330 if projector.on() else 250)
    below(NAME, "digits", [travel], runs=len(CELLS))


def _travel(cells: Sequence[int], runs: Sequence[int], *, asks: Sequence[int] = (), height: int) -> Travel:
    """The way of the digits through some cells, which are these runs of their stage."""
    return Travel(
        "Ten unseen digits on their way through the blocks",
        runs=tuple(runs),
        labels=[CELLS[cell].title for cell in cells],
        asks=[cells.index(cell) for cell in asks],
        question="Your guess",
        options=FATES,
        tells=True,
        reveals=not hidden("verdict"),
        height=height,
    )


def _open(run: int) -> None:
    st.switch_page(PLAYGROUND, query_params=CELLS[run].cfg.to_query())


def _panels(run: int, cell: Combination, end: Ended | None, *, large: bool) -> list[Panel]:
    """One cell: three rows in one half of a wide screen's grid, of which a projector shows the upper two."""
    cfg, name, row = cell.cfg, cell.title.lower(), 3 * (run // ACROSS)
    blocks = blocks_of(cfg)
    upper: list[Panel] = [
        BlockHeading(
            cell.title,
            run,
            HALF,
            row,
            diagram=small_diagram(cfg, 1),
            found=end.outcome if end else "",
            diverged="" if hidden("verdict") else BLOWS_UP,
        ),
        LivingStack(
            f"Signal and gradient, {name}",
            run,
            HALF // 2 + 1,
            row + 1,
            blocks=blocks,
            height=projector.CURVE if large else 84,
            scale="shared",
        ),
        Curve(f"Loss, {name}", run, HALF // 2 - 1, row + 1, level=chance(cfg), height=projector.CURVE if large else 96),
    ]
    if large:
        return upper
    return [*upper, Link("Playground", run, HALF, row + 2, href=f"playground?{key_of(cfg)}")]
