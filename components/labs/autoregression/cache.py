"""What keeping keys and values saves, and why it ends where the window slides."""

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure
from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.instruments.panel import InstrumentPanel
from components.labs.autoregression.text import KEY
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import named_table
from models import answers
from models.answers import Cached
from models.content import Texts
from models.insight.lens import shown
from models.insight.words import number
from models.labs.cache import DecoderSize
from models.spec import TASKS, RunConfig

TEXTS = Texts("labs/autoregression")
MIN_TOKENS = 3
PER = 10**6


def draw(panel: InstrumentPanel, text: str, count: int) -> None:
    net = size_of(panel.cfg)
    draw_charts(KEY, cost_chart(net, panel.cfg.tokens))
    tokens = np.array(count)
    again, kept = int(net.again(tokens)), int(net.kept(tokens))
    cost = {"again": again, "kept": kept, "times": again / kept, "memory": net.memory(count), "depth": net.depth}
    draw_finding(TEXTS("cost of a token", token=count, width=net.width, **cost))
    if count < MIN_TOKENS:
        st.info(TEXTS("too short to keep", least=MIN_TOKENS))
    elif (answer := panel.ask(answers.CACHED, text=text)) is not None:
        draw_finding(cached_sentence(answer.value), "measured")
        difference = answer.value.difference
        rows = {"token": list(map(shown, answer.value.tokens)), "largest difference": [*map(number, difference)]}
        with st.expander("Token by token"):
            named_table("Logits with keys and values kept", rows)


def size_of(cfg: RunConfig) -> DecoderSize:
    return DecoderSize(cfg.depth, cfg.width, cfg.expansion * cfg.width, TASKS[cfg.task].classes)


def cached_sentence(value: Cached) -> str:
    """That the logits are the same, and how wrong they would be with the kept keys once the window slides."""
    most = float(value.difference.max())
    if not np.isfinite([most, value.slid]).all():
        return TEXTS("revision not finite")
    return TEXTS("kept keys", most=most, slid=value.slid)


def cost_chart(net: DecoderSize, window: int) -> Figure:
    """Millions of multiplications for the next token, by its place in the window."""
    places = np.arange(1, window + 1)
    series = [
        Series("read again", net.again(places) / PER, "other"),
        Series("keys and values kept", net.kept(places) / PER),
    ]
    title, unit = "Cost of the next token", "million multiplications"
    return depth_profile(title=title, x="token", sites=places.tolist(), unit=unit, hue=SIGNAL, series=series)
