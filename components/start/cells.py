"""The experiment residual x norm: four nets that differ in nothing else, trained under one player."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from addnorm.player.declare import COLUMNS, Chart, Curve, Link, Panel, RunHeading, SamplePaths, StackPanel
from components.charts import figures
from components.charts.parts import scaled_figure
from components.player.page import panels_below, player, playhead
from components.player.panels import blocks_with_diagrams
from components.shell import projector
from components.shell.hide import hidden
from components.shell.link import PLAYGROUND
from components.shell.naming import chance
from components.shell.session import Key
from components.start.words import TEXTS, Ended
from models.insight.outcome import BLOWS_UP
from models.insight.path_outcome import PATH_OUTCOMES
from models.service.client import key_of, trainer
from models.spec import RunConfig, plan

NAME = "four"

START_WATCHED = Key("start_watched", False)


@dataclass(frozen=True)
class Combination:
    """One of the four: the section of its title, and the fields that differ from the default network."""

    name: str
    fields: dict[str, object]

    @property
    def title(self) -> str:
        """What the page calls it."""
        return TEXTS(self.name)

    @property
    def cfg(self) -> RunConfig:
        """The default network with this cell's fields."""
        return RunConfig(**self.fields)  # type: ignore[arg-type]


# In the story's order, which every part of the page keeps.
CELLS = (
    Combination("neither", {"residual": False, "norm": "none"}),
    Combination("residual", {"norm": "none"}),
    Combination("norm", {"residual": False}),
    Combination("both", {}),
)
SPAN = COLUMNS // len(CELLS)
TOLD, ASKED = (0, 3), (1, 2)  # which cells play at once, and of which the picture asks


def ended() -> list[Ended]:
    """The four runs once they have been watched to the end, until they are reset; empty where a link hides them."""
    runs = [cell.cfg for cell in CELLS]
    step, logs = playhead(NAME, runs).step, [trainer().log(cfg) for cfg in runs]
    over = all(log.done for log in logs)
    watched = over and step > 0 and (START_WATCHED.get() or step >= max(log.rest for log in logs))
    START_WATCHED.put(watched)
    if not watched or hidden("verdict"):
        return []
    traces = [log.trace() for log in logs]
    return [Ended(cell.title, cell.cfg, trace) for cell, trace in zip(CELLS, traces, strict=True) if trace is not None]


def draw(ended: list[Ended]) -> None:
    """The player and the four cells. `found`: the outcomes, if known. A projector shows less, and larger."""
    large = projector.is_on()
    of: list[Ended | None] = [*ended] or [None] * len(CELLS)
    cells = list(enumerate(zip(CELLS, of, strict=True)))
    losses = [panel for run, (cell, end) in cells for panel in _losses(run, cell, end, large=large)]
    panels = [*losses, *(panel for run, (cell, _) in cells for panel in _blocks(run, cell, large=large))]
    panels.append(_gradient(large=large))
    keys = projector.HINT if large else ""
    player(NAME, [cell.cfg for cell in CELLS], panels, scope=" all four", keys=keys, on_open=_open)


def told() -> None:
    """Ten unseen digits on their way through the two nets of which a class is not asked."""
    with st.container(key="class_told"):
        height = 330 if projector.is_on() else 220
        player("told", [CELLS[cell].cfg for cell in TOLD], [_sample_paths(TOLD, range(len(TOLD)), height=height)])


def picture(*, asks: bool) -> None:
    """Ten unseen digits on their way through the nets; if it `asks`, two of them play at once, two after a guess."""
    cells = range(len(CELLS))
    paths = _sample_paths(cells, cells, asks=ASKED if asks else (), height=330 if projector.is_on() else 176)
    panels_below(NAME, "digits", [paths], runs=len(CELLS))


def _sample_paths(cells: Sequence[int], runs: Sequence[int], *, asks: Sequence[int] = (), height: int) -> SamplePaths:
    """The way of the digits through some cells, which are these runs of their player."""
    return SamplePaths(
        TEXTS("on their way"),
        subject="ten digits",
        runs=tuple(runs),
        labels=[CELLS[cell].title for cell in cells],
        quiz_runs=[cells.index(cell) for cell in asks],
        question=TEXTS("your guess"),
        options=PATH_OUTCOMES,
        shows_outcome=True,
        reveals=not hidden("verdict"),
        height=height,
    )


def _open(run: int) -> None:
    st.switch_page(PLAYGROUND, query_params=CELLS[run].cfg.to_query())


def _losses(run: int, cell: Combination, end: Ended | None, *, large: bool) -> list[Panel]:
    """What training makes of one cell, under its digits: its name and outcome, and its loss."""
    outcome, diverged = end.outcome if end else "", "" if hidden("verdict") else BLOWS_UP
    height = projector.CURVE if large else 80
    curve = Curve(f"Loss, {cell.title.lower()}", run, SPAN, 1, level=chance(cell.cfg), height=height)
    return [RunHeading(cell.title, run, SPAN, 0, outcome=outcome, divergence=diverged), curve]


def _blocks(run: int, cell: Combination, *, large: bool) -> list[Panel]:
    """The blocks of one cell, and the way to the playground, which a projector does not show."""
    title = f"Signal and gradient, {cell.title.lower()}"
    stack = StackPanel(title, run, SPAN, 2, height=130, scale="shared", **blocks_with_diagrams(cell.cfg))
    if large:
        return [stack]
    return [stack, Link(f"{cell.title}: playground", run, SPAN, 3, href=f"playground?{key_of(cell.cfg)}")]


def _gradient(*, large: bool) -> Chart:
    """The gradient of all cells over depth on one axis; the pointer on a line marks its cell."""
    title = "Gradient by depth"
    figure = figures.profiles(title, "grad_rms", plan(CELLS[0].cfg).sites, [cell.title for cell in CELLS])
    figure["layout"]["bind"]["legend"] = True  # at the output, where lines end, the four are close
    figure = scaled_figure(figure, projector.FACTOR) if large else figure
    return Chart(title, span=COLUMNS, row=4, figure=figure, height=projector.HEIGHT if large else 300, points=True)
