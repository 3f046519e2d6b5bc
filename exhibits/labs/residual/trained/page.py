"""Do layers step aside where little is needed? Branch shares of three nets that differ in their task."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import COLUMNS, Chart
from components.charts import figures
from components.charts.parts import Figure
from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.parts import number_cells
from components.labs.several import compare_nets
from components.player.view import View
from components.shell.naming import guessing_loss
from components.shell.page_links import link_to_playground
from components.shell.text import badge, named_table
from models.content import Texts
from models.spec import RunConfig, plan
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual/trained")
KEY = "residual_trained"
SHARES_TITLE = "Branch share by block"
# Branch shares on an easy task, relative to those on the hard one: below these limits, layers do clearly less, or next
# to nothing.
CLEARLY_LESS = 0.8
NEXT_TO_NOTHING = 0.4
CHART_PIXELS = 280  # height
TASKS = {"linear": "a straight line", "copy": "random sequences", "spiral": "a spiral"}
TRANSFORMER_TASKS = {"successor": "symbols alone", "copy": "a copied half", "book": "the book"}
ROLES = ("other", "formula", "now")
SUBLAYER_TITLES = {"attn": "Attention's share by block", "ffn": "Feed-forward's share by block"}
NETS: dict[str, tuple[str, dict[str, object]]] = {
    "pre-norm, branches off at first": ("pre-norm", {"init": "zero last"}),
    "pre-norm, random branches at first": ("pre-norm", {}),
    "ReZero: a gate of 0 on every branch": ("ReZero", {}),
    "norm, no skip": ("plain + norm", {}),
}
MLP: dict[str, object] = {"net": "mlp", "width": 32, "steps": 200, "seed": 0}
TRANSFORMER: dict[str, object] = {
    "net": "transformer", "width": 32, "heads": 4, "batch": 16, "optimizer": "adam", "lr": 0.003, "warmup": 20,
    "steps": 300, "seed": 0,
}  # fmt: skip
DEPTHS = {"mlp": 12, "transformer": 4}  # by kind of net


@dataclass(frozen=True)
class Nets(Settings):
    columns = (2,)

    kind: Annotated[str, Knob("Kind of net", choices=dict.fromkeys(DEPTHS), link="kind", control="segments")] = "mlp"
    net: Annotated[str, Knob(
        "Trained net", choices={name: name.replace("no skip", "no residual") for name in NETS}
    )] = next(iter(NETS))  # fmt: skip
    depth: Annotated[int, Knob("Blocks", low=2, high=24, control="slider")] = 12


def draw() -> None:
    """Draws the choice of the nets, their player with the branch shares, and the results."""
    kind = form.draw(Nets, KEY, only=["kind"]).kind
    st.markdown(TEXTS("three nets") if kind == "mlp" else TEXTS("three transformers"))
    settings = form.draw(Nets, KEY, Nets(depth=DEPTHS[kind]), only=["net", "depth"])
    tasks = TASKS if kind == "mlp" else TRANSFORMER_TASKS
    cfgs = {task: configuration(settings.net, task, settings.depth, kind) for task in tasks}
    cfg = next(iter(cfgs.values()))
    if kind == "mlp":
        charts = [Chart(SHARES_TITLE, figure=share_chart(cfg), span=COLUMNS, height=CHART_PIXELS)]
    else:
        charts = [
            Chart(title, figure=sublayer_chart(cfg, sublayer), span=COLUMNS // 2, height=CHART_PIXELS)
            for sublayer, title in SUBLAYER_TITLES.items()
        ]
    compare_nets(KEY, cfgs, " all three", _draw_results, charts)


def _draw_results(panels: dict[str, InstrumentPanel]) -> None:
    """Draws what the branches of the three nets add at the step shown, as a sentence and a table."""
    views = {task: panel.view for task, panel in panels.items()}
    cfg = next(iter(views.values())).cfg
    shares = {task: branch_shares(view) for task, view in views.items()}
    step = max(view.row for view in views.values())
    if cfg.net == "mlp":
        names = TASKS
        sentence = share_sentence(shares, step, cfg.residual)
        measured = {"branch share, RMS over blocks": shares}
    else:
        names = TRANSFORMER_TASKS
        sentence = sublayer_sentence(shares, step, cfg.residual)
        attention, feed_forward = split_by_sublayer(shares)
        measured = {"attention, RMS over blocks": attention, "feed-forward": feed_forward}
    st.markdown(f"**{sentence}**")
    columns = {
        "task": [names[task] for task in views],
        "step": [view.row for view in views.values()],
        "loss": number_cells((view.trace.loss[view.row] for view in views.values()), 3),
        "best constant guess": number_cells((guessing_loss(view.cfg) for view in views.values()), 3),
    }
    cells = {name: number_cells(map(rms, by_task.values()), 3) for name, by_task in measured.items()}
    named_table("The three nets", columns | cells)
    st.caption(TEXTS("measured shares", measured=badge("measured")))
    with st.container(horizontal=True):
        for task, view in views.items():
            link_to_playground(view.cfg, f"{names[task].capitalize()} in the playground")


def configuration(net: str, task: str, depth: int, kind: str = "mlp") -> RunConfig:
    """One of the three nets: a key of NETS, on a task. A sequence has 32 tokens, so its batch is smaller."""
    arrangement, fields = NETS[net]
    base = TRANSFORMER if kind == "transformer" else MLP | {"batch": 8 if task == "copy" else 64}
    return RunConfig.arranged(arrangement, **base | fields | {"task": task, "depth": depth})


def branch_shares(view: View) -> np.ndarray:
    """RMS of the branch over RMS of the stream by sublayer (L,) at the step shown, as in the chart."""
    trace, row = view.trace, view.row
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(trace.branch_rms[row] / trace.act_rms[row, :-1], float)


def split_by_sublayer(shares: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Shares (2 depth,) by task, split into those of attention and of feed-forward nets."""
    attention = {task: values[0::2] for task, values in shares.items()}
    feed_forward = {task: values[1::2] for task, values in shares.items()}
    return attention, feed_forward


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def share_sentence(shares: dict[str, np.ndarray], step: int, residual: bool) -> str:
    """How much the branches add on each of TASKS, from branch over stream by block (depth,)."""
    rms_by_task = {task: rms(values) for task, values in shares.items()}
    return TEXTS("shares", step=step, share=rms_by_task, verdict=_share_verdict(rms_by_task, residual))


