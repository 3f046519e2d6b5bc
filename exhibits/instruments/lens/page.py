"""Attention and lens: where attention heads look, what the output head reads at every site, and what comes next."""

from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import streamlit as st

from components.charts.lens import PROMPTS, distance_chart, lens_map, lens_rows
from components.charts.tokens import candidates_chart, token_map
from components.instruments.panel import InstrumentPanel, Measured
from components.shell import session
from components.shell.session import Key
from models import answers
from models.answers import Lens
from models.content import Texts
from models.insight.lens import (
    SAMPLING_SEED,
    attention_sentence,
    lens_sentence,
    next_class,
    visible_token,
    with_temperature,
)
from models.spec import TASKS, RunConfig, plan
from models.spec.vocabulary import MANY_STREAMS

WORDS = Texts("instruments/lens")

MAX_TEXT_CHARS = 500
SITE_HEIGHT = 18  # pixels of a site in the map of the lens

# The net that has continued a text, the text with the new tokens, and a table row for each of them.
LENS_WRITTEN: Key[tuple[RunConfig | None, str, list[dict[str, Any]]]] = Key("{}_tokens", (None, "", []))


def draw(panel: InstrumentPanel) -> None:
    measured = _ask(panel)
    if measured is None:
        return
    value, cfg = measured.value, measured.cfg
    position, head = _choose_position_and_head(panel, value)
    _draw_attention(panel, measured, position, head)
    attention_text = attention_sentence(value.tokens, value.attention[:, position], measured.args["block"])
    panel.write(f"{lens_sentence(value, plan(cfg).sites, position)} {attention_text}")
    for caution in _cautions(measured, position):
        st.caption(caution)
    _draw_lens(panel, measured, position)
    likeliest, continuation = st.columns(2)
    with likeliest:
        panel.chart(candidates_chart("Likeliest next", value.classes, value.probabilities[position]))
    with continuation:
        if cfg.task in PROMPTS and cfg.task == panel.cfg.task:
            _draw_continuation(panel, measured)


def _ask(panel: InstrumentPanel) -> Measured[Lens] | None:
    """Asks about the block, and the text or sample, that the visitor chooses."""
    cfg = panel.cfg
    text_column, block_column = st.columns([3, 1])
    with block_column:
        block = panel.choose("Attention of block", range(1, cfg.depth + 1))
    with text_column:
        if cfg.task not in PROMPTS:
            sample = st.number_input("Held-out sample", 0, value=0, step=1, key=panel.key("sample"))
            return panel.ask(answers.LENS, sample=int(sample), block=block)
        is_text = TASKS[cfg.task].kind == "text"
        key = _text_key(panel)
        session.set_initial(key, PROMPTS[cfg.task])
        ways = "characters, ↵ for a new line" if is_text else "symbols as numbers with spaces between"
        text = st.text_input(
            WORDS("text", tokens=cfg.tokens, ways=ways), key=key, max_chars=MAX_TEXT_CHARS, persist_state="session"
        )
    return panel.ask(answers.LENS, text=text.replace("↵", "\n"), block=block)


def _text_key(panel: InstrumentPanel) -> str:
    return panel.key(f"text {panel.cfg.task}")


def _choose_position_and_head(panel: InstrumentPanel, value: Lens) -> tuple[int, int]:
    """Draws the choice of position, at first the last, and of attention head. Returns both, counted from 0."""
    tokens, heads = value.tokens, len(value.attention)
    left, right = st.columns(2)
    position = left.selectbox(
        "Position",
        range(len(tokens)),
        index=len(tokens) - 1,
        format_func=lambda index: f"{index + 1}: {visible_token(tokens[index])}",
        key=panel.key(f"position of {len(tokens)}"),
    )
    head = right.selectbox(
        "Head", range(max(1, heads)), format_func=lambda index: f"head {index + 1}", key=panel.key(f"head of {heads}")
    )
    return int(position), int(head)


def _cautions(measured: Measured[Lens], position: int) -> list[str]:
    """Limits of the numbers in this configuration, at this position."""
    cfg, value = measured.cfg, measured.value
    cautions = []
    if cfg.task not in PROMPTS:
        cautions.append(WORDS("sample", sample=measured.args["sample"], last=value.samples - 1))
    if not value.has_loss[position]:
        cautions.append(WORDS("no loss here"))
    if cfg.mask == "none" and len(value.tokens) > 1:
        cautions.append(WORDS("no mask"))
    if value.batch_norm:
        cautions.append(WORDS("batch norm"))
    if cfg.stack == "residual":
        cautions.append(WORDS("residual stack"))
    if cfg.stack in MANY_STREAMS:
        cautions.append(WORDS("many streams"))
    if cfg.stack == "attention residuals":
        cautions.append(WORDS("attention residuals"))
    if cfg.stack == "dlcl":
        cautions.append(WORDS("dlcl stack"))
    return cautions


