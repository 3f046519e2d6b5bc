"""The autoregression lab: a small transformer trained here, which continues a prompt."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import COLUMNS, Chart, Reports
from components.charts import figures
from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs import several
from components.labs.page import draw_tabs
from components.labs.prompts import EXAMPLES, KEY, keep_prompt
from components.player.feed import text_json
from components.player.page import panels_below, player, playhead
from components.player.panels import is_language_model, text_panel
from components.player.view import as_sentence
from components.server.tickets import Playhead
from components.shell import session
from components.shell.text import badge
from components.shell.waiting import poll_while
from models.content import Texts
from models.insight.verdict import loss_sentence
from models.lessons.glossary import ARRANGEMENT
from models.service.recorded_text import NETS, configuration, recorded_text
from models.spec import ARRANGEMENTS, TASKS, RunConfig
from models.spec.budget import budget_refusal
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression/net")
LOSS_TITLE = "Loss of the transformer"


@dataclass(frozen=True)
class LabNet(Settings):
    example: Annotated[str, Knob("Example", choices=dict.fromkeys(EXAMPLES), width=416)] = next(iter(EXAMPLES))
    task: Annotated[str, Knob("Task of the net", choices=dict.fromkeys(NETS))] = next(iter(NETS))
    arrangement: Annotated[str, Knob("Arrangement", choices=ARRANGEMENTS, word=ARRANGEMENT)] = "pre-norm"


@dataclass(frozen=True)
class NetOfTask(Settings):
    depth: Annotated[int, Knob("Blocks", low=1, high=8, control="slider")] = 4
    steps: Annotated[int, Knob("Training steps", low=50, high=3000, step=50)] = 1000


@cache
def affordable(task: str) -> tuple[str, ...]:
    """The arrangements whose largest net here is within the budget."""
    most = {name: int(knob.high) for name, (_, knob) in NetOfTask.knobs().items()}
    return tuple(name for name in ARRANGEMENTS if budget_refusal(configuration(task, name, **most)) is None)


def draw() -> None:
    cfg = draw_controls()
    if cfg is not None:
        poll_while(KEY, lambda: draw_results(cfg))


def draw_controls() -> RunConfig | None:
    """Draws example, task and net. Returns the configuration, or None with an error on the page."""
    line = st.container(horizontal=True, vertical_alignment="bottom")
    example = EXAMPLES[form.draw(LabNet, KEY, only=["example"], places=[line], on_change=_load_example).example]
    with line.popover("The net", icon=":material/tune:"):
        defaults = LabNet(task=example.task)
        task = form.draw(LabNet, KEY, defaults, only=["task"]).task
        st.caption(as_sentence(TASKS[task].description))
        legal = {"arrangement": affordable(task)}
        arrangement = form.draw(LabNet, KEY, defaults, only=["arrangement"], legal=legal).arrangement
        size = form.draw(NetOfTask, KEY, NetOfTask(NETS[task].depth, NETS[task].steps), variant=task)
    keep_prompt(task, example)
    cfg = configuration(task, arrangement, size.depth, size.steps)
    refusal = budget_refusal(cfg)
    if refusal:
        st.error(refusal)
        return None
    return cfg


def draw_results(cfg: RunConfig) -> bool:
    """Draws the player, and the lab's parts at the step shown. Returns whether an answer is still to come."""
    position = _draw_player(cfg)
    parts = st.container()
    untrained = loss_sentence(None, 0, cfg.task)
    loss_chart = Chart(
        LOSS_TITLE,
        figure=figures.loss(cfg),
        sentence="loss",
        placeholder=untrained,
        explains_end=True,
        span=COLUMNS,
        height=200,
    )
    panels_below(KEY, "loss", [loss_chart])
    views, waiting = several.views_at_step([cfg], position)
    if not views:
        return waiting
    panel = InstrumentPanel(KEY, views[0], position)
    with parts:
        draw_tabs("autoregression", "net", panel)
    loss = float(views[0].trace.loss[views[0].row])
    if np.isfinite(loss):
        st.markdown(TEXTS("right token", step=views[0].row, p=np.exp(-loss), badge=badge("measured")))
    return waiting or panel.waiting


def _draw_player(cfg: RunConfig) -> Playhead:
    """Draws the player over the text that the model writes. Returns its playhead.

    The player reports to the page when a run starts to play, because the net then generates nothing, and when it rests.
    """
    reports: Reports = "rest" if playhead(KEY, [cfg]).playing else "follow"
    recorded = recorded_text()
    recorded_frame = None
    if recorded is not None and recorded.cfg == cfg:
        recorded_frame = {"step": recorded.frame.step, "picture": text_json(recorded.frame.picture)}
    return player(
        KEY,
        [cfg],
        [text_panel(recorded=recorded_frame)] if is_language_model(cfg) else [],
        reports=reports,
        scope=" the transformer",
    )


def _load_example() -> None:
    example = EXAMPLES[str(session.widget_value(f"{KEY}_example"))]
    form.put(KEY, task=example.task, temperature=example.temperature, length=example.length)
    form.put(KEY, variant=example.task, prompt=example.prompt, end=example.end)
