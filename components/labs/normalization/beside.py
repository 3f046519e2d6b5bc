"""Closer look: two norms on one table, and a block of batch, sequence and features."""

from dataclasses import astuple, dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.parts import fixed_map, frame_around
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_choices, numbered_names
from components.labs.normalization.table import LabTable, draw_coloured
from components.labs.parts import draw_charts, draw_finding, draw_note
from components.shell.text import named_table, number
from models.content import Texts
from models.insight.words import count_in_words
from models.labs import cube
from models.labs.aspects import COMPARED, Aspects, aspects
from models.labs.normalization import normalise
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"
CUBE_KEY = f"{KEY}_cube"
FRAME_PIXELS, ROW_PIXELS = 76, 30  # title and axis of a block, and a row of its cells
MIN_NAMED_FEATURES = 2  # from which the columns of a sample have room for its name
NORMS = dict.fromkeys(COMPARED)
ASPECTS = (
    "statistics over",
    "a batch of one",
    "another token's number grows by 1",
    "a row of padding is added",
    "at inference",
)


@dataclass(frozen=True)
class TwoNorms(Settings):
    columns = (2,)

    first: Annotated[str, Knob("Norm", choices=NORMS, link="one")] = "layer norm"
    beside: Annotated[str, Knob("Beside it", choices=NORMS, link="beside")] = "batch norm"


@dataclass(frozen=True)
class NormedBlock(Settings):
    columns = (5, 4)

    norm: Annotated[str, Knob("Norm of the block", choices=dict.fromkeys(cube.NORMS), link="block-norm")] = "layer norm"
    batch: Annotated[int, Knob("Batch", low=1, high=cube.MAX_BATCH, link="block-batch", control="slider")] = 3
    tokens: Annotated[int, Knob("Sequence", low=1, high=cube.MAX_TOKENS, link="block-tokens", control="slider")] = 4
    features: Annotated[
        int, Knob("Features", low=1, high=cube.MAX_FEATURES, link="block-features", control="slider")
    ] = 4
    groups: Annotated[int, Knob("Groups of the block", choices={}, link="block-groups")] = 1
    sample: Annotated[int, Knob("Sample", choices={}, link="block-sample")] = 0
    token: Annotated[int, Knob("Token of the sample", choices={}, link="block-token")] = 0
    feature: Annotated[int, Knob("Feature of the token", choices={}, link="block-feature")] = 0
    push: Annotated[float, Knob("Add to this value", -5.0, 5.0, 0.1, link="push", control="slider")] = 2.0


def draw_two_norms(lab: LabTable) -> None:
    """The table after two norms, and five aspects of each, measured on it."""
    values, eps = lab.values, lab.eps
    methods = astuple(form.draw(TwoNorms, KEY))
    measured: dict[str, Aspects] = {}
    for method, place in zip(methods, st.columns(2), strict=True):
        with place:
            try:
                normed = normalise(values, method, eps=eps)
                measured[method] = aspects(values, method, eps=eps)
                draw_coloured(normed, method, lab.names, table.axis_names(KEY)[1], f"After {method}, table")
            except ValueError as problem:
                st.error(str(problem))
    if not measured:
        return
    columns = {"": ASPECTS} | {method: aspect_cells(of_norm) for method, of_norm in measured.items()}
    named_table("Two norms beside each other", columns)
    draw_note(TEXTS("five aspects"))


