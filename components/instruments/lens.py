"""Attention and lens: where attention heads look, what the output head would say at every site, and what comes next."""

from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure, places, site_word
from components.charts.tokens import candidates_chart, token_map
from components.instruments.panel import Instrument, InstrumentPanel, Measured
from components.player.view import View
from components.shell import session
from components.shell.session import Key
from models import answers
from models.answers import Lens
from models.content import Texts
from models.insight.lens import SEED, attention_sentence, lens_sentence, next_class, shown, tempered
from models.insight.words import number
from models.spec import TASKS, RunConfig, plan

WORDS = Texts("instruments/lens")

# The start of the book, or the 16 symbols of a task; `recall` ends with the first key that is asked for.
PROMPTS = {
    "book": "Call me Ish",
    "recall": "3 17 1 20 4 30 5 25 9 16 2 22 6 28 8 19 5",
    **dict.fromkeys(("copy", "reverse", "sort", "successor"), "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3"),
}
LONGEST = 500  # characters of a text
ROW = 18  # pixels: the height of a site in the map of the lens
MAX_LABELS = 20  # beside it

# A net with a text that it continued, and the new tokens.
LENS_WRITTEN: Key[tuple[RunConfig | None, str, list[dict[str, Any]]]] = Key("{}_tokens", (None, "", []))


def draw(panel: InstrumentPanel) -> None:
    measured = _asked(panel)
    if measured is None:
        return
    value, cfg = measured.value, measured.cfg
    position, head = _looked_at(panel, value)
    _attention(panel, measured, position, head)
    looks = attention_sentence(value.tokens, value.attention[:, position], measured.args["block"])
    panel.say(f"{lens_sentence(value, plan(cfg).sites, position)} {looks}")
    for note in notes(measured, position):
        st.caption(note)
    _lens(panel, measured, position)
    likeliest, going_on = st.columns(2)
    with likeliest:
        panel.chart(candidates_chart("Likeliest next", value.classes, value.probabilities[position]))
    with going_on:
        if cfg.task in PROMPTS and cfg.task == panel.cfg.task:
            _go_on(panel, measured)


def _asked(panel: InstrumentPanel) -> Measured[Lens] | None:
    """Asks about the text or sample, and the block, that the visitor chose."""
    cfg = panel.cfg
    what, where = st.columns([3, 1])
    with where:
        block = panel.choose("Attention of block", range(1, cfg.depth + 1))
    with what:
        if cfg.task not in PROMPTS:
            sample = st.number_input("Held-out sample", 0, value=0, step=1, key=panel.key("sample"))
            return panel.ask(answers.LENS, sample=int(sample), block=block)
        characters = TASKS[cfg.task].kind == "text"
        key = _text_key(panel)
        session.begin(key, PROMPTS[cfg.task])
        ways = "characters, ↵ for a new line" if characters else "symbols as numbers with spaces between"
        typed = st.text_input(WORDS("text", tokens=cfg.tokens, ways=ways), key=key, max_chars=LONGEST)
    return panel.ask(answers.LENS, text=typed.replace("↵", "\n"), block=block)


def _text_key(panel: InstrumentPanel) -> str:
    return panel.key(f"text {panel.cfg.task}")


def _looked_at(panel: InstrumentPanel, value: Lens) -> tuple[int, int]:
    """The position and the attention head that the visitor chose; at first the last position of a text."""
    tokens, heads = value.tokens, len(value.attention)
    left, right = st.columns(2)
    position = left.selectbox(
        "Position",
        range(len(tokens)),
        index=len(tokens) - 1,
        format_func=lambda at: f"{at + 1}: {shown(tokens[at])}",
        key=panel.key(f"position of {len(tokens)}"),
    )
    head = right.selectbox(
        "Head", range(max(1, heads)), format_func=lambda at: f"head {at + 1}", key=panel.key(f"head of {heads}")
    )
    return int(position), int(head)


def notes(measured: Measured[Lens], position: int) -> list[str]:
    """What a reader must know about the numbers of this configuration and position."""
    cfg, value = measured.cfg, measured.value
    lines = []
    if cfg.task not in PROMPTS:
        lines.append(WORDS("sample", sample=measured.args["sample"], last=value.samples - 1))
    if not value.asked[position]:
        lines.append(WORDS("no loss here"))
    if cfg.mask == "none" and len(value.tokens) > 1:
        lines.append(WORDS("no mask"))
    if value.batch_norm:
        lines.append(WORDS("batch norm"))
    if cfg.stack == "residual":
        lines.append(WORDS("residual stack"))
    if cfg.stack == "dlcl":
        lines.append(WORDS("dlcl stack"))
    return lines


def _attention(panel: InstrumentPanel, measured: Measured[Lens], position: int, head: int) -> None:
    """Draws the map of one attention head, and all heads at the position."""
    value = measured.value
    if not len(value.attention):
        return
    tokens, weights = [shown(token) for token in value.tokens], value.attention
    count, block = len(tokens), f"block {measured.args['block']}"
    later = np.triu(np.ones((count, count), bool), 1) & (measured.cfg.mask == "causal")
    heads = [f"head {at + 1}" for at in range(len(weights))]
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


