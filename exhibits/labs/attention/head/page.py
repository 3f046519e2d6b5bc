"""One attention head on editable tables: Q, K and V, scores, scaling, masks, softmax, weighted sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components.charts.parts import Figure
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import choose_example, numbered_names
from components.labs.page import parts_of
from components.labs.parts import (
    draw_charts,
    draw_finding,
    draw_matrix,
    draw_sentence,
    last_fitting,
    number_cells,
    table_places,
)
from components.labs.weights import weights_map, weights_text
from components.shell.session import Key
from components.shell.text import named_table, number, vector
from models.content import Texts
from models.labs.attention import Head, attend, attention_mask, entropy, linearity_errors, variance
from models.labs.attention_examples import PRINTED_Q, PROJECTIONS, ROWS, Projection
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/head")
KEY = "attention_head"
# Labels of the tables to edit, by field of an example.
PROJECTED = {"x": "X, the tokens", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V"}
DIRECT = {"w_q": "Q", "w_k": "K", "w_v": "V"}  # instead of X and the matrices
MAX_TOKENS = 32
MAX_WRITTEN_TERMS = 6  # of a sum; a longer one is abbreviated
MAX_WRITTEN_TOKENS = 8  # the cells of a map of more tokens show no weights

Tables = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# The last tables whose shapes matched.
HEAD_FITTING: Key[Tables | None] = Key("attention_head_fitting", None)
DIRECT_FITTING: Key[Tables | None] = Key("attention_head_given_fitting", None)


@dataclass(frozen=True)
class ShownHead(Settings):
    direct: Annotated[bool, Knob("Q, K and V given", link="given")] = False
    token: Annotated[int, Knob("Query token", choices={})] = 0
    scaled: Annotated[bool, Knob("Divide by √d_k")] = True
    causal: Annotated[bool, Knob("Causal mask")] = False
    pads: Annotated[tuple[int, ...], Knob("Padding", choices={}, multiple=True, link="padding")] = ()
    closer: Annotated[str | None, Knob("Look closer", choices={}, control="segments")] = None


def draw() -> None:
    st.markdown(TEXTS("one head"))
    name = _choose_example()
    example = PROJECTIONS[name]
    map_column, side_column = st.columns([3, 2], gap="medium")
    note_container = st.container()
    with side_column:
        direct = form.draw(ShownHead, KEY, ShownHead(direct=example.direct_qkv), only=["direct"]).direct
    tables = _draw_direct_tables(example) if direct else _draw_projected_tables(example)
    x, w_q, w_k, w_v = tables
    words = example.words if len(example.words) == len(x) else ()
    with side_column:
        settings = _draw_switches(words or numbered_names("token", len(x)), example)
    mask = attention_mask(len(x), len(x), causal=settings.causal, pads=frozenset(settings.pads))
    scaled = attend(x @ w_q, x @ w_k, x @ w_v, divisor=w_q.shape[1] ** 0.5, mask=mask)
    raw = attend(x @ w_q, x @ w_k, x @ w_v, divisor=1.0, mask=mask)
    head = scaled if settings.scaled else raw
    with map_column:
        draw_charts(KEY, attention_map(head, words), height=360)
    with side_column:
        draw_finding(attention_sentence(head, settings.token, words))
    note = slip_sentence(name, tables, head)
    if note:
        note_container.info(note)
    with st.expander("Formula, and every number on the way"):
        _draw_numbers(head, x, w_q, settings.token, direct=direct)
    _draw_scaling(scaled, raw)
    fixed, varying = linearity_errors(x, x[::-1] * 0.5, (w_q, w_k, w_v), scaled.divisor)
    draw_sentence(f"**Is attention linear?** {linearity_sentence(fixed, varying)}")
    st.subheader("Look closer", anchor=False)
    looks = parts_of("attention", "head")
    legal = {"closer": list(looks)}
    closer = form.draw(ShownHead, KEY, only=["closer"], legal=legal, label_visibility="collapsed").closer
    for look in looks[closer] if closer else ():
        look.page.draw(head, settings.token, x, (w_q, w_k, w_v))


def _choose_example() -> str:
    def load(example: Projection) -> None:
        parts, suffix = (DIRECT, "_given") if example.direct_qkv else (PROJECTED, "")
        for part in parts:
            table.put(f"{KEY}_{part}{suffix}", getattr(example, part))
        form.put(KEY, direct=example.direct_qkv, token=example.query, pads=())
        form.put(KEY, causal=example.causal, scaled=example.scaled)

    return choose_example(KEY, PROJECTIONS, load, with_reset=True)


def _draw_switches(names: Sequence[str], example: Projection) -> ShownHead:
    """Draws query token, scaling and masks. Returns their settings; `names` are those of the tokens."""
    tokens = dict(enumerate(names))
    query = example.query if example.query in tokens else 0
    defaults = ShownHead(token=query, scaled=example.scaled, causal=example.causal)
    legal = {"token": tokens, "pads": tokens}
    return form.draw(ShownHead, KEY, defaults, only=["token", "scaled", "causal", "pads"], legal=legal)


def _draw_projected_tables(example: Projection) -> Tables:
    """Draws X and the matrices as tables to edit. Returns them, or the last ones whose shapes matched."""
    places = table_places(4)
    x, w_q, w_k, w_v = (_draw_table(part, example, place) for place, part in zip(places, PROJECTED, strict=True))
    problem = projected_mismatch((x, w_q, w_k, w_v))
    error = TEXTS("last that fit", problem=problem) if problem else ""
    default = example.x, example.w_q, example.w_k, example.w_v
    return last_fitting(HEAD_FITTING, (x, w_q, w_k, w_v), error, default)


def _draw_table(part: str, example: Projection, place: DeltaGenerator) -> np.ndarray:
    """Draws one of the tables, `part` of PROJECTED. A matrix has a row per feature, a column per entry of q, k or v."""
    values: np.ndarray = getattr(example, part)
    features = list(example.features)
    rows = list(example.words) if part == "x" else features or numbered_names("feature", len(values))
    columns = features if part == "x" else [f"{part[2]}{i + 1}" for i in range(values.shape[1])]
    with place:
        st.markdown(f"**{PROJECTED[part]}**")
        return table.draw_table(f"{KEY}_{part}", values, name=part.replace("_", ""), rows=rows, columns=columns)


def _draw_direct_tables(example: Projection) -> Tables:
    """Draws Q, K and V of the example as tables to edit. Returns one-hot tokens, and Q, K and V as their matrices."""
    default = example.x @ example.w_q, example.x @ example.w_k, example.x @ example.w_v
    tables = []
    for place, (part, name), values in zip(table_places(3), DIRECT.items(), default, strict=True):
        letter = name.lower()
        columns = [f"{letter}{i + 1}" for i in range(values.shape[1])]
        with place:
            st.markdown(f"**{name}**")
            key = f"{KEY}_{part}_given"
            tables.append(table.draw_table(key, values, name=f"{letter}-given", rows=example.words, columns=columns))
    q, k, v = tables
    problem = direct_mismatch(q, k, v)
    error = TEXTS("last that fit", problem=problem) if problem else ""
    return last_fitting(DIRECT_FITTING, (np.eye(len(q)), q, k, v), error, (np.eye(len(example.x)), *default))


def _draw_numbers(head: Head, x: np.ndarray, w_q: np.ndarray, token: int, *, direct: bool) -> None:
    st.latex(r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V,\quad Q=XW_Q,\quad K=XW_K,\quad V=XW_V")
    st.markdown(arithmetic(head, x, w_q, token, direct=direct))
    rows = (
        {"Q": head.q, "K": head.k, "V": head.v},
        {"Scores QKᵀ": head.scores, "Weights": head.weights, "Output, Weights · V": head.output},
    )
    for row in rows:
        for column, (name, matrix) in zip(table_places(3), row.items(), strict=True):
            with column:
                draw_matrix(name, matrix, "token")


def _draw_scaling(scaled: Head, raw: Head) -> None:
    """Draws a table of the spread of scores and weights, with and without the division."""
    draw_finding("What the division by √d_k does")
    sees_any = scaled.mask.any(1)
    if not sees_any.any():
        st.caption(TEXTS("nothing to compare"))
        return
    heads_by_scores = {f"divided by √{scaled.k.shape[1]}": scaled, "as they are": raw}
    compared = list(heads_by_scores.values())
    named_table(
        "What the division does",
        {
            "scores": list(heads_by_scores),
            "variance": number_cells(variance(head.scores / head.divisor, head.mask) for head in compared),
            "entropy of the weights, nats (mean)": number_cells(
                entropy(head.weights)[sees_any].mean() for head in compared
            ),
            "maximum (all equal)": number_cells([np.log(scaled.mask.sum(1)[sees_any]).mean()] * 2),
            "largest weight (mean)": number_cells(head.weights.max(1)[sees_any].mean() for head in compared),
        },
    )


def direct_mismatch(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> str:
    """Why the shapes of Q, K and V do not match, or ""."""
    if len(q) > MAX_TOKENS:
        return TEXTS("too many tokens", tokens=len(q), limit=MAX_TOKENS)
    if not len(q) == len(k) == len(v):
        return TEXTS("tokens differ", queries=len(q), keys=len(k), values=len(v))
    return "" if q.shape[1] == k.shape[1] else TEXTS("given keys do not fit", queries=q.shape[1], keys=k.shape[1])


def projected_mismatch(tables: Tables) -> str:
    """Why X and the matrices cannot be multiplied, or ""."""
    x, *matrices = tables
    if len(x) > MAX_TOKENS:
        return TEXTS("too many tokens", tokens=len(x), limit=MAX_TOKENS)
    for name, w in zip(("W_Q", "W_K", "W_V"), matrices, strict=True):
        if len(w) != x.shape[1]:
            return TEXTS("rows do not fit", features=x.shape[1], matrix=name, rows=len(w))
    queries, keys = matrices[0].shape[1], matrices[1].shape[1]
    return "" if queries == keys else TEXTS("keys do not fit", queries=queries, keys=keys)


def attention_sentence(head: Head, token: int, words: Sequence[str] = ()) -> str:
    """Which tokens one token attends to most, or why none; `words`: the tokens, if they are words."""
    weights = head.weights[token]
    names = [f"“{word}”" for word in words] or numbered_names("token", len(weights))
    name = names[token][:1].upper() + names[token][1:]
    if not weights.any():
        return TEXTS("sees nothing", token=name)
    targets = [names[at] for at in np.flatnonzero(np.isclose(weights, weights.max(), rtol=1e-9, atol=0))]
    if len(targets) > 1:
        others = f"{', '.join(targets[:-1])} and {targets[-1]}"
        return TEXTS("attends equally", token=name, others=others, weight=weights.max())
    return TEXTS("attends most", token=name, other=targets[0], weight=weights.max())


def arithmetic(head: Head, x: np.ndarray, w_q: np.ndarray, token: int, *, direct: bool = False) -> str:
    """The calculation of a token's output with its numbers, from its features, or from its query if `direct`."""
    q, scores = head.q[token], head.scores[token]
    scaled, weights = head.scaled[token], head.weights[token]
    if direct:
        query = TEXTS("given query", token=token + 1, q=q)
    else:
        products = dot_product_text(x[token], w_q[:, 0])
        query = TEXTS("query of a token", token=token + 1, x=x[token], q=q, products=products)
    lines = [
        f"q·k{j + 1} = {dot_product_text(q, k)} = **{number(scores[j], 5)}**"
        for j, k in enumerate(head.k[:MAX_WRITTEN_TERMS])
    ]
    if len(head.k) > MAX_WRITTEN_TERMS:
        lines.append(f"all {len(head.k)} scores: {vector(scores)}")
    powers = np.exp(scaled - scaled.max()) if np.isfinite(scaled.max()) else None
    terms = [f"{number(weight, 3)}·v{j + 1}" for j, weight in enumerate(weights) if weight > 0]
    return TEXTS(
        "arithmetic",
        query=query,
        scores="\n\n".join(lines),
        root="1" if head.divisor == 1 else f"√{head.k.shape[1]} = {number(head.divisor)}",
        scaled=vector(scaled, 5).replace("-inf", "-∞"),
        exponentials="" if powers is None else TEXTS("exponentials", powers=powers, sum=powers.sum()) + "\n\n",
        weights=weights_text(weights),
        sum=weights.sum(),
        terms=" + ".join(terms) if 0 < len(terms) <= MAX_WRITTEN_TERMS else "the weighted sum of the values",
        output=head.output[token],
        row=token + 1,
    ).replace("\n\n", "  \n")


