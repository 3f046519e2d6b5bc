"""One attention head on editable tables: Q, K and V, scores, scaling, masks, softmax, weighted sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.charts.parts import Figure
from components.charts.tokens import token_map
from components.controls import form
from components.controls import number_table as table
from components.labs.attention import head_learning, heads, two_layers
from components.labs.examples import choose, numbered
from components.labs.parts import charts, matrix, say
from components.shell.session import Key
from components.shell.text import badge, named_table, number, vector
from models.content import Texts
from models.labs.attention import Head, attend, entropy, straightness, variance, visible
from models.labs.attention_examples import PRINTED_Q, PROJECTIONS, ROWS, Projection
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_head"
CLOSER = {
    "Multi-head attention": heads.draw,
    "Two layers": two_layers.draw,
    "How the matrices learn": head_learning.draw,
    "Dot product or cosine": head_learning.draw_cosine,
}
PARTS = {"x": "X, the tokens", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V"}
GIVEN = {"w_q": "Q", "w_k": "K", "w_v": "V"}  # in place of X and the matrices
MAX_TOKENS = 32
MAX_TERMS = 6  # of a sum that is written out
MAX_WRITTEN_TOKENS = 8  # up to which the map's cells show their weights

Tables = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
HEAD_FITTING: Key[Tables | None] = Key("attention_head_fitting", None)  # the last tables of matching shapes
GIVEN_FITTING: Key[Tables | None] = Key("attention_head_given_fitting", None)


@dataclass(frozen=True)
class ShownHead(Settings):
    given: Annotated[bool, Knob("Q, K and V given")] = False
    token: Annotated[int, Knob("Query token", choices={})] = 0
    scaled: Annotated[bool, Knob("Divide by √d_k")] = True
    causal: Annotated[bool, Knob("Causal mask")] = False
    pads: Annotated[tuple[int, ...], Knob("Padding", choices={}, many=True, link="padding")] = ()
    closer: Annotated[str | None, Knob("Look closer", choices=dict.fromkeys(CLOSER), control="segments")] = None


def draw() -> None:
    st.markdown(TEXTS("one head"))
    name = _example()
    example = PROJECTIONS[name]
    picture, beside = st.columns([3, 2], gap="medium")
    note = st.container()
    with beside:
        given = form.draw(ShownHead, KEY, ShownHead(given=example.given), only=["given"]).given
    x, w_q, w_k, w_v = _given(example) if given else _projected(example)
    words = example.words if len(example.words) == len(x) else ()
    with beside:
        chosen = _switches(words or numbered("token", len(x)), example)
    at, seen = chosen.token, visible(len(x), len(x), causal=chosen.causal, pads=frozenset(chosen.pads))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scaled, raw = (attend(q, k, v, by=by, seen=seen) for by in (w_q.shape[1] ** 0.5, 1.0))
    head = scaled if chosen.scaled else raw
    with picture:
        charts(KEY, weights_map(head, words), height=360)
    with beside:
        say(looks(head, at, words))
    if not given and (text := slip(name, (x, w_q, w_k, w_v), head)):
        note.info(text)
    with st.expander("Formula, and every number on the way"):
        st.latex(r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V,\quad Q=XW_Q,\quad K=XW_K,\quad V=XW_V")
        st.markdown(arithmetic(head, x, w_q, at, given=given))
        named = {"Q": q, "K": k, "V": v, "Scores QKᵀ": head.scores, "Weights": head.weights, "Output": head.output}
        for row in (list(named)[:3], list(named)[3:]):
            for column, name in zip(st.columns(3), row, strict=True):
                with column:
                    matrix(name, named[name], "token")
    _scaling(scaled, raw)
    by_input = straightness(x, x[::-1] * 0.5, (w_q, w_k, w_v), scaled.divisor)
    st.markdown(f"**Is attention linear?** {linearity(*by_input)} {badge('formula')}")
    st.subheader("Look closer", anchor=False)
    closer = form.draw(ShownHead, KEY, only=["closer"], label_visibility="collapsed").closer
    if closer:
        CLOSER[closer](head, at, x, (w_q, w_k, w_v))


def _example() -> str:
    def load(example: Projection) -> None:
        for part in GIVEN if example.given else PARTS:
            table.put(f"{KEY}_{part}_given" if example.given else f"{KEY}_{part}", getattr(example, part))
        form.put(KEY, given=example.given, causal=example.causal, scaled=example.scaled, pads=(), token=example.query)

    return choose(KEY, PROJECTIONS, load, again=True)


def _switches(names: Sequence[str], example: Projection) -> ShownHead:
    tokens = dict(enumerate(names))
    query = example.query if example.query in tokens else 0
    usual = ShownHead(token=query, scaled=example.scaled, causal=example.causal)
    legal, only = {"token": tokens, "pads": tokens}, ["token", "scaled", "causal", "pads"]
    return form.draw(ShownHead, KEY, usual, only=only, legal=legal)


def _projected(example: Projection) -> Tables:
    """X and the matrices as tables to edit, or with an error the last ones whose shapes matched."""
    x, w_q, w_k, w_v = (_table(part, example, column) for column, part in zip(st.columns(4), PARTS, strict=True))
    if problem := fits((x, w_q, w_k, w_v)):
        st.error(TEXTS("last that fit", problem=problem))
    else:
        HEAD_FITTING.put((x, w_q, w_k, w_v))
    return HEAD_FITTING.get() or (example.x, example.w_q, example.w_k, example.w_v)


def _table(part: str, example: Projection, column: DeltaGenerator) -> np.ndarray:
    """A matrix has a row per feature, and a column per entry of q, k or v."""
    values: np.ndarray = getattr(example, part)
    features = list(example.features)
    rows = list(example.words) if part == "x" else features or numbered("feature", len(values))
    columns = features if part == "x" else [f"{part[2]}{at + 1}" for at in range(values.shape[1])]
    with column:
        st.markdown(f"**{PARTS[part]}**")
        return table.table(f"{KEY}_{part}", values, name=part.replace("_", ""), rows=rows, columns=columns)


def _given(example: Projection) -> Tables:
    """Q, K and V as tables to edit, which are the matrices of one-hot tokens; by default those of the example."""
    parts = []
    for column, (part, name) in zip(st.columns(3), GIVEN.items(), strict=True):
        columns = list(example.features) if example.given and name != "V" else []
        columns = columns or [f"{name.lower()}{at + 1}" for at in range(getattr(example, part).shape[1])]
        with column:
            st.markdown(f"**{name}**")
            values = example.x @ getattr(example, part)
            key = f"{KEY}_{part}_given"
            parts.append(table.table(key, values, name=f"{name.lower()}-given", rows=example.words, columns=columns))
    q, k, v = parts
    if problem := given_fits(q, k, v):
        st.error(TEXTS("last that fit", problem=problem))
    else:
        GIVEN_FITTING.put((np.eye(len(q)), q, k, v))
    whole = example.x @ example.w_q, example.x @ example.w_k, example.x @ example.w_v
    return GIVEN_FITTING.get() or (np.eye(len(example.x)), *whole)


def given_fits(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> str:
    """Why Q, K and V do not fit together, or ""."""
    if len(q) > MAX_TOKENS:
        return TEXTS("too many tokens", tokens=len(q), limit=MAX_TOKENS)
    if not len(q) == len(k) == len(v):
        return TEXTS("tokens differ", queries=len(q), keys=len(k), values=len(v))
    return "" if q.shape[1] == k.shape[1] else TEXTS("given keys do not fit", queries=q.shape[1], keys=k.shape[1])


def fits(tables: Tables) -> str:
    """Why these tables cannot be multiplied, or ""."""
    x, *matrices = tables
    if len(x) > MAX_TOKENS:
        return TEXTS("too many tokens", tokens=len(x), limit=MAX_TOKENS)
    for name, w in zip(("W_Q", "W_K", "W_V"), matrices, strict=True):
        if len(w) != x.shape[1]:
            return TEXTS("rows do not fit", features=x.shape[1], matrix=name, rows=len(w))
    queries, keys = matrices[0].shape[1], matrices[1].shape[1]
    return "" if queries == keys else TEXTS("keys do not fit", queries=queries, keys=keys)


def weights_map(head: Head, words: Sequence[str]) -> Figure:
    """The weights, masked cells empty; hovering names the tokens, by their words if they are such."""
    names = list(words) or [str(at + 1) for at in range(len(head.q))]
    texts = None
    if len(names) <= MAX_WRITTEN_TOKENS:
        texts = np.where(head.seen, np.char.mod("%.2f", head.weights), "").tolist()
    how: dict[str, Any] = {"tokens": names, "rows": names, "y": "query token", "hidden": ~head.seen, "texts": texts}
    figure = token_map(title="Attention weights", values=head.weights, unit="share", **how)
    if words:
        hover = [[f"“{own}” looks at “{other}”" for other in words] for own in words]
        figure["layout"]["xaxis"] |= {"tickvals": list(range(1, len(words) + 1)), "ticktext": list(words)}
        figure["data"][0] |= {"hovertext": hover, "hovertemplate": "%{hovertext}: %{customdata:.2f}<extra></extra>"}
    return figure


def looks(head: Head, at: int, words: Sequence[str] = ()) -> str:
    """Which token one token attends to most, or why none; `words`: the tokens, where they are words."""
    weights = head.weights[at]
    names = [f"“{word}”" for word in words] or numbered("token", len(weights))
    token, top = names[at][:1].upper() + names[at][1:], int(weights.argmax())
    if not weights.any():
        return TEXTS("sees nothing", token=token)
    return TEXTS("attends most", token=token, other=names[top], weight=weights[top])


def arithmetic(head: Head, x: np.ndarray, w_q: np.ndarray, at: int, *, given: bool = False) -> str:
    """From one token's features, or its given query, to its output, step by step with its numbers."""
    q, scores, scaled, weights = head.q[at], head.scores[at], head.scaled[at], head.weights[at]
    lines = [f"q·k{j + 1} = {dot(q, k)} = **{number(scores[j], 5)}**" for j, k in enumerate(head.k[:MAX_TERMS])]
    if len(head.k) > MAX_TERMS:
        lines.append(f"all {len(head.k)} scores: {vector(scores)}")
    powers = np.exp(scaled - scaled.max()) if np.isfinite(scaled.max()) else None
    terms = [f"{number(weight, 3)}·v{j + 1}" for j, weight in enumerate(weights) if weight > 0]
    return TEXTS(
        "arithmetic",
        query=TEXTS("given query", token=at + 1, q=q)
        if given
        else TEXTS("query of a token", token=at + 1, x=x[at], q=q, products=dot(x[at], w_q[:, 0])),
        scores="\n\n".join(lines),
        root="1" if head.divisor == 1 else f"√{head.k.shape[1]} = {number(head.divisor)}",
        scaled=vector(scaled, 5).replace("-inf", "-∞"),
        exponentials="" if powers is None else TEXTS("exponentials", powers=powers, sum=powers.sum()) + "\n\n",
        weights=shares(weights),
        sum=weights.sum(),
        terms=" + ".join(terms) if 0 < len(terms) <= MAX_TERMS else "the weighted sum of the values",
        output=head.output[at],
    ).replace("\n\n", "  \n")


