"""Do layers step aside where little is needed? Branch shares of three nets that differ in their task."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts import figures
from components.charts.parts import Figure
from components.controls import form
from components.labs import several
from components.labs.residual.words import aside_sentence
from components.shell.naming import chance
from components.shell.text import badge, named_table, number
from components.shell.waiting import poll_while
from components.shell.ways_on import to_playground
from components.stage.panels import COLUMNS, Chart
from components.stage.stage import stage
from components.stage.view import View
from models.spec import RunConfig, plan
from models.spec.knob import Knob
from models.spec.settings import Settings

NAME = "residual_trained"
SHARES = "Branch share by block"
TASKS = {"linear": "a straight line", "copy": "random sequences", "spiral": "a spiral"}
ROLES = ("other", "formula", "now")
NETS: dict[str, tuple[str, dict[str, object]]] = {
    "pre-norm, branches off at first": ("pre-norm", {"init": "zero last"}),
    "pre-norm, random branches at first": ("pre-norm", {}),
    "ReZero: a gate of 0 on every branch": ("ReZero", {}),
    "norm, no skip": ("plain + norm", {}),
}
SIZE: dict[str, object] = {"net": "mlp", "width": 32, "steps": 200, "seed": 0}


@dataclass(frozen=True)
class Nets(Settings):
    """What the three nets have in common."""

    columns = (2,)

    net: Annotated[str, Knob(
        "Trained net", "How the branches start. Without a residual no layer can step aside: its branch is the stream.",
        choices={name: name.replace("no skip", "no residual") for name in NETS}
    )] = next(iter(NETS))  # fmt: skip
    depth: Annotated[int, Knob("Blocks", low=2, high=24, control="slider")] = 12


def draw() -> None:
    """The section."""
    cfgs = controls()
    poll_while(NAME, lambda: watch(cfgs))


def controls() -> list[RunConfig]:
    """The introduction and the three nets that are set."""
    st.markdown(
        "Three nets that differ only in their task: **a straight line** needs no branch, **random sequences** have "
        "nothing to learn, **a spiral** needs the layers. Does a layer that is not needed add 0?"
    )
    at = form.draw(Nets, NAME)
    return [configuration(at.net, task, at.depth) for task in TASKS]


def configuration(net: str, task: str, depth: int) -> RunConfig:
    """One of the three. A sequence has 32 tokens, so its batch is smaller."""
    arrangement, fields = NETS[net]
    return RunConfig.arranged(
        arrangement, **SIZE | fields | {"task": task, "depth": depth, "batch": 8 if task == "copy" else 64}
    )


def watch(cfgs: list[RunConfig]) -> bool:
    """The player, and a verdict where the playhead rests. Returns whether more is to come."""
    chart = Chart(SHARES, figure=share_figure(cfgs[0]), span=COLUMNS, height=280)
    at = stage(NAME, cfgs, [chart], shared=" all three")
    views, waiting = several.views(cfgs, at)
    if views:
        _show(views)
    return waiting


def shares(view: View) -> np.ndarray:
    """Branch over stream, RMS over RMS, by block (depth,) on the batch of the row shown, as in the chart."""
    trace, row = view.trace, view.row
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(trace.branch_rms[row] / trace.act_rms[row, :-1], float)


def share_figure(cfg: RunConfig) -> Figure:
    """The branch shares of the three nets over their blocks."""
    lines = list(zip(TASKS.values(), ROLES, strict=True))
    return figures.ratios(SHARES, "branch_rms", "act_rms", plan(cfg).sites[1:], lines, unit="branch over stream")


def _show(views: list[View]) -> None:
    found = {view.cfg.task: shares(view) for view in views}
    st.markdown(f"**{aside_sentence(found, max(view.row for view in views), views[0].cfg.residual)}**")
    named_table(
        "The three nets",
        {
            "task": [TASKS[view.cfg.task] for view in views],
            "step": [view.row for view in views],
            "loss": [number(float(view.trace.loss[view.row]), 3) for view in views],
            "best constant guess": [number(chance(view.cfg), 3) for view in views],
            "branch share, RMS over blocks": [
                number(float(np.sqrt(np.mean(found[view.cfg.task] ** 2))), 3) for view in views
            ],
        },
    )
    st.caption(
        f"{badge('measured')} on the batch of the step shown, one seed. Nothing in the loss makes a branch small: one "
        "that does no harm stays as it started."
    )
    with st.container(horizontal=True):
        for view in views:
            to_playground(view.cfg, f"{TASKS[view.cfg.task].capitalize()} in the playground")