def slip_sentence(name: str, tables: Tables, head: Head) -> str:
    """Correction of a widely copied error in this example, or a note on it; "" if a visitor changed anything."""
    example = PROJECTIONS[name]
    unchanged = all(map(np.array_equal, tables, (example.x, example.w_q, example.w_k, example.w_v)))
    divisor = head.k.shape[1] ** 0.5 if example.scaled else 1.0
    if not unchanged or head.divisor != divisor:
        return ""
    if not np.array_equal(head.mask, attention_mask(*head.mask.shape, causal=example.causal)):
        return ""
    if example.direct_qkv:
        row = ROWS["Six scores"]
        return TEXTS(
            "slip of given keys",
            word=example.words[example.query],
            scores=head.scores[example.query],
            printed=np.array(row.printed_weights),
            total=sum(row.printed_weights),
            weights=head.weights[example.query].round(4),
            output=head.output[example.query].round(3),
        )
    if name == "X times W":
        row = ROWS["Token 1 as it is, over √4"]
        return TEXTS(
            "slip of x times w",
            printed_q=np.array(PRINTED_Q),
            printed_weights=np.array(row.printed_weights),
            printed_output=np.array(row.printed_output),
            q=head.q[0],
            weights=head.weights[0].round(4),
            output=head.output[0].round(3),
        )
    return TEXTS("causal example") if example.causal else ""