def slip(name: str, tables: Tables, head: Head) -> str:
    """A widely copied slip in this example and the right values, or a note on it; "" once anything is set otherwise."""
    example = PROJECTIONS[name]
    own = (example.x, example.w_q, example.w_k, example.w_v)
    seen = visible(*head.seen.shape, causal=example.causal)
    by = head.k.shape[1] ** 0.5 if example.scaled else 1.0
    if not (all(map(np.array_equal, tables, own)) and np.array_equal(head.seen, seen) and head.divisor == by):
        return ""
    if name == "X times W":
        row = ROWS["Token 1 as it is, over √4"]
        printed = {"printed_q": PRINTED_Q, "printed_weights": row.printed_weights, "printed_output": row.printed_output}
        right = {"q": head.q[0], "weights": head.weights[0].round(4), "output": head.output[0].round(3)}
        return TEXTS("slip of x times w", **{name: np.array(values) for name, values in printed.items()}, **right)
    return TEXTS("causal example") if example.causal else ""


def shares(weights: np.ndarray) -> str:
    """Weights with up to five decimals, without trailing zeros: [0.00005, 0.0067, 0.99326]."""
    return "[" + ", ".join(f"{weight:.5f}".rstrip("0").rstrip(".") for weight in weights) + "]"


def dot(left: np.ndarray, right: np.ndarray) -> str:
    """A dot product written out, if it is short."""
    if len(left) > MAX_TERMS:
        return f"a sum of {len(left)} products"
    return " + ".join(f"{_signed(a)}·{_signed(b)}" for a, b in zip(left, right, strict=True))


