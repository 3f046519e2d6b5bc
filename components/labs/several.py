"""The nets of a lab at the step where its playhead rests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from addnorm.player.declare import COLUMNS, Chart
from components.charts import figures
from components.instruments.panel import InstrumentPanel
from components.player.page import player
from components.player.view import View, look, trouble
from components.server.tickets import At
from components.shell.waiting import poll_while
from models.service.client import trainer
from models.spec import RunConfig


def views(cfgs: Sequence[RunConfig], at: At) -> tuple[list[View], bool]:
    """All nets at one step, or none until all are there, and whether more is to come. Shows errors on the page.

    A net that ended before that step is shown at its end.
    """
    looks = [look(cfg, at.step) for cfg in cfgs]
    problems = [trouble(cfg) if late else "" for (_, late), cfg in zip(looks, cfgs, strict=True)]
    for problem in {*problems} - {""}:
        st.error(problem)
    found = [view for view, _ in looks if view is not None]
    if len(found) < len(cfgs):
        if not any(problems):
            starting = trainer().status().state == "starting"
            st.caption("torch is loading in the trainer" if starting else "waiting for the trainer")
        return [], not any(problems)
    waiting = any(late and not problem for (_, late), problem in zip(looks, problems, strict=True))
    step = min((view.row for view, late in looks if view is not None and late), default=at.step)
    return [replace(view, row=min(view.row, step)) for view in found], waiting


def compared(
    name: str, cfgs: Mapping[str, RunConfig], shared: str, show: Callable[[dict[str, InstrumentPanel]], bool]
) -> None:
    """The player over the losses of nets of one task, and `show` of a panel for each where the playhead rests.

    `show` returns whether an answer is still to come.
    """
    first = next(iter(cfgs.values()))
    losses = figures.losses(list(cfgs), steps=first.steps, task=first.task)

    def body() -> bool:
        at = player(name, list(cfgs.values()), [Chart("Loss", figure=losses, span=COLUMNS, height=220)], shared=shared)
        nets, waiting = views(list(cfgs.values()), at)
        panels = {
            net: InstrumentPanel(f"{name} {net}", view, at, screen=name, net=net)
            for net, view in zip(cfgs, nets, strict=False)
        }
        return (bool(panels) and show(panels)) or waiting

    poll_while(name, body)
