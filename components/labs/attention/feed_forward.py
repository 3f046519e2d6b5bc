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
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from components.shell.waiting import poll_while
from components.shell.ways_on import to_playground
from models import answers
from models.answers import Sublayers
from models.insight.baseline import label_of_guessing, loss_of_guessing
from models.insight.surgery import trained_without
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.overrides import PARTS
from models.spec.settings import Settings

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
    """What the three nets have in common."""

    task: Annotated[str, Knob("Task of the three nets", choices=dict.fromkeys(TASKS))] = "sort"
    depth: Annotated[int, Knob("Blocks", low=1, high=6, link="blocks", control="slider")] = 2


@dataclass(frozen=True)
class TrainingSteps(Settings):
    """How long they train on a task."""

    steps: Annotated[int, Knob("Training steps", low=20, high=1500, step=20, link="updates")] = 500


def draw() -> None:
    """The section."""
    st.markdown(
        "Attention exchanges information between tokens, the feed-forward net works on each token by itself. What "
        "does it add? Train three transformers with the same initial weights and batches: a whole one, one without "
        "feed-forward nets and one without attention. Then see what the whole one loses when the same parts are "
        "skipped."
    )
    cfgs = controls()
    poll_while(NAME, lambda: watch(cfgs))


def controls() -> list[RunConfig]:
    """The three nets that are set."""
    one, two, three = st.columns(3)
    nets = form.draw(NetsWithout, NAME, places=[one, two])
    steps = form.draw(TrainingSteps, NAME, TrainingSteps(TASKS[nets.task][0]), of=nets.task, places=[three]).steps
    return [configuration(nets.task, kind, nets.depth, steps) for kind in NETS.values()]


def configuration(task: str, without: str, depth: int, steps: int) -> RunConfig:
    """One of the three: every block lacks the kind of sublayer `without`."""
    cfg = RunConfig.arranged(
        "pre-norm", **SIZE | {"task": task, "depth": depth, "steps": steps, "position": TASKS[task][1]}
    )
    return replace(cfg, overrides=tuple((block, "identity", without) for block in range(1, depth + 1) if without))


def watch(cfgs: list[RunConfig]) -> bool:
    """The player, and measurements where the playhead rests. Returns whether any are still to come."""
    panels, waiting = several.compared(NAME, list(NETS), cfgs, " all three")
    return (bool(panels) and _show(panels)) or waiting


def cut_chart(names: list[str], value: Sublayers, task: str) -> Figure:
    """Held-out loss by the block (depth,) whose attention or feed-forward net is skipped, beside the intact net's."""
    series = [
        Series("feed-forward skipped", value.without["ffn"].loss),
        Series("attention skipped", value.without["attn"].loss, "other"),
        Series("intact", np.full(len(names), value.loss), "ghost"),
        Series(label_of_guessing(task), np.full(len(names), loss_of_guessing(task)), "formula"),
    ]
    return depth_profile(
        title="Held-out loss by cut sublayer", unit="cross-entropy", hue=LOSS, sites=names, series=series
    )


def _show(panels: dict[str, InstrumentPanel]) -> bool:
    asked = {name: panel.ask(answers.SUBLAYERS) for name, panel in panels.items()}
    found = {name: one for name, one in asked.items() if one is not None}
    if len(found) == len(NETS):
        whole, task = found[WHOLE], panels[WHOLE].cfg.task
        losses = {kind: found[name].value.loss for name, kind in NETS.items()}
        cuts = {kind: whole.value.without[kind].all_loss for kind in PARTS}
        st.markdown(f"**{trained_without(losses, cuts, task, whole.step)}** {badge('measured')}")
        cut = {f"{WHOLE}, then its {word} skipped": whole.value.without[kind] for kind, word in PARTS.items()}
        rows = {name: (one.all_loss, one.all_accuracy) for name, one in cut.items()}
        trained = {f"trained: {name}": (one.value.loss, one.value.accuracy) for name, one in found.items()}
        named_table(
            "With and without",
            {
                "net": [*trained, *rows],
                "held-out loss": [number(loss) for loss, _ in (trained | rows).values()],
                "held-out accuracy": [f"{share:.1%}" for _, share in (trained | rows).values()],
                "weights in its blocks": [f"{weights(found[name].cfg):,}" for name in NETS]
                + [f"{weights(whole.cfg):,}"] * 2,
            },
        )
        names = [f"block {block}" for block in range(1, whole.cfg.depth + 1)]
        static_chart(cut_chart(names, whole.value, task), "Held-out loss by cut sublayer", f"{NAME}_cut")
        st.caption(
            "Whole held-out split, eval mode, one seed; no training after a sublayer is skipped. A net trained without "
            "a part has learned to do without it; a net that loses it has not."
        )
    to_playground(panels["no feed-forward"].cfg, "The net without feed-forward nets in the playground")
    return any(panel.waiting for panel in panels.values())


def weights(cfg: RunConfig) -> int:
    """Entries of all matrices in the blocks: four D x D in attention, two D x (expansion D) in a feed-forward net."""
    gone = {value for _, _, value in cfg.overrides}
    return cfg.depth * cfg.width**2 * (4 * ("attn" not in gone) + 2 * cfg.expansion * ("ffn" not in gone))