def dot_product_text(left: np.ndarray, right: np.ndarray) -> str:
    """A dot product, written out if it is short."""
    if len(left) > MAX_WRITTEN_TERMS:
        return f"a sum of {len(left)} products"
    return " + ".join(f"{_signed(a)}·{_signed(b)}" for a, b in zip(left, right, strict=True))


def linearity_sentence(fixed: float, varying: float) -> str:
    """Whether attention is linear: its errors with fixed weights, and with weights that vary with the input."""
    verdict = TEXTS("not linear") if varying > max(1e-9, 10 * fixed) else TEXTS("linear")
    return TEXTS("is it linear", fixed=fixed, own=varying, verdict=verdict)


def attention_map(head: Head, words: Sequence[str]) -> Figure:
    """The map of a head's weights; `words` name the tokens in the hover text and on the horizontal axis."""
    names = list(words) or [str(i + 1) for i in range(len(head.q))]
    figure = weights_map(head, "Attention weights", names, max_written=MAX_WRITTEN_TOKENS)
    if words:
        hover = [[f"“{query}” looks at “{key}”" for key in words] for query in words]
        figure["layout"]["xaxis"] |= {"tickvals": list(range(1, len(words) + 1)), "ticktext": list(words)}
        figure["data"][0] |= {"hovertext": hover, "hovertemplate": "%{hovertext}: %{customdata:.2f}<extra></extra>"}
    return figure


def _signed(value: float) -> str:
    return number(value) if value >= 0 else f"({number(value)})"
