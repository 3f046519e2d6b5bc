"""An encoder and a decoder trained here, and where the cross-attention looks at each step."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import LOSS
from components.charts.depth import by_name, guessing_level, linear_profile
from components.charts.parts import Figure
from components.charts.tokens import token_map
from components.controls import form
from components.labs.long import by_button
from components.labs.parts import charts, say
from components.player.view import sentence
from components.shell.text import named_table
from components.shell.waiting import poll_while
from models import answers
from models.answers import Translation
from models.content import Texts
from models.insight.baseline import loss_of_guessing, name_of_guessing
from models.spec import TASKS, RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_translation"
ASKED = ("reverse", "sort", "copy")
SIZE: dict[str, object] = {"net": "transformer", "width": 64, "heads": 4, "batch": 32, "lr": 0.003, "warmup": 50}


@dataclass(frozen=True)
class TranslationPair(Settings):
    columns = (4, 1)

    task: Annotated[str, Knob("Task of the pair", choices=dict.fromkeys(ASKED), link="pair-task")] = ASKED[0]
    depth: Annotated[int, Knob("Blocks in each", low=1, high=3, link="pair-blocks", control="slider")] = 1
    steps: Annotated[int, Knob("Training steps", low=20, high=600, step=20, link="pair-steps")] = 240
    seed: Annotated[int, Knob("Seed", high=999, link="pair-seed")] = 0
    step: Annotated[int, Knob("Step", choices={}, link="at-step", control="steps")] = 0
    block: Annotated[int, Knob("Block of the decoder", choices={}, link="pair-block")] = 1
    head: Annotated[str, Knob("Head of cross-attention", choices={}, link="pair-head")] = "mean of the heads"


def draw() -> None:
    st.markdown(TEXTS("encoder and decoder"))
    pair = form.draw(TranslationPair, KEY, only=["task", "depth", "steps", "seed"])
    st.caption(sentence(TASKS[pair.task].reading))
    cfg = configuration(pair.task, pair.depth, pair.steps, pair.seed)
    label = f"Train the pair for {cfg.steps} steps"
    show = partial(_show, cfg)
    poll_while(KEY, lambda: by_button(KEY, answers.TRANSLATION, cfg, show, label=label, doing="Training"))


def configuration(task: str, depth: int, steps: int, seed: int = 0) -> RunConfig:
    return replace(RunConfig.arranged("pre-norm", **SIZE | {"task": task, "depth": depth, "steps": steps}), seed=seed)


def _show(cfg: RunConfig, pair: Translation) -> None:
    steps = [int(step) for step in pair.steps]
    names = ["mean of the heads", *(f"head {head + 1}" for head in range(pair.looks.shape[2]))]
    usual = TranslationPair(step=steps[-1], block=cfg.depth)
    legal: dict[str, Any] = {"step": steps, "block": range(1, cfg.depth + 1), "head": names}
    at = steps.index(form.draw(TranslationPair, KEY, usual, only=["step"], legal=legal).step)
    say(pair_sentence(pair, at, cfg.task), "measured")
    head_at, block_at = st.columns(2)
    if cfg.depth > 1:
        form.draw(TranslationPair, KEY, usual, only=["block"], legal=legal, places=[block_at])
    shown = form.draw(TranslationPair, KEY, usual, only=["head"], legal=legal, places=[head_at])
    block = shown.block if cfg.depth > 1 else 1
    charts(KEY, looks_map(pair, at, block - 1, names.index(shown.head)), loss_chart(pair, cfg.task), height=420)
    symbols = {"symbol read": pair.source, "to be written": pair.target, "written": pair.said[at]}
    places = {"position": [str(place + 1) for place in range(len(pair.target))]}
    named_table("What it writes", places | {name: [str(symbol) for symbol in row] for name, row in symbols.items()})
    st.caption(TEXTS("what the pair writes", parameters=pair.parameters))


def pair_sentence(pair: Translation, at: int, task: str) -> str:
    """What the pair can do at a step, and how much cross-attention falls on the symbol to be written."""
    aim, step, held_out = pair.aim[at], int(pair.steps[at]), float(pair.held_out[at])
    if not np.isfinite(held_out):
        return TEXTS("pair not finite", step=step)
    block, head = np.unravel_index(int(aim.argmax()), aim.shape)
    guess = {"guess": loss_of_guessing(task), "guesser": name_of_guessing(task)}
    best = {"block": block + 1, "head": head + 1, "aim": aim.max(), "even": pair.even}
    return TEXTS("pair", step=step, held_out=held_out, accuracy=pair.accuracy[at], **guess, **best)


def looks_map(pair: Translation, at: int, block: int, head: int) -> Figure:
    """The weights (T, S) of a decoder block at a look, of one attention head (from 1) or the mean of all (0)."""
    weights = np.asarray(pair.looks[at][block], float)
    source, target = (
        [f"{place}: {symbol}" for place, symbol in enumerate(row, start=1)] for row in (pair.source, pair.target)
    )
    names: dict[str, Any] = {"tokens": source, "rows": target, "x": "source: position, symbol", "y": "written"}
    values = weights[head - 1] if head else weights.mean(0)
    return token_map(title="Cross-attention", values=values, unit="share", **names)


def loss_chart(pair: Translation, task: str) -> Figure:
    losses = np.asarray(pair.loss, float)[np.minimum(pair.steps, len(pair.loss) - 1)]
    series = by_name({"training": losses, "held-out": pair.held_out}, ("now", "other"))
    how: dict[str, Any] = {"levels": guessing_level(task), "guides": (0.0, loss_of_guessing(task)), "series": series}
    sites = pair.steps.tolist()
    return linear_profile(title="Loss of the pair", x="step", sites=sites, unit="nats", hue=LOSS, **how)
