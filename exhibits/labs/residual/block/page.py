"""A whole block in numbers: every operation, the terms of a number, the rows that move, a gradient's two ways back."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.parts import Figure, title_of
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_choices, numbered_names
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_finding, draw_sentence, last_fitting, number_cells, table_places
from components.shell.session import Key
from components.shell.static_chart import static_chart
from components.shell.text import number
from exhibits.labs.residual.block import numbers as blocks
from exhibits.labs.residual.block.numbers import AddGradient, ComputedBlock, Terms
from models.content import Texts
from models.insight.gaussian import ACTIVATIONS
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/residual/block")
KEY = "residual_block"
NAMES_PIXELS = 88  # width of the operations' names
ROW_PIXELS = 27  # height of a map's row
FRAME_PIXELS = 90  # height of a map's title and axis
MAX_NUMBERED_COLUMNS = 4  # cells of wider maps show no numbers
MAX_MAPS_PER_ROW = 4  # of more, three stand in a row
OPERATION_NAMES = {  # the page's names of operations that the engine names differently
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
    columns = (3,)

    operation: Annotated[str, Knob("Operation", choices={})] = "norm 1"
    row: Annotated[int, Knob("Of token", choices={}, link="row")] = 1
    column: Annotated[int, Knob("Number", choices={}, link="column")] = 0


@dataclass(frozen=True)
class OutputNumber(Settings):
    columns = (2,)

    out_token: Annotated[int, Knob("Output of token", choices={})] = 1
    out_feature: Annotated[int, Knob("Its feature", choices={})] = 0


def draw() -> None:
    """Draws the block's pictures and sentences above its tables to edit."""
    picture = st.container()
    with st.expander("Tokens and matrices, to edit"):
        inputs = _draw_inputs()
    with picture:
        _draw_block(inputs)


def _draw_block(inputs: dict[str, np.ndarray]) -> None:
    """Draws the block of these inputs, what a change of one token moves, and the gradient of one output."""
    token_count, feature_count = inputs["embedding"].shape
    tokens, features = numbered_choices("token", token_count), numbered_choices("feature", feature_count)
    settings = form.draw(BlockSettings, KEY, legal={"changed": tokens})
    changed, by = settings.changed, settings.by
    forward = partial(
        blocks.forward,
        placement=settings.order,
        activation=ACTIVATIONS[settings.activation],
        causal=settings.causal,
    )
    before = forward(inputs)
    block = forward(blocks.perturbed_inputs(inputs, changed, by))
    _draw_pictures(block, blocks.row_changes(before, block))
    _draw_terms(block, tokens)
    draw_finding(moved_sentence(blocks.operation_row_changes(before, changed, by), changed))
    st.subheader("The gradient of one output, on its way back", anchor=False)
    output = form.draw(OutputNumber, KEY, legal={"out_token": tokens, "out_feature": features})
    shares = blocks.add_gradients(block, output.out_token, output.out_feature)
    height = FRAME_PIXELS + ROW_PIXELS * before.values["x"].size
    draw_charts(f"{KEY}_back", *map(share_map, shares), height=height)
    for share in shares:
        draw_sentence(share_sentence(share))


def _draw_inputs() -> dict[str, np.ndarray]:
    """Draws the tables to edit. Returns them; if their shapes do not match, the last ones that did."""
    tables = {}
    for names in (list(blocks.INPUTS)[:4], list(blocks.INPUTS)[4:]):
        for column, name in zip(table_places(4), names, strict=True):
            with column:
                tables[name] = _draw_table(name)
    problem = shape_mismatch(tables)
    error = TEXTS("last that fit", problem=problem) if problem else ""
    return last_fitting(BLOCK_FITTING, tables, error, dict(blocks.INPUTS))


def _draw_table(name: str) -> np.ndarray:
    """Draws one of the tables to edit. Returns its values."""
    values = blocks.INPUTS[name]
    has_token_rows = name in ("embedding", "position")
    st.markdown(f"**{name}**")
    return table.draw_table(
        f"{KEY}_{name}",
        values,
        name=name.replace("_", "").lower(),
        rows=() if has_token_rows else _numbers,
        columns=_numbers(values.shape[1]),
    )


def _numbers(count: int) -> list[str]:
    return [str(i + 1) for i in range(count)]


def _draw_pictures(block: ComputedBlock, moved: Mapping[str, np.ndarray]) -> None:
    """Draws a map of each token's numbers, and one of how far the rows move."""
    tokens = len(block.values["x"])
    height = FRAME_PIXELS + ROW_PIXELS * len(block.operations)
    figures = [*(token_map(block, token) for token in range(tokens)), moved_map(moved)]
    per_row = len(figures) if len(figures) <= MAX_MAPS_PER_ROW else 3
    columns = [column for _ in range(0, len(figures), per_row) for column in st.columns(per_row)]
    for i, (figure, column) in enumerate(zip(figures, columns, strict=False)):
        on_click = partial(_choose_number, block, i) if i < tokens else None  # the last map has no tokens
        with column:
            static_chart(figure, title_of(figure), f"{KEY}_{i}", height, on_click)
    st.caption(TEXTS("press a number"))


def _choose_number(block: ComputedBlock, token: int, x: Any, y: Any) -> None:
    """Chooses the pressed number if it exists; x and y come from a browser."""
    operation = next((name for name in block.operations if _page_name(name) == y), "")
    if operation and str(x) in _numbers(block.values[operation].shape[1]):
        form.put(KEY, operation=operation, row=token, column=int(x) - 1)


