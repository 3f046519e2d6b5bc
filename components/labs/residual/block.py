"""A whole block, computed: every operation's numbers, the terms of one, which rows move, a gradient's two ways back."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.parts import Figure, title_of
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_names
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_finding
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import badge, number
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS
from models.labs import block as blocks
from models.labs.block import ComputedBlock, Shares, Terms
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual")
KEY = "residual_block"
NAMES_PIXELS = 88  # the width of the operations' names
ROW_PIXELS = 27  # the height of an operation in the picture
MAX_WRITTEN = 4  # numbers of a row up to which the picture's cells show them
SHOWN = {
    "scores": "Q Kᵀ / √d_k",
    "weights": "softmax",
    "mix": "weights · V",
    "attention": "times W_O",
    "hidden": "times W₁",
    "active": "activation",
    "feed-forward": "times W₂",
}
BLOCK_FITTING: Key[dict[str, np.ndarray] | None] = Key("residual_block_fitting", None)  # the last tables that fit


@dataclass(frozen=True)
class BlockSettings(Settings):
    """How the block is built, and what is changed."""

    columns = ()

    order: Annotated[str, Knob("Order", choices=dict.fromkeys(blocks.PLACEMENTS), word="placement", width=150)] = (
        "post-norm"
    )
    activation: Annotated[str, Knob("Activation", choices=dict.fromkeys(ACTIVATIONS), link="phi", width=150)] = "relu"
    changed: Annotated[int, Knob("Change", choices={}, link="changed", width=150)] = 1
    by: Annotated[float, Knob("Its feature 1 grows by", -10.0, 10.0, 0.5, link="by", width=170)] = 0.5
    causal: Annotated[bool, Knob("Causal mask", link="mask")] = False


@dataclass(frozen=True)
class PressedNumber(Settings):
    """The number whose terms are written out."""

    columns = (3,)

    operation: Annotated[str, Knob("Operation", choices={})] = "norm 1"
    row: Annotated[int, Knob("Of token", choices={}, link="row")] = 1
    column: Annotated[int, Knob("Number", choices={}, link="column")] = 0


@dataclass(frozen=True)
class OutputNumber(Settings):
    """The number of the block's end whose gradient is followed back."""

    columns = (2,)

    out_token: Annotated[int, Knob("Output of token", choices={})] = 1
    out_feature: Annotated[int, Knob("Its feature", choices={})] = 0


def draw() -> None:
    """The section."""
    place = st.container()
    with st.expander("Tokens and matrices, to edit"):
        inputs = _inputs()
    with place:
        tokens = dict(enumerate(numbered_names("token", len(inputs["embedding"]))))
        features = dict(enumerate(numbered_names("feature", inputs["embedding"].shape[1])))
        at = form.draw(BlockSettings, KEY, legal={"changed": tokens})
        run = partial(blocks.forward, placement=at.order, activation=ACTIVATIONS[at.activation], causal=at.causal)
        before, block = run(inputs), run(blocks.with_change(inputs, at.changed, at.by))
        moved = blocks.moved(before, block)
        _pictures(block, moved)
        _terms(block, tokens)
        draw_finding(moved_sentence(blocks.moved_alone(before, at.changed, at.by), at.changed))
        st.subheader("The gradient of one output, on its way back", anchor=False)
        out = form.draw(OutputNumber, KEY, legal={"out_token": tokens, "out_feature": features})
        shares = blocks.shares(block, out.out_token, out.out_feature)
        height = 90 + ROW_PIXELS * before.values["x"].size
        draw_charts(f"{KEY}_back", *[share_map(one) for one in shares], height=height)
        for one in shares:
            st.markdown(f"{share_sentence(one)} {badge('formula')}")


def _inputs() -> dict[str, np.ndarray]:
    """The tables, or with an error the last whose shapes matched."""
    tables = {}
    for names in (list(blocks.INPUTS)[:4], list(blocks.INPUTS)[4:]):
        for column, name in zip(st.columns(4), names, strict=True):
            with column:
                tables[name] = _table(name)
    if problem := fits(tables):
        st.error(TEXTS("last that fit", problem=problem))
    else:
        BLOCK_FITTING.put(tables)
    return BLOCK_FITTING.get() or dict(blocks.INPUTS)


def _table(name: str) -> np.ndarray:
    values = blocks.INPUTS[name]
    rows = () if name in ("embedding", "position") else lambda count: [str(at + 1) for at in range(count)]
    st.markdown(f"**{name}**")
    columns = [str(at + 1) for at in range(values.shape[1])]
    return table.table(f"{KEY}_{name}", values, name=name.replace("_", "").lower(), rows=rows, columns=columns)


def fits(tables: Mapping[str, np.ndarray]) -> str:
    """Why these tables cannot be a block, or ""."""
    tokens, features = tables["embedding"].shape
    widest = max(one.shape[1] for one in tables.values())
    if tokens > blocks.MAX_TOKENS or widest > blocks.MAX_FEATURES:
        return TEXTS("block too large", tokens=blocks.MAX_TOKENS, columns=blocks.MAX_FEATURES)
    need = {
        "position": (tokens, features),
        "W_Q": (features, tables["W_Q"].shape[1]),
        "W_K": (features, tables["W_Q"].shape[1]),
        "W_V": (features, tables["W_V"].shape[1]),
        "W_O": (tables["W_V"].shape[1], features),
        "W_1": (features, tables["W_1"].shape[1]),
        "W_2": (tables["W_1"].shape[1], features),
    }
    for name, (rows, columns) in need.items():
        if tables[name].shape != (rows, columns):
            own = tables[name].shape
            return TEXTS("matrix does not fit", name=name, rows=rows, columns=columns, own_rows=own[0], own=own[1])
    return ""


