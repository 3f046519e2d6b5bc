"""Several heads on the tables of one: a map each, and what each writes into the stream."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import figure_of, frame_of
from components.charts.colour import GREY, SIGNAL
from components.charts.parts import Figure
from components.charts.tokens import token_map
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered
from components.labs.parts import charts, say
from components.shell.text import named_table, vector
from models.content import Texts
from models.labs.attention import Head, Matrices, heads, writes
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_heads"
COUNTS = (2, 4)
PATTERNS = ("", "/", ".", "x")  # of the heads' bars
MAX_WRITTEN_TOKENS = 6  # up to which the maps' cells show their weights
W_O_SEED = 5


@dataclass(frozen=True)
class SeveralHeads(Settings):
    """How many heads, and which are switched off, by index from 0."""

    columns = (2,)

    count: Annotated[int, Knob("Heads", choices=dict.fromkeys(COUNTS), link="heads-that-write", control="segments")] = 2
    off: Annotated[tuple[int, ...], Knob("Switch off", choices={}, many=True, link="heads-off")] = ()


def draw(head: Head, at: int, x: np.ndarray, matrices: Matrices) -> None:
    """Several heads on the tables of the single one, x (n, d) and its matrices: a map and what each writes at a token.

    `at`: the token, from 0.
    """
    d_k, d_v = head.k.shape[1], head.v.shape[1]
    fitting = [count for count in COUNTS if d_k % count == d_v % count == 0]
    if not fitting:
        st.info(TEXTS("too narrow for heads", d_k=d_k, d_v=d_v))
        return
    left, right = st.columns(2)
    count = form.draw(SeveralHeads, KEY, only=["count"], legal={"count": fitting}, places=[left]).count
    names = numbered("head", count)
    off = form.draw(SeveralHeads, KEY, only=["off"], legal={"off": dict(enumerate(names))}, places=[right]).off
    parts = heads(x, *matrices, count, seen=head.seen, scaled=head.divisor != 1)
    maps = (head_map(part, name, off=at in off) for at, (part, name) in enumerate(zip(parts, names, strict=True)))
    charts(KEY, *maps, height=240)
    picture, beside = st.columns([3, 2], gap="medium")
    with beside:
        st.markdown(f"**W_O** ({d_v}, {x.shape[1]})")
        rows = [f"{name}, v{entry + 1}" for name in names for entry in range(d_v // count)]
        w_o = table.table(f"{KEY}_wo", first_w_o(d_v, x.shape[1]), name="wo", rows=rows)
    if w_o.shape != (d_v, x.shape[1]):
        st.error(TEXTS("output matrix does not fit", rows=d_v, columns=x.shape[1], given=w_o.shape))
        return
    written = writes(parts, w_o)[:, at]
    with picture:
        charts(KEY, writes_chart(written, off), height=320)
        say(writes_sentence(written, off, at))
    with beside:
        called = [f"{name}{', off' * (at in off)}" for at, name in enumerate(names)]
        shown = {"writes into the stream": [*called, "all"], "features": list(map(vector, [*written, written.sum(0)]))}
        named_table("What each head writes", shown)


def first_w_o(d_v: int, d: int) -> np.ndarray:
    """A matrix (d_v, d) of random numbers with one decimal."""
    return np.random.default_rng(W_O_SEED).standard_normal((d_v, d)).round(1)


def head_map(head: Head, name: str, *, off: bool = False) -> Figure:
    """The weights of one of the heads, masked cells empty; of one that is off, all."""
    tokens = [str(token + 1) for token in range(len(head.q))]
    texts = np.where(head.seen, np.char.mod("%.2f", head.weights), "").tolist()
    how: dict[str, Any] = {"tokens": tokens, "rows": tokens, "y": "query token", "unit": "share"}
    how |= {"hidden": np.ones_like(head.seen) if off else ~head.seen}
    how |= {"texts": texts} if len(tokens) <= MAX_WRITTEN_TOKENS else {}
    return token_map(title=f"{name.capitalize()}{', off' * off}", values=head.weights, **how)


def writes_chart(written: np.ndarray, off: Sequence[int]) -> Figure:
    """What the heads that are on write (h, d), stacked by feature, and as points what all heads write."""
    features = numbered("feature", written.shape[1])
    layout = frame_of("Written into the stream", x="", y="added", hue=SIGNAL)
    layout["barmode"] = "relative"
    layout["yaxis"] |= {"zeroline": True}
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": f"head {at + 1}",
            "x": features,
            "y": row.tolist(),
            "hue": SIGNAL,
            "shade": at,
            "marker": {"pattern": {"shape": PATTERNS[at]}},
            "hovertemplate": "%{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
        }
        for at, row in enumerate(written)
        if at not in off
    ]
    whole = {
        "type": "scatter",
        "name": "all heads together",
        "x": features,
        "y": written.sum(0).tolist(),
        "mode": "markers",
        "hue": GREY,
        "marker": {"symbol": "diamond", "size": 11},
        "hovertemplate": "%{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
    }
    return figure_of([*bars, whole], layout)


def writes_sentence(written: np.ndarray, off: Sequence[int], at: int) -> str:
    """That the writes (h, d) add up, or what the stream of token `at` loses with some heads off."""
    whole, lost = written.sum(0), written[sorted(off)].sum(0)
    if not off:
        return TEXTS("heads add up", token=at + 1, count=len(written), whole=whole)
    names = ", ".join(str(head + 1) for head in sorted(off))
    return TEXTS("heads off", names=names, token=at + 1, lost=lost, left=whole - lost)