def _draw_terms(block: ComputedBlock, tokens: Mapping[int, str]) -> None:
    """Draws the choice of a number, and the terms from which it results."""
    operations = {name: _page_name(name) for name in block.operations}
    operation = form.read(PressedNumber, KEY).operation
    if operation not in operations:  # the block had another order
        operation = PressedNumber().operation
    columns = {i: str(i + 1) for i in range(block.values[operation].shape[1])}
    chosen = form.draw(PressedNumber, KEY, legal={"operation": operations, "row": tokens, "column": columns})
    terms = terms_text(blocks.terms(block, chosen.operation, chosen.row, chosen.column))
    reads = " and ".join(_page_name(name) for name in block.operations[chosen.operation].reads)
    place = {"operation": operations[chosen.operation], "token": chosen.row + 1, "column": chosen.column + 1}
    draw_sentence(TEXTS("terms", terms=terms, reads=reads, **place))


def shape_mismatch(tables: Mapping[str, np.ndarray]) -> str:
    """Why these tables cannot be a block, or ""."""
    tokens, features = tables["embedding"].shape
    widest = max(values.shape[1] for values in tables.values())
    if tokens > blocks.MAX_TOKENS or widest > blocks.MAX_FEATURES:
        return TEXTS("block too large", tokens=blocks.MAX_TOKENS, columns=blocks.MAX_FEATURES)
    shapes = {
        "position": (tokens, features),
        "W_Q": (features, tables["W_Q"].shape[1]),
        "W_K": (features, tables["W_Q"].shape[1]),
        "W_V": (features, tables["W_V"].shape[1]),
        "W_O": (tables["W_V"].shape[1], features),
        "W_1": (features, tables["W_1"].shape[1]),
        "W_2": (tables["W_1"].shape[1], features),
    }
    for name, (rows, columns) in shapes.items():
        row_count, column_count = tables[name].shape
        if (row_count, column_count) != (rows, columns):
            actual = {"own_rows": row_count, "own": column_count}
            return TEXTS("matrix does not fit", name=name, rows=rows, columns=columns, **actual)
    return ""


def terms_text(terms: Terms) -> str:
    """How a number results from its terms."""
    written, value = number_cells(terms.left), number(terms.value)
    match terms.kind:
        case "add":
            return f"{written[0]} + {written[1]} = **{value}**"
        case "times" | "scores":
            pairs = zip(written, number_cells(terms.right), strict=True)
            total = " + ".join(f"{left}·{right}" for left, right in pairs)
            if terms.divisor != 1:
                total = f"({total}) / {number(terms.divisor)}"
            return f"{total} = **{value}**"
        case "softmax":
            return f"e^(score - largest) / sum = {written[0]} / {number(terms.divisor)} = **{value}**"
        case "norm":
            return f"({written[0]} - {written[1]}) / {number(terms.divisor)} = **{value}**"
    return f"φ({written[0]}) = **{value}**"


def moved_sentence(moved: Mapping[str, np.ndarray], token: int) -> str:
    """How many other rows each kind of operation moves if its input moves in the row of `token` alone."""
    others = {name: int((np.delete(rows, token) > 0).sum()) for name, rows in moved.items()}
    if not any(rows.any() for rows in moved.values()):
        return TEXTS("nothing moves")
    return TEXTS("rows that move", token=token + 1, others=others)


def share_sentence(shares: AddGradient) -> str:
    """The sizes of both shares, and the tokens that the branch's share reaches."""
    reached = [str(i + 1) for i, row in enumerate(shares.through_branch) if row.any()]
    return TEXTS(
        "two ways back",
        branch=shares.branch,
        past=float(np.linalg.norm(shares.residual)),
        through=float(np.linalg.norm(shares.through_branch)),
        reached=", ".join(reached) or "none",
        at=_page_name(shares.stream),
    )


def token_map(block: ComputedBlock, token: int) -> Figure:
    """A token's numbers after every operation, from top to bottom."""
    rows = {name: block.values[name][token] for name in block.operations}
    widest = max(len(row) for row in rows.values())
    cells = np.array([np.pad(row, (0, widest - len(row)), constant_values=np.nan) for row in rows.values()])
    return _map(
        f"Token {token + 1}",
        rows=[_page_name(name) for name in rows],
        columns=[str(i + 1) for i in range(widest)],
        values=cells,
        measured=np.isfinite(cells),
        digits=2 if widest <= MAX_NUMBERED_COLUMNS else None,
    )


def moved_map(moved: Mapping[str, np.ndarray]) -> Figure:
    """How far every token's row moved, by operation."""
    values = np.array([*moved.values()])
    return _map(
        "How far each row moves",
        rows=[_page_name(name) for name in moved],
        columns=numbered_names("token", values.shape[1]),
        values=values,
        digits=1,
    )


def share_map(shares: AddGradient) -> Figure:
    """A gradient in front of an add, token by token: past the branch, through it, and their sum."""
    tokens, features = shares.residual.shape
    parts = {"residual": shares.residual, "branch": shares.through_branch, "together": shares.total}
    cells = np.array([part.ravel() for part in parts.values()]).T
    return _map(
        f"Gradient at {_page_name(shares.stream)}, past and through {shares.branch}",
        rows=[f"token {token + 1}, {feature + 1}" for token in range(tokens) for feature in range(features)],
        columns=list(parts),
        values=cells,
        digits=2,
    )


def _page_name(operation: str) -> str:
    return OPERATION_NAMES.get(operation, operation)


def _map(title: str, **cells: Any) -> Figure:
    return signed_map(title, unit="value", every_name=True, names_pixels=NAMES_PIXELS, **cells)
