"""The KV cache: what it saves, and why it ends where the window slides."""

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure
from components.charts.colour import SIGNAL
from components.instruments.panel import InstrumentPanel
from components.labs.parts import draw_charts, draw_finding, line_chart
from components.labs.prompts import KEY, ReadText
from components.labs.prompts import TEXTS as SHARED
from components.shell.text import named_table
from exhibits.labs.autoregression.cache.answer import CACHED, Cached
from exhibits.labs.autoregression.cache.numbers import DecoderSize
from models.content import Texts
from models.insight.lens import visible_token
from models.insight.words import number
from models.spec import TASKS

TEXTS = Texts("labs/autoregression/cache")
MIN_TOKENS = 3  # for a measurement of the cache
MILLION = 10**6


def draw(panel: InstrumentPanel, read: ReadText) -> None:
    """Draws the cost of the next token after a text, and the error of the logits with a cache."""
    cfg, count = panel.cfg, read.tokens
    net = DecoderSize(cfg.depth, cfg.width, cfg.expansion * cfg.width, TASKS[cfg.task].classes)
    draw_charts(KEY, cost_chart(net, cfg.tokens))
    tokens = np.array(count)
    uncached, cached = int(net.uncached_cost(tokens)), int(net.cached_cost(tokens))
    cost = {"again": uncached, "kept": cached, "times": uncached / cached, "memory": net.cache_size(count)}
    draw_finding(TEXTS("cost of a token", token=count, width=net.width, depth=net.depth, **cost))
    if count < MIN_TOKENS:
        st.info(TEXTS("too short to keep", least=MIN_TOKENS))
        return
    answer = panel.ask(CACHED, text=read.text)
    if answer is None:
        return
    draw_finding(cache_sentence(answer.value), "measured")
    columns = {
        "token": list(map(visible_token, answer.value.tokens)),
        "largest difference": list(map(number, answer.value.difference)),
    }
    with st.expander("Token by token"):
        named_table("Logits with keys and values kept", columns)


def cache_sentence(value: Cached) -> str:
    """How equal the logits are with a cache, and how wrong they would be with it once the window slides."""
    largest = float(value.difference.max())
    if not np.isfinite([largest, value.slid]).all():
        return SHARED("revision not finite")
    return TEXTS("kept keys", most=largest, slid=value.slid)


def cost_chart(net: DecoderSize, window: int) -> Figure:
    """Millions of multiplications for the next token, by its position in the window."""
    positions = np.arange(1, window + 1)
    lines = {
        "read again": net.uncached_cost(positions) / MILLION,
        "keys and values kept": net.cached_cost(positions) / MILLION,
    }
    axes = {"x": "token", "unit": "million multiplications", "hue": SIGNAL}
    return line_chart("Cost of the next token", positions.tolist(), lines, ("other", "now"), **axes)
