"""Several heads on the tables of a single one: a map each, and what each writes into the stream."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import figure_of, layout_of
from components.charts.colour import GREY, SIGNAL
from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_choices, numbered_names
from components.labs.parts import draw_charts, draw_finding
from components.labs.weights import weights_map
from components.shell.text import named_table, vector
from exhibits.labs.attention.heads.numbers import head_contributions
from models.content import Texts
from models.labs.attention import Head, Matrices, heads
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/heads")
KEY = "attention_heads"
HEAD_COUNTS = (2, 4)
BAR_PATTERNS = ("", "/", ".", "x")  # by head
MAX_WRITTEN_TOKENS = 6  # the cells of a map of more tokens show no weights
W_O_SEED = 5


@dataclass(frozen=True)
class SeveralHeads(Settings):
    columns = (2,)

    count: Annotated[
        int, Knob("Heads", choices=dict.fromkeys(HEAD_COUNTS), link="heads-that-write", control="segments")
    ] = 2
    off: Annotated[tuple[int, ...], Knob("Switch off", choices={}, multiple=True, link="heads-off")] = ()


def draw(head: Head, token: int, x: np.ndarray, matrices: Matrices) -> None:
    """Draws the map of each of several heads on x (n, d), and what each head writes at a token.

    The heads share the columns of the single head's `matrices` among them.
    """
    d_k, d_v = head.k.shape[1], head.v.shape[1]
    fitting = [count for count in HEAD_COUNTS if d_k % count == d_v % count == 0]
    if not fitting:
        st.info(TEXTS("too narrow for heads", d_k=d_k, d_v=d_v))
        return
    left, right = st.columns(2)
    count = form.draw(SeveralHeads, KEY, only=["count"], legal={"count": fitting}, places=[left]).count
    names = numbered_choices("head", count)
    off = form.draw(SeveralHeads, KEY, only=["off"], legal={"off": names}, places=[right]).off
    titles = [f"{name}, off" if i in off else name for i, name in names.items()]
    parts = heads(x, *matrices, count, mask=head.mask, scaled=head.divisor != 1)
    tokens = [str(i + 1) for i in range(len(x))]
    maps = [
        weights_map(part, title.capitalize(), tokens, max_written=MAX_WRITTEN_TOKENS, off=i in off)
        for i, (part, title) in enumerate(zip(parts, titles, strict=True))
    ]
    draw_charts(KEY, *maps, height=240)
    chart_column, table_column = st.columns([3, 2], gap="medium")
    with table_column:
        st.markdown(f"**W_O** ({d_v}, {x.shape[1]})")
        rows = [f"{name}, v{entry + 1}" for name in names.values() for entry in range(d_v // count)]
        w_o = table.draw_table(f"{KEY}_wo", first_w_o(d_v, x.shape[1]), name="wo", rows=rows)
    if w_o.shape != (d_v, x.shape[1]):
        st.error(TEXTS("output matrix does not fit", rows=d_v, columns=x.shape[1], given=w_o.shape))
        return
    written = head_contributions(parts, w_o)[:, token]
    with chart_column:
        draw_charts(KEY, writes_chart(written, off), height=320)
        draw_finding(writes_sentence(written, off, token))
    with table_column:
        features = list(map(vector, [*written, written.sum(0)]))
        named_table("What each head writes", {"writes into the stream": [*titles, "all"], "features": features})


def first_w_o(d_v: int, d: int) -> np.ndarray:
    """The initial W_O (d_v, d): random numbers with one decimal."""
    return np.random.default_rng(W_O_SEED).standard_normal((d_v, d)).round(1)


def writes_sentence(written: np.ndarray, off: Sequence[int], token: int) -> str:
    """The sum of the heads' outputs (h, d) at the token, or what it loses without the heads that are `off`."""
    total = written.sum(0)
    if not off:
        return TEXTS("heads add up", token=token + 1, count=len(written), whole=total)
    from_off_heads = written[sorted(off)].sum(0)
    names = ", ".join(str(head + 1) for head in sorted(off))
    return TEXTS("heads off", names=names, token=token + 1, lost=from_off_heads, left=total - from_off_heads)


def writes_chart(written: np.ndarray, off: Sequence[int]) -> Figure:
    """The outputs (h, d) of the heads that are on, stacked by feature, and the sum over all heads as points."""
    features = numbered_names("feature", written.shape[1])
    layout = layout_of("Written into the stream", x="", y="added", hue=SIGNAL)
    layout["barmode"] = "relative"
    layout["yaxis"] |= {"zeroline": True}
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": f"head {i + 1}",
            "x": features,
            "y": row.tolist(),
            "hue": SIGNAL,
            "shade": i,
            "marker": {"pattern": {"shape": BAR_PATTERNS[i]}},
            "hovertemplate": "%{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
        }
        for i, row in enumerate(written)
        if i not in off
    ]
    total = {
        "type": "scatter",
        "name": "all heads together",
        "x": features,
        "y": written.sum(0).tolist(),
        "mode": "markers",
        "hue": GREY,
        "marker": {"symbol": "diamond", "size": 11},
        "hovertemplate": "%{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
    }
    return figure_of([*bars, total], layout)
