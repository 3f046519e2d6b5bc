"""What feed-forward nets add to a transformer: nets trained without them, and the whole net with them skipped."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure
from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs import several
from components.labs.parts import charts, say
from components.shell.text import named_table, number
from components.shell.ways_on import to_playground
from models import answers
from models.answers import Sublayers
from models.content import Texts
from models.insight.baseline import label_of_guessing, loss_of_guessing
from models.insight.surgery import trained_without
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.overrides import PARTS
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
NAME = "attention_feed_forward"
WHOLE = "whole"
NETS = {WHOLE: "", "no feed-forward": "ffn", "no attention": "attn"}
# By task: steps in which the whole net learns it, and its positional encoding.
TASKS = {"sort": (500, "sinusoidal"), "book": (400, "sinusoidal"), "recall": (600, "rotary")}
SIZE: dict[str, object] = {
    "net": "transformer", "width": 64, "heads": 4, "batch": 32, "lr": 0.003, "warmup": 50, "seed": 0
}  # fmt: skip


@dataclass(frozen=True)
class NetsWithout(Settings):
    task: Annotated[str, Knob("Task of the three nets", choices=dict.fromkeys(TASKS))] = "sort"
    depth: Annotated[int, Knob("Blocks", low=1, high=6, link="blocks", control="slider")] = 2


@dataclass(frozen=True)
class TrainingSteps(Settings):
    steps: Annotated[int, Knob("Training steps", low=20, high=1500, step=20, link="updates")] = 500


def draw() -> None:
    st.markdown(TEXTS("without feed-forward"))
    one, two, three = st.columns(3)
    nets = form.draw(NetsWithout, NAME, places=[one, two])
    steps = form.draw(TrainingSteps, NAME, TrainingSteps(TASKS[nets.task][0]), of=nets.task, places=[three]).steps
    cfgs = {net: configuration(nets.task, kind, nets.depth, steps) for net, kind in NETS.items()}
    several.compared(NAME, cfgs, " all three", _show)


def configuration(task: str, without: str, depth: int, steps: int) -> RunConfig:
    """One of the three: every block lacks the kind of sublayer `without`."""
    cfg = RunConfig.arranged(
        "pre-norm", **SIZE | {"task": task, "depth": depth, "steps": steps, "position": TASKS[task][1]}
    )
    return replace(cfg, overrides=tuple((block, "identity", without) for block in range(1, depth + 1) if without))


def cut_chart(names: list[str], value: Sublayers, task: str) -> Figure:
    """Held-out loss by the block (depth,) whose attention or feed-forward net is skipped, beside the intact net's."""
    series = [
        Series("feed-forward skipped", value.without["ffn"].loss),
        Series("attention skipped", value.without["attn"].loss, "other"),
        Series("intact", np.full(len(names), value.loss), "previous"),
        Series(label_of_guessing(task), np.full(len(names), loss_of_guessing(task)), "formula"),
    ]
    return depth_profile(
        title="Held-out loss by cut sublayer", unit="cross-entropy", hue=LOSS, sites=names, series=series
    )


def _show(panels: dict[str, InstrumentPanel]) -> bool:
    asked = {name: panel.ask(answers.SUBLAYERS) for name, panel in panels.items()}
    nets = {name: answer for name, answer in asked.items() if answer is not None}
    if len(nets) == len(NETS):
        whole, cfg, step = nets[WHOLE].value, nets[WHOLE].cfg, nets[WHOLE].step
        losses = {kind: nets[name].value.loss for name, kind in NETS.items()}
        cuts = {kind: whole.without[kind].all_loss for kind in PARTS}
        say(trained_without(losses, cuts, cfg.task, step), "measured")
        rows = [(f"trained: {name}", net.value.loss, net.value.accuracy, net.cfg) for name, net in nets.items()]
        for kind, word in PARTS.items():
            cut = whole.without[kind]
            rows.append((f"{WHOLE}, then its {word} skipped", cut.all_loss, cut.all_accuracy, cfg))
        columns = {
            "net": [name for name, *_ in rows],
            "held-out loss": [number(loss) for _, loss, _, _ in rows],
            "held-out accuracy": [f"{share:.1%}" for _, _, share, _ in rows],
            "weights in its blocks": [f"{weights(net):,}" for *_, net in rows],
        }
        named_table("With and without", columns)
        charts(NAME, cut_chart([f"block {block}" for block in range(1, cfg.depth + 1)], whole, cfg.task))
        st.caption(TEXTS("trained and cut"))
    to_playground(panels["no feed-forward"].cfg, "The net without feed-forward nets in the playground")
    return any(panel.waiting for panel in panels.values())


def weights(cfg: RunConfig) -> int:
    """Entries of all matrices in the blocks: four D x D in attention, two D x (expansion D) in a feed-forward net."""
    gone = {value for _, _, value in cfg.overrides}
    return cfg.depth * cfg.width**2 * (4 * ("attn" not in gone) + 2 * cfg.expansion * ("ffn" not in gone))
