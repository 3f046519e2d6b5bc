"""The nets of a lab at the step where its playhead rests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from addnorm.player.declare import COLUMNS, Chart
from components.charts import figures
from components.instruments.panel import InstrumentPanel, Measured
from components.player.page import player
from components.player.view import View, failure_sentence, view_at
from components.server.tickets import Playhead
from components.shell.waiting import poll_while
from models.answers import Question, Value
from models.service.client import trainer
from models.spec import RunConfig

# The transformers that the attention lab trains, apart from what a part changes.
TRANSFORMER: dict[str, object] = {
    "net": "transformer", "width": 64, "heads": 4, "batch": 32, "lr": 0.003, "warmup": 50, "seed": 0
}  # fmt: skip


def views_at_step(cfgs: Sequence[RunConfig], at: Playhead) -> tuple[list[View], bool]:
    """All nets at one step, or none until all have started, and whether more is to come. Draws errors.

    A net that ended before that step is shown at its end.
    """
    latest = [view_at(cfg, at.step) for cfg in cfgs]
    errors = [failure_sentence(cfg) if late else "" for (_, late), cfg in zip(latest, cfgs, strict=True)]
    for error in {*errors} - {""}:
        st.error(error)
    views = [view for view, _ in latest if view is not None]
    if len(views) < len(cfgs):
        if not any(errors):
            starting = trainer().status().state == "starting"
            st.caption("torch is loading in the trainer" if starting else "waiting for the trainer")
        return [], not any(errors)
    waiting = any(late and not error for (_, late), error in zip(latest, errors, strict=True))
    step = min((view.row for view, late in latest if view is not None and late), default=at.step)
    return [replace(view, row=min(view.row, step)) for view in views], waiting


def compare_nets(
    key: str,
    cfgs: Mapping[str, RunConfig],
    scope: str,
    draw_results: Callable[[dict[str, InstrumentPanel]], None],
    charts: Sequence[Chart] = (),
) -> None:
    """Draws the player of several nets by name, and their results where the playhead rests.

    `scope`: the nets together, as the player calls them; `charts`: drawn in place of the losses of nets of one task.
    """
    first = next(iter(cfgs.values()))
    if not charts:
        losses = figures.losses(list(cfgs), steps=first.steps, task=first.task)
        charts = [Chart("Loss", figure=losses, span=COLUMNS, height=220)]

    def body() -> bool:
        at = player(key, list(cfgs.values()), list(charts), scope=scope)
        views, waiting = views_at_step(list(cfgs.values()), at)
        panels = {
            name: InstrumentPanel(f"{key} {name}", view, at, screen=key, net=name)
            for name, view in zip(cfgs, views, strict=False)
        }
        if panels:
            draw_results(panels)
        return waiting or any(panel.waiting for panel in panels.values())

    poll_while(key, body)


def ask_all(panels: Mapping[str, InstrumentPanel], question: Question[Value]) -> dict[str, Measured[Value]]:
    """The answers of all nets by name; none until all have one."""
    answers = {name: panel.ask(question) for name, panel in panels.items()}
    measured = {name: answer for name, answer in answers.items() if answer is not None}
    return measured if len(measured) == len(panels) else {}
