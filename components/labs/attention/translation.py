"""An encoder and a decoder trained here, and where the cross-attention looks at each step."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import Series, guessing_level, linear_profile
from components.charts.parts import Figure
from components.charts.tokens import token_map
from components.controls import form
from components.labs.long import by_button
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from components.shell.waiting import poll_while
from components.stage.view import sentence
from models import answers
from models.answers import Translation
from models.insight.baseline import loss_of_guessing, name_of_guessing
from models.spec import TASKS, RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_translation"
ASKED = ("reverse", "sort", "copy")
SIZE: dict[str, object] = {"net": "transformer", "width": 64, "heads": 4, "batch": 32, "lr": 0.003, "warmup": 50}


@dataclass(frozen=True)
class TranslationPair(Settings):
    """The pair that is trained, and what is shown of it."""

    columns = (4, 1)

    task: Annotated[str, Knob("Task of the pair", choices=dict.fromkeys(ASKED), link="pair-task")] = ASKED[0]
    depth: Annotated[int, Knob("Blocks in each", low=1, high=3, link="pair-blocks", control="slider")] = 1
    steps: Annotated[int, Knob("Training steps", low=20, high=600, step=20, link="pair-steps")] = 240
    seed: Annotated[int, Knob("Seed", high=999, link="pair-seed")] = 0
    step: Annotated[int, Knob("Step", choices={}, link="at-step", control="steps")] = 0
    block: Annotated[int, Knob("Block of the decoder", choices={}, link="pair-block")] = 1
    head: Annotated[str, Knob("Head of cross-attention", choices={}, link="pair-head")] = "mean of the heads"


def draw() -> None:
    """The section."""
    st.markdown(
        "An **encoder** reads sixteen symbols, each of which sees all others. A **decoder** writes the answer symbol "
        "by symbol: its self-attention sees what it has written so far, and its **cross-attention** compares its "
        "queries with keys and values from the encoder (Vaswani 2017, 1706.03762, with six blocks each). All other "
        "transformers in this app are decoder-only."
    )
    cfg = controls()
    poll_while(KEY, lambda: watch(cfg))


def controls() -> RunConfig:
    """The net that is set."""
    pair = form.draw(TranslationPair, KEY, only=["task", "depth", "steps", "seed"])
    st.caption(sentence(TASKS[pair.task].reading))
    return configuration(pair.task, pair.depth, pair.steps, pair.seed)


def configuration(task: str, depth: int, steps: int, seed: int = 0) -> RunConfig:
    """The pair's settings, as a run's configuration."""
    return replace(RunConfig.arranged("pre-norm", **SIZE | {"task": task, "depth": depth, "steps": steps}), seed=seed)


def watch(cfg: RunConfig) -> bool:
    """The button, the progress or the result. Returns whether the result is still to come."""
    label = f"Train the pair for {cfg.steps} steps"
    return by_button(KEY, answers.TRANSLATION, cfg, partial(_show, cfg), label=label, doing="Training")


def _show(cfg: RunConfig, found: Translation) -> None:
    """The selected step: what the net can do, and where it looks."""
    steps = [int(step) for step in found.steps]
    blocks = range(1, cfg.depth + 1)
    names = ["mean of the heads", *(f"head {head + 1}" for head in range(found.looks.shape[2]))]
    usual, legal = TranslationPair(step=steps[-1], block=cfg.depth), {"step": steps, "block": blocks, "head": names}
    shown = form.draw(TranslationPair, KEY, usual, only=["step"], legal=legal)
    at = steps.index(shown.step)
    st.markdown(f"**{said(found, at, cfg.task)}** {badge('measured')}")
    head_at, block_at = st.columns(2)
    if cfg.depth > 1:
        shown = form.draw(TranslationPair, KEY, usual, only=["block"], legal=legal, places=[block_at])
    shown = form.draw(TranslationPair, KEY, usual, only=["head"], legal=legal, places=[head_at])
    block, head = shown.block if cfg.depth > 1 else 1, names.index(shown.head)
    left, right = st.columns(2)
    with left:
        static_chart(looks_map(found, at, block - 1, head), "Cross-attention", f"{KEY}_looks", height=420)
    with right:
        static_chart(loss_chart(found, cfg.task), "Loss of the pair", f"{KEY}_loss", height=420)
    named_table(
        "What it writes",
        {
            "position": [str(place + 1) for place in range(len(found.target))],
            "symbol read": [str(symbol) for symbol in found.source],
            "to be written": [str(symbol) for symbol in found.target],
            "written": [str(symbol) for symbol in found.said[at]],
        },
    )
    st.caption(
        "One held-out sequence; rows are positions that the decoder writes, columns those that the encoder has read. "
        "Before each position the correct symbols are given, as in training. The source is not masked. "
        f"{found.parameters:,} parameters, pre-norm, one seed."
    )


def said(found: Translation, at: int, task: str) -> str:
    """What the pair can do at a step, and how much cross-attention falls on the symbol to be written."""
    aim, held_out = found.aim[at], float(found.held_out[at])
    if not np.isfinite(held_out):
        return f"At step {int(found.steps[at])} the held-out loss is not finite."
    block, head = np.unravel_index(int(aim.argmax()), aim.shape)
    guess = f"{number(loss_of_guessing(task), 3)} for {name_of_guessing(task)}"
    return (
        f"At step {int(found.steps[at])} the held-out loss is {number(held_out, 3)} nats (against {guess}), and "
        f"{found.accuracy[at]:.1%} of the symbols are right. Head {head + 1} of block {block + 1} aims best: "
        f"{aim.max():.0%} of its weight is on source positions that hold the symbol to be written; equal weights would "
        f"put {found.even:.0%} there."
    )


def looks_map(found: Translation, at: int, block: int, head: int) -> Figure:
    """The weights (T, S) of a decoder block at a look, of one attention head (from 1) or the mean of all (0)."""
    looks = np.asarray(found.looks[at][block], float)
    source, target = (
        [f"{place}: {symbol}" for place, symbol in enumerate(getattr(found, name), start=1)]
        for name in ("source", "target")
    )
    values = looks[head - 1] if head else looks.mean(0)
    return token_map(
        title="Cross-attention",
        tokens=source,
        rows=target,
        values=values,
        unit="share",
        x="source: position, symbol",
        y="written",
    )


def loss_chart(found: Translation, task: str) -> Figure:
    """Training and held-out loss at the steps of the looks."""
    steps, loss = found.steps, np.asarray(found.loss, float)
    series = [
        Series("training", np.array([loss[min(int(step), len(loss) - 1)] for step in steps])),
        Series("held-out", np.asarray(found.held_out, float), "other"),
    ]
    return linear_profile(
        title="Loss of the pair",
        x="step",
        sites=steps.tolist(),
        unit="nats",
        hue=LOSS,
        series=series,
        guides=(0.0, loss_of_guessing(task)),
        levels=guessing_level(task),
    )
