"""An encoder and a decoder trained here, and the cross-attention between them at each step."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import guessing_level
from components.charts.parts import Figure
from components.charts.tokens import token_map
from components.controls import form
from components.labs.examples import numbered_names
from components.labs.long import run_on_button
from components.labs.parts import draw_charts, draw_finding, line_chart
from components.labs.several import TRANSFORMER
from components.player.view import as_sentence
from components.shell.text import named_table
from exhibits.labs.attention.translation.answer import TRANSLATION, Translation
from models.content import Texts
from models.insight.baseline import loss_of_guessing, name_of_guessing
from models.spec import TASKS, RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/translation")
KEY = "attention_translation"
PAIR_TASKS = ("reverse", "sort", "copy")
MEAN_HEAD = "mean of the heads"


@dataclass(frozen=True)
class TranslationPair(Settings):
    columns = (4, 1)

    task: Annotated[str, Knob("Task of the pair", choices=dict.fromkeys(PAIR_TASKS), link="pair-task")] = PAIR_TASKS[0]
    depth: Annotated[int, Knob("Blocks in each", low=1, high=3, link="pair-blocks", control="slider")] = 1
    steps: Annotated[int, Knob("Training steps", low=20, high=600, step=20, link="pair-steps")] = 240
    seed: Annotated[int, Knob("Seed", high=999, link="pair-seed")] = 0
    step: Annotated[int, Knob("Step", choices={}, link="at-step", control="steps")] = 0
    block: Annotated[int, Knob("Block of the decoder", choices={}, link="pair-block")] = 1
    head: Annotated[str, Knob("Head of cross-attention", choices={}, link="pair-head")] = MEAN_HEAD


def draw() -> None:
    st.markdown(TEXTS("encoder and decoder"))
    pair = form.draw(TranslationPair, KEY, only=["task", "depth", "steps", "seed"])
    st.caption(as_sentence(TASKS[pair.task].description))
    cfg = configuration(pair.task, pair.depth, pair.steps, pair.seed)
    label = f"Train the pair for {cfg.steps} steps"
    run_on_button(KEY, TRANSLATION, cfg, partial(_draw_results, cfg), label=label, doing="Training")


def _draw_results(cfg: RunConfig, pair: Translation) -> None:
    steps = [int(step) for step in pair.steps]
    heads = [MEAN_HEAD, *numbered_names("head", pair.attention.shape[2])]
    defaults = TranslationPair(step=steps[-1], block=cfg.depth)
    legal: dict[str, Any] = {"step": steps, "block": range(1, cfg.depth + 1), "head": heads}
    step = form.draw(TranslationPair, KEY, defaults, only=["step"], legal=legal).step
    measurement = steps.index(step)
    draw_finding(pair_sentence(pair, measurement, cfg.task), "measured")
    left, right = st.columns(2)
    if cfg.depth > 1:
        form.draw(TranslationPair, KEY, defaults, only=["block"], legal=legal, places=[right])
    settings = form.draw(TranslationPair, KEY, defaults, only=["head"], legal=legal, places=[left])
    block = settings.block if cfg.depth > 1 else 1
    attention = attention_map(pair, measurement, block - 1, heads.index(settings.head))
    draw_charts(KEY, attention, loss_chart(pair, cfg.task), height=420)
    columns = {
        "position": [str(place + 1) for place in range(len(pair.target))],
        "symbol read": list(map(str, pair.source)),
        "to be written": list(map(str, pair.target)),
        "written": list(map(str, pair.written[measurement])),
    }
    named_table("What it writes", columns)
    st.caption(TEXTS("what the pair writes", parameters=pair.parameters))


def configuration(task: str, depth: int, steps: int, seed: int = 0) -> RunConfig:
    fields = {"task": task, "depth": depth, "steps": steps, "seed": seed}
    return RunConfig.arranged("pre-norm", **TRANSFORMER | fields)


def pair_sentence(pair: Translation, measurement: int, task: str) -> str:
    """Loss and accuracy of the pair at one of its measurements, and its attention to the symbol to be written."""
    alignment = pair.alignment[measurement]
    step = int(pair.steps[measurement])
    held_out = float(pair.held_out[measurement])
    if not np.isfinite(held_out):
        return TEXTS("pair not finite", step=step)
    block, head = np.unravel_index(int(alignment.argmax()), alignment.shape)
    guess = {"guess": loss_of_guessing(task), "guesser": name_of_guessing(task)}
    best = {"block": block + 1, "head": head + 1, "aim": alignment.max(), "even": pair.even}
    return TEXTS("pair", step=step, held_out=held_out, accuracy=pair.accuracy[measurement], **guess, **best)


def attention_map(pair: Translation, measurement: int, block: int, head: int) -> Figure:
    """The weights (T, S) of a decoder block at one of the measurements; `head` counts from 1, 0 is the mean of all."""
    weights = np.asarray(pair.attention[measurement][block], float)
    source = [f"{place}: {symbol}" for place, symbol in enumerate(pair.source, start=1)]
    target = [f"{place}: {symbol}" for place, symbol in enumerate(pair.target, start=1)]
    axes: dict[str, Any] = {"tokens": source, "rows": target, "x": "source: position, symbol", "y": "written"}
    values = weights[head - 1] if head else weights.mean(0)
    return token_map(title="Cross-attention", values=values, unit="share", **axes)


def loss_chart(pair: Translation, task: str) -> Figure:
    """Training and held-out loss by step, and that of guessing."""
    training = np.asarray(pair.loss, float)[np.minimum(pair.steps, len(pair.loss) - 1)]
    lines = {"training": training, "held-out": pair.held_out}
    axes: dict[str, Any] = {"axis": "linear", "x": "step", "unit": "nats", "hue": LOSS}
    axes |= {"levels": guessing_level(task), "guides": (0.0, loss_of_guessing(task))}
    return line_chart("Loss of the pair", pair.steps.tolist(), lines, **axes)
