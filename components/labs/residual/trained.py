"""Do layers stand aside where little is to be done? Three
nets trained live, alike but for their task: branch shares.
"""

import numpy as np
import streamlit as st

from components.charts.parts import Figure
from components.labs import several
from components.labs.residual.words import aside_sentence
from components.shell.address import kept
from components.shell.link import PLAYGROUND
from components.shell.naming import chance
from components.shell.text import badge, listed, number
from components.shell.waiting import waits
from components.stage import figures
from components.stage.panels import COLUMNS, Chart
from components.stage.stage import stage
from components.stage.view import View
from models.spec import RunConfig, plan

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
DEPTHS = (2, 24)
SIZE: dict[str, object] = {"net": "mlp", "width": 32, "steps": 200, "seed": 0}


def draw() -> None:
    """The section."""
    cfgs = controls()
    waits(NAME, lambda: watch(cfgs))


def controls() -> list[RunConfig]:
    """The section's opening and the three nets that are set."""
    st.subheader("Do the layers stand aside where little is to be done?", anchor=False)
    st.markdown(
        "Three nets, alike but for their task, trained here. **A straight line** needs no branch at all: embedding and "
        "head can draw it. **Random sequences** hold nothing to learn for a net that sees one symbol at a time: the "
        "next one is random. **A spiral** needs the layers. With a skip a layer can stand aside by saying nothing; "
        "does it?"
    )
    left, right = st.columns(2)
    tip = "Where the branches start. Without a skip there is no standing aside: the branch is the stream."
    net = left.selectbox(
        "Trained net", list(NETS), help=tip, **kept(f"{NAME}_net", next(iter(NETS)), name="net", among=NETS)
    )
    depth = right.slider("Blocks", *DEPTHS, **kept(f"{NAME}_depth", 12, name="depth", bounds=DEPTHS))
    return [configuration(str(net), task, int(depth)) for task in TASKS]


def configuration(net: str, task: str, depth: int) -> RunConfig:
    """One of the three; a sequence is 32 tokens, so there are fewer of them in a batch."""
    arrangement, fields = NETS[net]
    return RunConfig.arranged(
        arrangement, **SIZE | fields | {"task": task, "depth": depth, "batch": 8 if task == "copy" else 64}
    )


def watch(cfgs: list[RunConfig]) -> bool:
    """The player over the branch shares, and what they say where
    the playhead rests; whether some of it is still to come.
    """
    chart = Chart(SHARES, figure=share_figure(cfgs[0]), span=COLUMNS, height=280)
    at = stage(NAME, cfgs, [chart], shared=" all three")
    views, waiting = several.views(cfgs, at)
    if views:
        _show(views)
    return waiting


def shares(view: View) -> np.ndarray:
    """Branch over stream, RMS over RMS on the batch of the row
    that is shown, by block (depth,); what the chart draws.
    """
    trace, row = view.trace, view.row
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(trace.branch_rms[row] / trace.act_rms[row, :-1], float)


def share_figure(cfg: RunConfig) -> Figure:
    """The branch shares of the three over the blocks, which are those of any of them."""
    lines = list(zip(TASKS.values(), ROLES, strict=True))
    return figures.ratios(SHARES, "branch_rms", "act_rms", plan(cfg).sites[1:], lines, unit="branch over stream")


def _show(views: list[View]) -> None:
    found = {view.cfg.task: shares(view) for view in views}
    st.markdown(f"**{aside_sentence(found, max(view.row for view in views), views[0].cfg.residual)}**")
    listed(
        "The three nets",
        {
            "task": [TASKS[view.cfg.task] for view in views],
            "step": [view.row for view in views],
            "loss": [number(float(view.trace.loss[view.row]), 3) for view in views],
            "guessing costs": [number(chance(view.cfg), 3) for view in views],
            "branch share, RMS over blocks": [
                number(float(np.sqrt(np.mean(found[view.cfg.task] ** 2))), 3) for view in views
            ],
        },
    )
    st.caption(
        f"{badge('measured')} on the batch of the step shown, one seed. Nothing in the loss asks a branch to be small: "
        "one that does no harm stays as it started."
    )
    with st.container(horizontal=True):
        for view in views:
            label = f"{TASKS[view.cfg.task].capitalize()} in the playground"
            st.page_link(PLAYGROUND, label=label, icon=":material/tune:", query_params=view.cfg.to_query())
