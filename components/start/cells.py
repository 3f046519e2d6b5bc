"""The experiment residual x norm: four nets that differ in these alone, trained under one player."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from addnorm.player.declare import COLUMNS, Curve, Panel, RunHeading, SamplePaths
from components.player.page import panels_below, player, playhead
from components.shell import projector
from components.shell.hidden_parts import is_hidden
from components.shell.naming import guessing_loss
from components.shell.session import Key
from components.start.words import TEXTS, FinishedRun
from models.insight.outcome import BLOWS_UP
from models.insight.path_outcome import PATH_OUTCOMES
from models.service.client import trainer
from models.spec import RunConfig

NAME = "four"

START_WATCHED = Key("start_watched", False)  # whether the playhead has reached the end since the last reset


@dataclass(frozen=True)
class Combination:
    """One of the four nets: the name of its title's text, and the fields that differ from the default network."""

    name: str
    fields: dict[str, object]

    @property
    def title(self) -> str:
        return TEXTS(self.name)

    @property
    def cfg(self) -> RunConfig:
        """The default network with these fields."""
        return RunConfig(**self.fields)  # type: ignore[arg-type]


# In the story's order, everywhere on the page.
CELLS = (
    Combination("neither", {"residual": False, "norm": "none"}),
    Combination("residual", {"norm": "none"}),
    Combination("norm", {"residual": False}),
    Combination("both", {}),
)
SPAN = COLUMNS // len(CELLS)
SHOWN_CELLS = (0, 3)  # indices of cells that play at once
GUESSED_CELLS = (1, 2)  # indices of cells that play after a guess
# Heights in pixels.
CURVE_HEIGHT = 80
DIGITS_HEIGHT = 176
CLASS_DIGITS_HEIGHT = 220
PROJECTED_DIGITS_HEIGHT = 330


def finished_runs() -> list[FinishedRun]:
    """The four runs once the playhead has reached their end, until a reset; empty where a link hides the verdict."""
    configurations = [cell.cfg for cell in CELLS]
    step = playhead(NAME, configurations).step
    logs = [trainer().log(cfg) for cfg in configurations]
    is_done = all(log.done for log in logs)
    is_watched = is_done and step > 0 and (START_WATCHED.get() or step >= max(log.last_step for log in logs))
    START_WATCHED.put(is_watched)
    if not is_watched or is_hidden("verdict"):
        return []
    traces = zip(CELLS, (log.trace() for log in logs), strict=True)
    return [FinishedRun(cell.title, cell.cfg, trace) for cell, trace in traces if trace is not None]


def draw(finished: list[FinishedRun]) -> None:
    """Draws the player and the four cells, with outcomes if all runs have finished; a projector shows less, larger."""
    large = projector.is_on()
    panels = loss_panels([run.outcome for run in finished], large=large)
    keys = projector.PLAYER_KEYS_HINT if large else ""
    player(NAME, [cell.cfg for cell in CELLS], panels, scope=" all four", keys=keys)


def draw_shown_cells() -> None:
    """Draws the paths of ten unseen digits through the two nets that a class does not guess."""
    height = PROJECTED_DIGITS_HEIGHT if projector.is_on() else CLASS_DIGITS_HEIGHT
    with st.container(key="class_told"):
        paths = _sample_paths(SHOWN_CELLS, range(len(SHOWN_CELLS)), height=height)
        player("told", [CELLS[cell].cfg for cell in SHOWN_CELLS], [paths])


def draw_digits(*, asks: bool) -> None:
    """Draws the paths of ten unseen digits through the nets; if it `asks`, two nets play only after a guess."""
    panels_below(NAME, "digits", [digits_panel(asks=asks)], runs=len(CELLS))


def digits_panel(*, asks: bool) -> SamplePaths:
    """What `draw_digits` draws."""
    cells = range(len(CELLS))
    height = PROJECTED_DIGITS_HEIGHT if projector.is_on() else DIGITS_HEIGHT
    return _sample_paths(cells, cells, asks=GUESSED_CELLS if asks else (), height=height)


def _sample_paths(cells: Sequence[int], runs: Sequence[int], *, asks: Sequence[int] = (), height: int) -> SamplePaths:
    """The digits' paths through some cells, shown by these runs of a player; cells in `asks` play after a guess."""
    return SamplePaths(
        TEXTS("on their way"),
        subject="ten digits",
        measures=True,
        runs=tuple(runs),
        labels=[CELLS[cell].title for cell in cells],
        quiz_runs=[cells.index(cell) for cell in asks],
        question=TEXTS("your guess"),
        options=PATH_OUTCOMES,
        shows_outcome=True,
        reveals=not is_hidden("verdict"),
        height=height,
    )


def loss_panels(outcomes: Sequence[str] = (), *, large: bool = False) -> list[Panel]:
    """The titles of the four cells and their loss curves, with `outcomes` if all runs have finished."""
    return [
        panel
        for run, (cell, outcome) in enumerate(zip(CELLS, outcomes or [""] * len(CELLS), strict=True))
        for panel in _cell_panels(run, cell, outcome, large=large)
    ]


def _cell_panels(run: int, cell: Combination, outcome: str, *, large: bool) -> list[Panel]:
    """A cell's title with its outcome, and its loss curve; they stand under its digits."""
    diverged = "" if is_hidden("verdict") else BLOWS_UP
    height = projector.LOSS_HEIGHT if large else CURVE_HEIGHT
    curve = Curve(f"Loss, {cell.title.lower()}", run, SPAN, 1, level=guessing_loss(cell.cfg), height=height)
    return [RunHeading(cell.title, run, SPAN, 0, outcome=outcome, divergence=diverged), curve]
