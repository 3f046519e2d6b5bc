"""The effect of feed-forward nets in a transformer: nets trained without them, and the whole net with them skipped."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.parts import Figure
from components.controls import form
from components.instruments.panel import InstrumentPanel, Measured
from components.labs.examples import numbered_names
from components.labs.parts import draw_charts, draw_finding, line_chart, number_cells
from components.labs.several import TRANSFORMER, ask_all, compare_nets
from components.shell.page_links import link_to_playground
from components.shell.text import named_table
from exhibits.labs.attention.feed_forward.answer import SUBLAYERS, Sublayers
from exhibits.labs.attention.feed_forward.numbers import feed_forward_sentence
from models.content import Texts
from models.insight.baseline import label_of_guessing, loss_of_guessing
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.overrides import PARTS
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/feed_forward")
KEY = "attention_feed_forward"
WHOLE_NET = "whole"
REMOVED_PARTS = {WHOLE_NET: "", "no feed-forward": "ffn", "no attention": "attn"}  # kind of sublayer, by net
STEPS = {"sort": 500, "book": 400, "recall": 600}  # enough for the whole net to learn the task
POSITIONS = {"sort": "sinusoidal", "book": "sinusoidal", "recall": "rotary"}  # encoding, by task


@dataclass(frozen=True)
class NetsWithout(Settings):
    task: Annotated[str, Knob("Task of the three nets", choices=dict.fromkeys(STEPS))] = "sort"
    depth: Annotated[int, Knob("Blocks", low=1, high=6, link="blocks", control="slider")] = 2


@dataclass(frozen=True)
class TrainingSteps(Settings):
    steps: Annotated[int, Knob("Training steps", low=20, high=1500, step=20, link="updates")] = 500


def draw() -> None:
    st.markdown(TEXTS("without feed-forward"))
    left, middle, right = st.columns(3)
    nets = form.draw(NetsWithout, KEY, places=[left, middle])
    defaults = TrainingSteps(STEPS[nets.task])
    steps = form.draw(TrainingSteps, KEY, defaults, variant=nets.task, places=[right]).steps
    cfgs = {name: configuration(nets.task, part, nets.depth, steps) for name, part in REMOVED_PARTS.items()}
    compare_nets(KEY, cfgs, " all three", _draw_results)


def _draw_results(panels: dict[str, InstrumentPanel]) -> None:
    nets = ask_all(panels, SUBLAYERS)
    if nets:
        _draw_measurements(nets)
    link_to_playground(panels["no feed-forward"].cfg, "The net without feed-forward nets in the playground")


def _draw_measurements(nets: dict[str, Measured[Sublayers]]) -> None:
    """Draws losses and accuracies of the three trained nets, and of the whole net with one kind of sublayer skipped."""
    whole, cfg = nets[WHOLE_NET].value, nets[WHOLE_NET].cfg
    trained = [net.value for net in nets.values()]
    skipped = {part: whole.without[part] for part in PARTS}
    trained_losses = {part: nets[name].value.loss for name, part in REMOVED_PARTS.items()}
    skipped_losses = {part: result.all_loss for part, result in skipped.items()}
    draw_finding(feed_forward_sentence(trained_losses, skipped_losses, cfg.task, nets[WHOLE_NET].step), "measured")
    names = [f"trained: {name}" for name in nets]
    names += [f"{WHOLE_NET}, then its {PARTS[part]} skipped" for part in skipped]
    accuracies = [net.accuracy for net in trained] + [result.all_accuracy for result in skipped.values()]
    sizes = [weights_in_blocks(net.cfg) for net in nets.values()] + [weights_in_blocks(cfg)] * len(skipped)
    columns = {
        "net": names,
        "held-out loss": number_cells([*(net.loss for net in trained), *skipped_losses.values()]),
        "held-out accuracy": [f"{share:.1%}" for share in accuracies],
        "weights in its blocks": [f"{size:,}" for size in sizes],
    }
    named_table("With and without", columns)
    draw_charts(KEY, cut_chart(numbered_names("block", cfg.depth), whole, cfg.task))
    st.caption(TEXTS("trained and cut"))


def configuration(task: str, without: str, depth: int, steps: int) -> RunConfig:
    """One of the three nets; its blocks lack sublayers of the kind `without`, or nothing if that is ""."""
    fields = {"task": task, "depth": depth, "steps": steps, "position": POSITIONS[task]}
    cfg = RunConfig.arranged("pre-norm", **TRANSFORMER | fields)
    return replace(cfg, overrides=tuple((block, "identity", without) for block in range(1, depth + 1) if without))


def weights_in_blocks(cfg: RunConfig) -> int:
    """Entries of all matrices in the blocks: four D x D in attention, two D x (expansion D) in a feed-forward net."""
    skipped = {value for _, _, value in cfg.overrides}
    squares = 0  # of width x width entries in a block
    if "attn" not in skipped:
        squares += 4
    if "ffn" not in skipped:
        squares += 2 * cfg.expansion
    return cfg.depth * cfg.width**2 * squares


def cut_chart(blocks: list[str], value: Sublayers, task: str) -> Figure:
    """Held-out loss by the block whose attention or feed-forward net is skipped, and that of the intact net."""
    lines = {
        "feed-forward skipped": value.without["ffn"].loss,
        "attention skipped": value.without["attn"].loss,
        "intact": np.full(len(blocks), value.loss),
        label_of_guessing(task): np.full(len(blocks), loss_of_guessing(task)),
    }
    roles = ("now", "other", "previous", "formula")
    return line_chart("Held-out loss by cut sublayer", blocks, lines, roles, unit="cross-entropy", hue=LOSS)
