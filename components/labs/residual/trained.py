"""Do layers step aside where little is needed? Branch shares of three nets that differ in their task."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import COLUMNS, Chart
from components.charts import figures
from components.charts.parts import Figure
from components.controls import form
from components.labs import several
from components.player.page import player
from components.player.view import View
from components.shell.naming import chance
from components.shell.text import badge, named_table, number
from components.shell.waiting import poll_while
from components.shell.ways_on import to_playground
from models.content import Texts
from models.spec import RunConfig, plan
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual")
KEY = "residual_trained"
SHARES = "Branch share by block"
# Share of what branches add on the hard task: below LESS they do less on an easy one, below ASIDE next to nothing.
LESS, ASIDE = 0.8, 0.4
TASKS = {"linear": "a straight line", "copy": "random sequences", "spiral": "a spiral"}
ROLES = ("other", "formula", "now")
SYMBOLS = {"successor": "symbols alone", "copy": "a copied half", "book": "the book"}  # of the transformers
SUBLAYERS = {"attn": "Attention's share by block", "ffn": "Feed-forward's share by block"}
NETS: dict[str, tuple[str, dict[str, object]]] = {
    "pre-norm, branches off at first": ("pre-norm", {"init": "zero last"}),
    "pre-norm, random branches at first": ("pre-norm", {}),
    "ReZero: a gate of 0 on every branch": ("ReZero", {}),
    "norm, no skip": ("plain + norm", {}),
}
SIZE: dict[str, object] = {"net": "mlp", "width": 32, "steps": 200, "seed": 0}
TRANSFORMER: dict[str, object] = {
    "net": "transformer", "width": 32, "heads": 4, "batch": 16, "optimizer": "adam", "lr": 0.003, "warmup": 20,
    "steps": 300, "seed": 0,
}  # fmt: skip
DEPTHS = {"mlp": 12, "transformer": 4}  # by kind of net


@dataclass(frozen=True)
class Nets(Settings):
    """What the three nets have in common."""

    columns = (2,)

    kind: Annotated[str, Knob("Kind of net", choices=dict.fromkeys(DEPTHS), link="kind", control="segments")] = "mlp"
    net: Annotated[str, Knob(
        "Trained net", choices={name: name.replace("no skip", "no residual") for name in NETS}
    )] = next(iter(NETS))  # fmt: skip
    depth: Annotated[int, Knob("Blocks", low=2, high=24, control="slider")] = 12


def draw() -> None:
    """The section."""
    kind = form.draw(Nets, KEY, only=["kind"]).kind
    st.markdown(TEXTS("three nets") if kind == "mlp" else TEXTS("three transformers"))
    at = form.draw(Nets, KEY, Nets(depth=DEPTHS[kind]), only=["net", "depth"])
    cfgs = [configuration(at.net, task, at.depth, kind) for task in (TASKS if kind == "mlp" else SYMBOLS)]
    poll_while(KEY, lambda: watch(cfgs))


def configuration(net: str, task: str, depth: int, kind: str = "mlp") -> RunConfig:
    """One of the three. A sequence has 32 tokens, so its batch is smaller."""
    arrangement, fields = NETS[net]
    if kind == "transformer":
        return RunConfig.arranged(arrangement, **TRANSFORMER | fields | {"task": task, "depth": depth})
    return RunConfig.arranged(
        arrangement, **SIZE | fields | {"task": task, "depth": depth, "batch": 8 if task == "copy" else 64}
    )


def watch(cfgs: list[RunConfig]) -> bool:
    """The player, and a verdict where the playhead rests. Returns whether more is to come."""
    if cfgs[0].net == "mlp":
        drawn = [Chart(SHARES, figure=share_figure(cfgs[0]), span=COLUMNS, height=280)]
    else:
        drawn = [
            Chart(title, figure=sublayer_figure(cfgs[0], kind), span=COLUMNS // 2, height=280)
            for kind, title in SUBLAYERS.items()
        ]
    at = player(KEY, cfgs, drawn, shared=" all three")
    views, waiting = several.views_at_step(cfgs, at)
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


def sublayer_figure(cfg: RunConfig, kind: str) -> Figure:
    """The branch shares of one kind of sublayer, attn or ffn, of the three transformers over their blocks."""
    entries = {"start": [*SUBLAYERS].index(kind), "every": len(SUBLAYERS)}
    lines, sites = list(zip(SYMBOLS.values(), ROLES, strict=True)), plan(cfg).sites[1:]
    own = sites[entries["start"] :: entries["every"]]
    return figures.ratios(SUBLAYERS[kind], "branch_rms", "act_rms", own, lines, unit="branch over stream", **entries)


def _show(views: list[View]) -> None:
    by_task = {view.cfg.task: shares(view) for view in views}
    step, residual = max(view.row for view in views), views[0].cfg.residual
    if views[0].cfg.net == "mlp":
        said, names = aside_sentence(by_task, step, residual), TASKS
        measured = {"branch share, RMS over blocks": by_task}
    else:
        said, names = sublayer_sentence(by_task, step, residual), SYMBOLS
        apart = {kind: {task: values[at::2] for task, values in by_task.items()} for at, kind in enumerate(SUBLAYERS)}
        measured = {"attention, RMS over blocks": apart["attn"], "feed-forward": apart["ffn"]}
    st.markdown(f"**{said}**")
    named_table(
        "The three nets",
        {
            "task": [names[view.cfg.task] for view in views],
            "step": [view.row for view in views],
            "loss": [number(float(view.trace.loss[view.row]), 3) for view in views],
            "best constant guess": [number(chance(view.cfg), 3) for view in views],
        }
        | {name: [number(rms(one[view.cfg.task]), 3) for view in views] for name, one in measured.items()},
    )
    st.caption(TEXTS("measured shares", measured=badge("measured")))
    with st.container(horizontal=True):
        for view in views:
            to_playground(view.cfg, f"{names[view.cfg.task].capitalize()} in the playground")


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def aside_sentence(shares: dict[str, np.ndarray], step: int, residual: bool) -> str:
    """How much the branches add on `linear`, `copy` and `spiral`, from branch over stream by block (depth,)."""
    share = {task: rms(values) for task, values in shares.items()}
    return TEXTS("shares", step=step, share=share, verdict=_verdict(share, residual))


def sublayer_sentence(shares: dict[str, np.ndarray], step: int, residual: bool) -> str:
    """How much attention and feed-forward nets add on SYMBOLS, from branch over stream by sublayer (2 depth,)."""
    attn, ffn = ({task: rms(values[at::2]) for task, values in shares.items()} for at in range(2))
    return TEXTS("shares of sublayers", step=step, attn=attn, ffn=ffn, verdict=_of_attention(attn, residual))


def _of_attention(share: dict[str, float], residual: bool) -> str:
    """Whether attention does nothing where no token needs another."""
    if undecided := _undecided(share, "copy", residual):
        return undecided
    ratio = share["successor"] / share["copy"]
    if ratio < ASIDE:
        return TEXTS("attention is quiet", ratio=ratio)
    return TEXTS("attention does less", ratio=ratio) if ratio < LESS else TEXTS("attention does as much", ratio=ratio)


def _undecided(share: dict[str, float], beside: str, residual: bool) -> str:
    """Why shares cannot be compared with that of the task `beside`; empty if they can."""
    if not residual:
        return TEXTS("shares without residual")
    if not all(map(np.isfinite, share.values())):
        return "not all of them are finite"
    return TEXTS("shares of 0") if share[beside] == 0 else ""


def _verdict(share: dict[str, float], residual: bool) -> str:
    """Whether layers do nothing where little is needed."""
    if undecided := _undecided(share, "spiral", residual):
        return undecided
    ratios = {task: share[task] / share["spiral"] for task in ("linear", "copy")}
    less, most = [TASKS[task] for task, ratio in ratios.items() if ratio < LESS], max(ratios.values())
    if most < ASIDE:
        return TEXTS("shares next to nothing", most=most)
    if most < LESS:
        return TEXTS("shares smaller", most=most)
    return f"the layers do clearly less on {less[0]} only" if less else TEXTS("shares as large")