def sublayer_sentence(shares: dict[str, np.ndarray], step: int, residual: bool) -> str:
    """How much the sublayers add on each of TRANSFORMER_TASKS, from branch over stream (2 depth,)."""
    attention, feed_forward = split_by_sublayer(shares)
    attn = {task: rms(values) for task, values in attention.items()}
    ffn = {task: rms(values) for task, values in feed_forward.items()}
    return TEXTS("shares of sublayers", step=step, attn=attn, ffn=ffn, verdict=_attention_verdict(attn, residual))


def share_chart(cfg: RunConfig) -> Figure:
    """The branch shares of the three nets over their blocks."""
    lines = list(zip(TASKS.values(), ROLES, strict=True))
    return figures.ratios(
        SHARES_TITLE,
        track="branch_rms",
        over="act_rms",
        sites=plan(cfg).sites[1:],
        lines=lines,
        unit="branch over stream",
    )


def sublayer_chart(cfg: RunConfig, sublayer: str) -> Figure:
    """The branch shares of one kind of sublayer, attn or ffn, of the three transformers over their blocks."""
    start, every = [*SUBLAYER_TITLES].index(sublayer), len(SUBLAYER_TITLES)
    sites = plan(cfg).sites[1:][start::every]
    lines = list(zip(TRANSFORMER_TASKS.values(), ROLES, strict=True))
    return figures.ratios(
        SUBLAYER_TITLES[sublayer],
        track="branch_rms",
        over="act_rms",
        sites=sites,
        lines=lines,
        unit="branch over stream",
        start=start,
        every=every,
    )


def _attention_verdict(share: dict[str, float], residual: bool) -> str:
    """Whether attention does nothing where no token needs another."""
    undecided = _undecided_reason(share, "copy", residual)
    if undecided:
        return undecided
    ratio = share["successor"] / share["copy"]
    if ratio < NEXT_TO_NOTHING:
        return TEXTS("attention is quiet", ratio=ratio)
    heading = "attention does less" if ratio < CLEARLY_LESS else "attention does as much"
    return TEXTS(heading, ratio=ratio)


def _share_verdict(share: dict[str, float], residual: bool) -> str:
    """Whether layers do nothing where little is needed."""
    undecided = _undecided_reason(share, "spiral", residual)
    if undecided:
        return undecided
    ratios = {task: share[task] / share["spiral"] for task in ("linear", "copy")}
    less = [TASKS[task] for task, ratio in ratios.items() if ratio < CLEARLY_LESS]
    largest = max(ratios.values())
    if largest < NEXT_TO_NOTHING:
        return TEXTS("shares next to nothing", most=largest)
    if largest < CLEARLY_LESS:
        return TEXTS("shares smaller", most=largest)
    return f"the layers do clearly less on {less[0]} only" if less else TEXTS("shares as large")


def _undecided_reason(share: dict[str, float], reference: str, residual: bool) -> str:
    """Why shares cannot be compared with that of the task `reference`, or ""."""
    if not residual:
        return TEXTS("shares without residual")
    if not all(map(np.isfinite, share.values())):
        return "not all of them are finite"
    return TEXTS("shares of 0") if share[reference] == 0 else ""