def draw_block() -> None:
    """A block of batch, sequence and features: the values that share statistics with a pressed one or move with it."""
    st.subheader(TEXTS("block"), anchor=False)
    size = form.keep(NormedBlock, CUBE_KEY, only=["batch", "tokens", "features", "norm"])
    shape = size.batch, size.tokens, size.features
    legal: dict[str, Any] = {
        name: numbered_choices(name, count) for name, count in zip(("sample", "token", "feature"), shape, strict=True)
    }
    legal["groups"] = [part for part in range(1, size.features + 1) if size.features % part == 0]
    settings = form.draw(NormedBlock, CUBE_KEY, legal=legal, disabled=["groups"] if size.norm != "group norm" else [])
    groups = settings.groups if settings.norm == "group norm" else 1
    cell = settings.sample, settings.token, settings.feature
    x = cube.block(*shape)
    labels = cube.set_labels(x.shape, settings.norm, groups)
    shared = labels == labels[cell]
    try:
        moves = cube.changes(x, settings.norm, cell, settings.push, groups)
    except ValueError as problem:
        st.error(str(problem))
        return
    texts = [["" if np.isnan(value) else f"{value:.1f}" for value in row] for row in _flat(x)]
    changes = [[f"{value:+.2f}" if abs(value) >= 5e-3 else "" for value in row] for row in _flat(moves)]
    shared_map = block_map("What shares its statistics", shared.astype(float), texts, cell, NORM, signed=False)
    moves_map = block_map("What moves with it", moves, changes, cell, SIGNAL, signed=True)

    def choose_value(x: object, y: object) -> None:
        if isinstance(x, int | float) and isinstance(y, int | float):
            sample, feature = divmod(int(x), size.features + 1)
            if all(0 <= place < count for place, count in zip((sample, int(y), feature), shape, strict=True)):
                form.put(CUBE_KEY, sample=sample, token=int(y), feature=feature)

    height = FRAME_PIXELS + ROW_PIXELS * size.tokens
    draw_charts(CUBE_KEY, shared_map, moves_map, height=height, on_click=choose_value)
    count, others = int(shared.sum()), int((np.abs(moves) > 1e-9).sum())
    draw_finding(TEXTS("in the block", shares=count, of=x.size, moves=others))
    st.caption(TEXTS("block and images"))


def aspect_cells(aspects: Aspects) -> list[str]:
    """The aspects of a norm in words, in the order of ASPECTS."""
    shared = f"{count_in_words(aspects.tokens, 'token')} × {count_in_words(aspects.features, 'feature')}"
    inference = "running statistics" if aspects.uses_running_statistics else "the same formula"
    if not aspects.uses_running_statistics and aspects.alone_change:
        inference += ", alone other results"
    batch_of_one = "refused" if aspects.single_token_error else "works"
    return [shared, batch_of_one, _moves_text(aspects.neighbour_change), _moves_text(aspects.padding_change), inference]


def block_map(
    title: str, cells: np.ndarray, texts: list[list[str]], cell: tuple[int, int, int], hue: str, *, signed: bool
) -> Figure:
    """A block (B, T, D) as one map of tokens by features for each sample, side by side.

    Features are numbered below each, above the sample's name; the value of `cell` is framed.
    """
    batch, tokens, features = cells.shape
    layout = layout_of(title, x="", y="token", legend=False, hue=hue)
    samples = [str(sample + 1) for sample in range(batch)]
    if features >= MIN_NAMED_FEATURES:
        samples = numbered_names("sample", batch)
    columns = [(sample, feature) for sample in range(batch) for feature in range(features)]
    below = {(sample, (features - 1) // 2): f"<br>{name}" for sample, name in enumerate(samples)}
    names = [f"{feature + 1}{below.get((sample, feature), '')}" for sample, feature in columns]
    ticks = {"tickvals": [sample * (features + 1) + feature for sample, feature in columns], "ticktext": names}
    bare: dict[str, Any] = {"showgrid": False, "ticks": "", "tickmode": "array", "tickangle": 0}
    layout["xaxis"] |= bare | ticks
    rows = list(range(tokens))
    layout["yaxis"] |= bare | {"autorange": "reversed", "tickvals": rows, "ticktext": [str(row + 1) for row in rows]}
    layout["shapes"] = frame_around(cell[0] * (features + 1) + cell[2], cell[1])
    flat = _flat(cells)
    measured = ~np.isnan(flat)
    shade: dict[str, Any] = {
        "name": title,
        "hue": hue,
        "text": texts,
        "texttemplate": "%{text}",
        "textfont": {"size": 12},
        "hovertemplate": "%{text}<extra></extra>",
    }
    shade |= {} if signed else {"zmin": 0, "zmax": 1}
    return figure_of([fixed_map(shade, np.nan_to_num(flat), measured, log=False, signed=signed)], layout)


def _moves_text(distance: float | None) -> str:
    if distance is None:
        return "there is no other"
    return f"others move by up to {number(distance, 3)}" if distance else "others stay"


def _flat(cells: np.ndarray) -> np.ndarray:
    """The samples of a block side by side (T, B * (D + 1) - 1), with an empty column between them."""
    batch, tokens, features = cells.shape
    flat = np.full((tokens, batch * (features + 1)), np.nan)
    for sample in range(batch):
        flat[:, sample * (features + 1) : (sample + 1) * (features + 1) - 1] = cells[sample]
    return flat[:, :-1]
