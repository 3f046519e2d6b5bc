"""A block of batch, sequence and features: what shares its statistics, and what moves."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.parts import fixed_map, frame_around
from components.controls import form
from components.labs.examples import numbered_choices, numbered_names
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import named_table
from exhibits.labs.normalization.cube import numbers as cube
from models.content import Texts
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/cube")
KEY = "normalization"

CUBE_KEY = f"{KEY}_cube"
FRAME_PIXELS = 76  # height of a map's title and axis
ROW_PIXELS = 30  # height of a row of cells
MIN_FEATURES_FOR_NAMES = 2  # a sample of fewer columns has no room for its name
MIN_CHANGE = 1e-9  # a smaller change counts as none


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


def draw(_table: LabTable) -> None:
    """Draws a block of batch, sequence and features twice.

    One map shows which values share their statistics with the chosen value, the other which ones move with it.
    """
    st.subheader(TEXTS("block"), anchor=False)
    size = form.keep(NormedBlock, CUBE_KEY, only=["batch", "tokens", "features", "norm"])
    shape = size.batch, size.tokens, size.features
    has_groups = size.norm == "group norm"
    legal: dict[str, Any] = {
        "sample": numbered_choices("sample", size.batch),
        "token": numbered_choices("token", size.tokens),
        "feature": numbered_choices("feature", size.features),
        "groups": [divisor for divisor in range(1, size.features + 1) if size.features % divisor == 0],
    }
    settings = form.draw(NormedBlock, CUBE_KEY, legal=legal, disabled=[] if has_groups else ["groups"])
    groups = settings.groups if has_groups else 1
    cell = settings.sample, settings.token, settings.feature
    x = cube.block(*shape)
    labels = cube.set_labels(x.shape, settings.norm, groups)
    shares_statistics = labels == labels[cell]
    try:
        moves = cube.changes(x, settings.norm, cell, settings.push, groups)
    except ValueError as problem:
        st.error(str(problem))
        return
    texts = [["" if np.isnan(value) else f"{value:.1f}" for value in row] for row in _side_by_side(x)]
    changes = [[f"{value:+.2f}" if abs(value) >= 5e-3 else "" for value in row] for row in _side_by_side(moves)]
    shared_map = block_map(
        "What shares its statistics", shares_statistics.astype(float), texts=texts, cell=cell, hue=NORM, signed=False
    )
    moves_map = block_map("What moves with it", moves, texts=changes, cell=cell, hue=SIGNAL, signed=True)

    def choose_value(x: object, y: object) -> None:
        if not isinstance(x, int | float) or not isinstance(y, int | float):
            return
        token = int(y)
        sample, feature = divmod(int(x), size.features + 1)  # an empty column follows each sample
        if 0 <= sample < size.batch and 0 <= token < size.tokens and 0 <= feature < size.features:
            form.put(CUBE_KEY, sample=sample, token=token, feature=feature)

    height = FRAME_PIXELS + ROW_PIXELS * size.tokens
    draw_charts(CUBE_KEY, shared_map, moves_map, height=height, on_click=choose_value)
    sharing_count = int(shares_statistics.sum())
    moving_count = int((np.abs(moves) > MIN_CHANGE).sum())
    draw_finding(TEXTS("in the block", shares=sharing_count, of=x.size, moves=moving_count))
    st.caption(TEXTS("block and images"))
    draw_finding(TEXTS("shapes of inputs"))
    columns = {shape: [cube.averaged_over(norm, shape) or "refused" for norm in cube.NORMS] for shape in cube.SHAPES}
    named_table("What each norm averages over, by shape", {"norm": list(cube.NORMS)} | columns)
    st.caption(TEXTS("channels first"))


def block_map(
    title: str, cells: np.ndarray, texts: list[list[str]], cell: tuple[int, int, int], hue: str, *, signed: bool
) -> Figure:
    """A block (B, T, D) as maps of tokens by features, one for each sample, side by side.

    `texts` has the text of each cell, in the layout of `_side_by_side`. Features are numbered below each map, above
    the sample's name. A frame marks `cell`: sample, token and feature.
    """
    batch, tokens, features = cells.shape
    layout = layout_of(title, x="", y="token", legend=False, hue=hue)
    samples = [str(sample + 1) for sample in range(batch)]
    if features >= MIN_FEATURES_FOR_NAMES:
        samples = numbered_names("sample", batch)
    columns = [(sample, feature) for sample in range(batch) for feature in range(features)]
    middle = (features - 1) // 2  # the sample's name stands below this feature
    names = [
        f"{feature + 1}<br>{samples[sample]}" if feature == middle else f"{feature + 1}" for sample, feature in columns
    ]
    ticks = {"tickvals": [sample * (features + 1) + feature for sample, feature in columns], "ticktext": names}
    axis_style: dict[str, Any] = {"showgrid": False, "ticks": "", "tickmode": "array", "tickangle": 0}
    layout["xaxis"] |= axis_style | ticks
    rows = list(range(tokens))
    layout["yaxis"] |= axis_style
    layout["yaxis"] |= {"autorange": "reversed", "tickvals": rows, "ticktext": [str(row + 1) for row in rows]}
    sample, token, feature = cell
    layout["shapes"] = frame_around(sample * (features + 1) + feature, token)
    flat = _side_by_side(cells)
    measured = ~np.isnan(flat)
    trace_style: dict[str, Any] = {
        "name": title,
        "hue": hue,
        "text": texts,
        "texttemplate": "%{text}",
        "textfont": {"size": 12},
        "hovertemplate": "%{text}<extra></extra>",
    }
    if not signed:
        trace_style |= {"zmin": 0, "zmax": 1}
    return figure_of([fixed_map(trace_style, np.nan_to_num(flat), measured, log=False, signed=signed)], layout)


def _side_by_side(cells: np.ndarray) -> np.ndarray:
    """The samples of a block side by side (T, B * (D + 1) - 1), with an empty column between them."""
    batch, tokens, features = cells.shape
    flat = np.full((tokens, batch * (features + 1)), np.nan)
    for sample in range(batch):
        flat[:, sample * (features + 1) : (sample + 1) * (features + 1) - 1] = cells[sample]
    return flat[:, :-1]