def _signed(value: float) -> str:
    return number(value) if value >= 0 else f"({number(value)})"


def _scaling(scaled: Head, raw: Head) -> None:
    """What the division does to the spread of scores and weights."""
    st.markdown(f"**What the division by √d_k does** {badge('formula')}")
    alive = scaled.seen.any(1)
    if not alive.any():
        st.caption(TEXTS("nothing to compare"))
        return
    rows = {f"divided by √{scaled.k.shape[1]}": scaled, "as they are": raw}
    named_table(
        "What the division does",
        {
            "scores": list(rows),
            "variance": [number(variance(head.scores / head.divisor, head.seen)) for head in rows.values()],
            "entropy of the weights, nats (mean)": [
                number(entropy(head.weights)[alive].mean()) for head in rows.values()
            ],
            "maximum (all equal)": [number(np.log(scaled.seen.sum(1)[alive]).mean())] * 2,
            "largest weight (mean)": [number(head.weights.max(1)[alive].mean()) for head in rows.values()],
        },
    )


def linearity(fixed: float, own: float) -> str:
    """How far attention is from linear on the table, with fixed weights and with each input's own."""
    verdict = TEXTS("not linear") if own > max(1e-9, 10 * fixed) else TEXTS("linear")
    return TEXTS("is it linear", fixed=fixed, own=own, verdict=verdict)