def named(operation: str) -> str:
    """An operation as the page calls it."""
    return SHOWN.get(operation, operation)


def token_figure(block: ComputedBlock, token: int) -> Figure:
    """A token's numbers after every operation, from above to below."""
    rows = {name: block.values[name][token] for name in block.operations}
    widest = max(len(row) for row in rows.values())
    cells = np.array([np.pad(row, (0, widest - len(row)), constant_values=np.nan) for row in rows.values()])
    return _map(
        f"Token {token + 1}",
        rows=[named(name) for name in rows],
        columns=[str(at + 1) for at in range(widest)],
        values=cells,
        measured=np.isfinite(cells),
        digits=2 if widest <= MAX_WRITTEN else None,
    )


def moved_figure(moved: Mapping[str, np.ndarray]) -> Figure:
    """How far every token's row moved, by operation."""
    values = np.array([*moved.values()])
    return _map(
        "How far each row moves",
        rows=[named(name) for name in moved],
        columns=[f"token {at + 1}" for at in range(values.shape[1])],
        values=values,
        digits=1,
    )


def _pictures(block: ComputedBlock, moved: Mapping[str, np.ndarray]) -> None:
    """The block's numbers, a picture for each token, and beside them how far its rows move."""
    tokens = len(block.values["x"])
    height = 90 + ROW_PIXELS * len(block.operations)
    figures = [*(token_figure(block, token) for token in range(tokens)), moved_figure(moved)]
    across = tokens + 1 if tokens <= 3 else 3
    columns = [column for _ in range(0, tokens + 1, across) for column in st.columns(across)]
    for at, (figure, column) in enumerate(zip(figures, columns, strict=False)):
        title = title_of(figure)
        with column:
            static_chart(figure, title, f"{KEY}_{at}", height, partial(_pressed, block, at) if at < tokens else None)
    st.caption(TEXTS("press a number"))


def _pressed(block: ComputedBlock, token: int, x: Any, y: Any) -> None:
    """Takes the pressed number, which comes from a browser, if there is such a number."""
    operation = next((name for name in block.operations if named(name) == y), "")
    if operation and str(x) in map(str, range(1, block.values[operation].shape[1] + 1)):
        form.put(KEY, operation=operation, row=token, column=int(x) - 1)


def _terms(block: ComputedBlock, tokens: Mapping[int, str]) -> None:
    """The terms of the chosen number."""
    ways = {name: named(name) for name in block.operations}
    chosen = form.held(PressedNumber, KEY)
    operation = chosen.operation if chosen.operation in ways else PressedNumber().operation
    columns = {at: str(at + 1) for at in range(block.values[operation].shape[1])}
    chosen = form.draw(PressedNumber, KEY, legal={"operation": ways, "row": tokens, "column": columns})
    terms = blocks.terms(block, chosen.operation, chosen.row, chosen.column)
    reads = " and ".join(named(name) for name in block.operations[chosen.operation].reads)
    sentence = TEXTS(
        "terms",
        operation=named(chosen.operation),
        token=chosen.row + 1,
        column=chosen.column + 1,
        terms=terms_text(terms),
        reads=reads,
    )
    st.markdown(f"{sentence} {badge('formula')}")


def terms_text(terms: Terms) -> str:
    """The terms of a number, and the number."""
    written, value = [number(term) for term in terms.left], number(terms.value)
    match terms.kind:
        case "add":
            return f"{written[0]} + {written[1]} = **{value}**"
        case "times" | "scores":
            pairs = zip(written, map(number, terms.right), strict=True)
            total = " + ".join(f"{left}·{right}" for left, right in pairs)
            return (
                f"({total}) / {number(terms.divisor)} = **{value}**" if terms.divisor != 1 else f"{total} = **{value}**"
            )
        case "softmax":
            return f"e^(score - largest) / sum = {written[0]} / {number(terms.divisor)} = **{value}**"
        case "norm":
            return f"({written[0]} - {written[1]}) / {number(terms.divisor)} = **{value}**"
    return f"φ({written[0]}) = **{value}**"


def moved_sentence(moved: Mapping[str, np.ndarray], token: int) -> str:
    """Which kinds of operation move other rows, if what they read moves in one row only."""
    others = {name: int((np.delete(rows, token) > 0).sum()) for name, rows in moved.items()}
    if not any(rows.any() for rows in moved.values()):
        return TEXTS("nothing moves")
    return TEXTS("rows that move", token=token + 1, others=others)


def share_map(shares: Shares) -> Figure:
    """A gradient in front of an add: past the branch, through it and together, token by token."""
    tokens, features = shares.residual.shape
    ways = {"residual": shares.residual, "branch": shares.through, "together": shares.together}
    cells = np.array([way.ravel() for way in ways.values()]).T
    return _map(
        f"Gradient at {named(shares.at)}, past and through {shares.branch}",
        rows=[f"token {token + 1}, {feature + 1}" for token in range(tokens) for feature in range(features)],
        columns=list(ways),
        values=cells,
        digits=2,
    )


def _map(title: str, **how: Any) -> Figure:
    """A map of a few columns, in which every row has its name."""
    return signed_map(title, unit="value", every_name=True, names_pixels=NAMES_PIXELS, **how)


def share_sentence(shares: Shares) -> str:
    """How large both shares are, and which tokens the branch's reaches."""
    reached = [str(at + 1) for at, row in enumerate(shares.through) if row.any()]
    return TEXTS(
        "two ways back",
        branch=shares.branch,
        past=float(np.linalg.norm(shares.residual)),
        through=float(np.linalg.norm(shares.through)),
        reached=", ".join(reached) or "none",
        at=named(shares.at),
    )
