"""Several nets of a lab, shown together at the step of its playhead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from addnorm.player.declare import COLUMNS, Chart
from components.charts import figures
from components.instruments.panel import InstrumentPanel, Measured
from components.player.page import player
from components.player.view import View, failure_sentence, views_at
from components.server.tickets import Playhead
from components.shell.waiting import poll_while
from models.answers import Question, Value
from models.service.client import trainer
from models.spec import RunConfig

# Fields that the transformers of the attention lab share.
TRANSFORMER: dict[str, object] = {
    "net": "transformer", "width": 64, "heads": 4, "batch": 32, "lr": 0.003, "warmup": 50, "seed": 0
}  # fmt: skip


def views_at_step(cfgs: Sequence[RunConfig], playhead: Playhead) -> tuple[list[View], bool]:
    """The views of all nets at one step, and whether to ask again for later rows. Draws errors.

    There are no views until all nets have started. The step is the latest that all nets have reached, up to the
    playhead's; a net that ended before it is shown at its end.
    """
    latest = views_at(cfgs, playhead.step)
    errors = [failure_sentence(cfg) if is_late else "" for cfg, (_, is_late) in zip(cfgs, latest, strict=True)]
    for error in {*errors} - {""}:
        st.error(error)
    views = [view for view, _ in latest if view is not None]
    if len(views) < len(cfgs):
        if not any(errors):
            starting = trainer().status().state == "starting"
            st.caption("torch is loading in the trainer" if starting else "waiting for the trainer")
        return [], not any(errors)
    is_waiting = any(is_late and not error for (_, is_late), error in zip(latest, errors, strict=True))
    late_rows = [view.row for view, is_late in latest if view is not None and is_late]
    step = min(late_rows, default=playhead.step)
    return [replace(view, row=min(view.row, step)) for view in views], is_waiting


def compare_nets(
    key: str,
    cfgs: Mapping[str, RunConfig],
    scope: str,
    draw_results: Callable[[dict[str, InstrumentPanel]], None],
    charts: Sequence[Chart] = (),
) -> None:
    """Draws the player of several nets, and with `draw_results` their results by name at the playhead.

    `scope`: the player's words for all nets together. `charts`: drawn instead of the losses, which need one task.
    """
    if not charts:
        cfg = next(iter(cfgs.values()))
        losses = figures.losses(list(cfgs), steps=cfg.steps, task=cfg.task)
        charts = [Chart("Loss", figure=losses, span=COLUMNS, height=220)]

    def body() -> bool:
        playhead = player(key, list(cfgs.values()), list(charts), scope=scope)
        views, is_waiting = views_at_step(list(cfgs.values()), playhead)
        panels = {
            name: InstrumentPanel(f"{key} {name}", view, playhead, screen=key, net=name)
            for name, view in zip(cfgs, views, strict=False)
        }
        if panels:
            draw_results(panels)
        return is_waiting or any(panel.waiting for panel in panels.values())

    poll_while(key, body)


def ask_all(panels: Mapping[str, InstrumentPanel], question: Question[Value]) -> dict[str, Measured[Value]]:
    """The answers of all nets by name; none until all have one."""
    answers = {name: panel.ask(question) for name, panel in panels.items()}
    measured = {name: answer for name, answer in answers.items() if answer is not None}
    return measured if len(measured) == len(panels) else {}