def _draw_attention(panel: InstrumentPanel, measured: Measured[Lens], position: int, head: int) -> None:
    """Draws the map of one attention head, and all heads at the position."""
    value = measured.value
    if not len(value.attention):
        return
    weights = value.attention
    tokens = [visible_token(token) for token in value.tokens]
    count = len(tokens)
    block = f"block {measured.args['block']}"
    later = np.triu(np.ones((count, count), bool), 1) & (measured.cfg.mask == "causal")
    heads = [f"head {index + 1}" for index in range(len(weights))]
    panel.row(
        token_map(
            title=f"Attention of {block}, head {head + 1}",
            tokens=tokens,
            rows=tokens,
            values=weights[head],
            unit="share",
            y="query token",
            hidden=later,
        ),
        token_map(
            title=f"Attention of {block} at token {position + 1}",
            tokens=tokens,
            rows=heads,
            values=weights[:, position],
            unit="share",
            hidden=np.repeat(later[position][None], len(heads), 0),
        ),
        height=340,
    )


def _draw_lens(panel: InstrumentPanel, measured: Measured[Lens], position: int) -> None:
    """Draws the likeliest class at every site and token, and in an expander the sites of one position."""
    value, sites = measured.value, plan(measured.cfg).sites
    height = max(240, min(560, SITE_HEIGHT * len(sites) + 90))
    panel.chart(lens_map("Lens by site and token", sites, value, position), height=height)
    with st.expander(f"Token {position + 1}, site by site", key=panel.key("sites")):
        distance, rows = st.columns(2)
        with distance:
            panel.chart(distance_chart(sites, value, position))
        with rows:
            st.dataframe(
                lens_rows(sites, value, position), hide_index=True, height=280, alt="Lens at the position, table"
            )


def _draw_continuation(panel: InstrumentPanel, measured: Measured[Lens]) -> None:
    """Draws a button that appends the next token, and the tokens so far."""
    value = measured.value
    key = _text_key(panel)
    written = LENS_WRITTEN.of(panel.key("written"))
    text, count, probabilities = measured.args["text"], len(value.tokens), value.probabilities[-1]
    temperature = st.number_input("Temperature (0: the likeliest)", 0.0, 5.0, 0.0, 0.1, key=panel.key("temperature"))
    obstacle = _obstacle(value)
    written_cfg, written_text, entries = written.get()
    if (written_cfg, written_text) != (measured.cfg, text):
        entries = []

    def append() -> None:
        token = next_class(probabilities, temperature, count)
        name = value.classes[token]
        longer_text = text + name if TASKS[measured.cfg.task].kind == "text" else f"{text.strip()} {name}"
        session.set_widget(key, longer_text.replace("\n", "↵"))
        entry = {
            "token": visible_token(name),
            "probability": float(probabilities[token]),
            "at the temperature": float(with_temperature(probabilities, temperature)[token]),
            "step of the net": measured.step,
        }
        written.put((measured.cfg, longer_text, [*entries, entry]))

    is_measured = session.widget_value(key).replace("↵", "\n") == text
    blocked = bool(obstacle) or not is_measured
    st.button("Next", key=panel.key("next"), icon=":material/keyboard_tab:", on_click=append, disabled=blocked)
    st.caption(obstacle or WORDS("drawn", seed=SAMPLING_SEED))
    if entries:
        for step, step_entries in groupby(entries, key=itemgetter("step of the net")):
            tokens = " · ".join(f"`{entry['token']}` {entry['probability']:.1%}" for entry in step_entries)
            st.markdown(f"Written at step {step}: {tokens}")
        panel.table("Tokens written", **{column: [entry[column] for entry in entries] for column in entries[0]})


def _obstacle(value: Lens) -> str:
    """Why the net cannot continue its text; empty if it can."""
    if len(value.tokens) >= value.limit:
        return WORDS("full", tokens=value.limit)
    if not value.has_loss[-1]:
        return WORDS("not asked")
    if not np.isfinite(value.probabilities[-1]).all():
        return WORDS("not finite")
    return ""