def _lens(panel: InstrumentPanel, measured: Measured[Lens], position: int) -> None:
    """Draws the likeliest class at every site and token, and at the position how it comes about."""
    value, sites = measured.value, plan(measured.cfg).sites
    height = max(240, min(560, ROW * len(sites) + 90))
    panel.chart(lens_map("Lens by site and token", sites, value, position), height=height)
    with st.expander(f"Token {position + 1}, site by site", key=panel.key("sites")):
        distance, rows = st.columns(2)
        with distance:
            panel.chart(distance_chart(sites, value, position))
        with rows:
            st.dataframe(
                lens_rows(sites, value, position), hide_index=True, height=280, alt="Lens at the position, table"
            )


def lens_map(title: str, sites: tuple[str, ...], value: Lens, position: int) -> Figure:
    """The likeliest class at every site and token, shaded by its probability, bold where it is that of the end."""
    top, names = value.top, [shown(name) for name in value.classes]
    texts = [[_class(names, best, last) for best, last in zip(row, top[-1], strict=True)] for row in top]
    return token_map(
        title=title,
        tokens=[shown(token) for token in value.tokens],
        rows=row_labels(sites),
        y="block",
        values=value.chance,
        unit="probability",
        x="token read",
        texts=texts,
        hidden=np.repeat(~value.read[:, None], top.shape[1], 1),
        marked=position + 1,
    )


def row_labels(sites: tuple[str, ...]) -> list[str]:
    """The labels of rows beside a map: the input and blocks, each after its last sublayer, of many only some."""
    labels = places(sites)["labels"]
    every = max(1, -(-len(set(labels)) // MAX_LABELS))
    return [
        label if label != after and (not label.isdigit() or int(label) % every == 0) else ""
        for label, after in zip(labels, (*labels[1:], ""), strict=True)
    ]


def _class(names: list[str], top: int, last: int) -> str:
    name = names[top] if top >= 0 else ""
    return f"<b>{name}</b>" if name and top == last else name


def distance_chart(sites: tuple[str, ...], value: Lens, position: int) -> Figure:
    """KL(end || site) in nats by site, at the sites that are read."""
    read = value.read
    names = tuple(site for site, there in zip(sites, read, strict=True) if there)
    series = [Series("KL to the end", value.kl[read, position])]
    return depth_profile(title="Distance from the end by site", unit="KL, nats", hue=SIGNAL, sites=names, series=series)


def lens_rows(sites: tuple[str, ...], value: Lens, position: int) -> pd.DataFrame:
    """A row for every site that is read: its likeliest class, and how it compares with the end."""
    top, names = value.top[:, position], value.classes
    return pd.DataFrame(
        [
            {
                "site": site_word(sites[at]),
                "says": "not finite" if top[at] < 0 else shown(names[top[at]]),
                "probability": number(value.chance[at, position]),
                "of the final answer": number(value.final_chance[at, position]),
                "KL, nats": number(value.kl[at, position]),
                "agrees": "yes" if top[at] == top[-1] >= 0 else "no",
            }
            for at in np.flatnonzero(value.read)
        ]
    )


def _go_on(panel: InstrumentPanel, measured: Measured[Lens]) -> None:
    """Continues the text, one token at a press."""
    value = measured.value
    key, written_key = _text_key(panel), panel.key("written")
    text, count, p = measured.args["text"], len(value.tokens), value.probabilities[-1]
    temperature = st.number_input("Temperature (0: the likeliest)", 0.0, 5.0, 0.0, 0.1, key=panel.key("temperature"))
    answered = session.widget_value(key).replace("↵", "\n") == text
    why_not = ""
    if count >= value.limit:
        why_not = WORDS("full", tokens=value.limit)
    elif not value.asked[-1]:
        why_not = WORDS("not asked")
    elif not np.isfinite(p).all():
        why_not = WORDS("not finite")
    written = LENS_WRITTEN.of(written_key).get()
    done = written[2] if written[:2] == (measured.cfg, text) else []

    def append() -> None:
        at = next_class(p, temperature, count)
        name = value.classes[at]
        longer = text + name if TASKS[measured.cfg.task].kind == "text" else f"{text.strip()} {name}"
        session.set_widget(key, longer.replace("\n", "↵"))
        entry = {
            "token": shown(name),
            "probability": float(p[at]),
            "at the temperature": float(tempered(p, temperature)[at]),
            "step of the net": measured.step,
        }
        LENS_WRITTEN.of(written_key).put((measured.cfg, longer, [*done, entry]))

    blocked = bool(why_not) or not answered
    st.button("Next", key=panel.key("next"), icon=":material/keyboard_tab:", on_click=append, disabled=blocked)
    st.caption(why_not or WORDS("drawn", seed=SEED))
    if done:
        for step, own in groupby(done, key=itemgetter("step of the net")):
            tokens = " · ".join(f"`{one['token']}` {one['probability']:.1%}" for one in own)
            st.markdown(f"Written at step {step}: {tokens}")
        panel.table("Tokens written", **{column: [one[column] for one in done] for column in done[0]})


def _unfit(view: View) -> str:
    return "" if view.cfg.net == "transformer" else WORDS("no attention")


LENS = Instrument(draw, WORDS, "measured", _unfit)
