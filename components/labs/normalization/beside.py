"""Closer look: two norms on one table with their aspects, and a block of batch, sequence and features."""

from dataclasses import astuple, dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.parts import fixed_map, frame_around, title_of
from components.controls import form
from components.controls import number_table as table
from components.labs.examples import numbered_names
from components.labs.normalization.table import coloured
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.content import Texts
from models.labs import cube
from models.labs.aspects import COMPARED, Aspects, aspects
from models.labs.normalization import normalised
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"
CUBE = f"{KEY}_cube"
HEAD, ROW = 76, 30  # pixels: title and axis of a block, and a row of its cells
MIN_FEATURES_NAMED = 2  # of a sample whose columns have room for the word below them
NORMS = dict.fromkeys(COMPARED)


@dataclass(frozen=True)
class TwoNorms(Settings):
    """The two norms that stand beside each other."""

    columns = (2,)

    one: Annotated[str, Knob("Norm", choices=NORMS, link="one")] = "layer norm"
    beside: Annotated[str, Knob("Beside it", choices=NORMS, link="beside")] = "batch norm"


def two_norms(values: np.ndarray, eps: float, names: list[str]) -> None:
    """The table after two norms, and five aspects of each, measured on it."""
    methods = astuple(form.draw(TwoNorms, KEY))
    seen: dict[str, Aspects] = {}
    for method, place in zip(methods, st.columns(2), strict=True):
        with place:
            try:
                found = normalised(values, method, eps=eps)
                seen[method] = aspects(values, method, eps=eps)
                coloured(found, method, names, table.names(KEY)[1], f"After {method}, table")
            except ValueError as problem:
                st.error(str(problem))
    if not seen:
        return
    rows = ("statistics over", "a batch of one", "another token's number grows by 1", "a row of padding is added")
    asked = [*rows, "at inference"]
    named_table("Two norms beside each other", {"": asked} | {method: in_words(one) for method, one in seen.items()})
    st.caption(f"{TEXTS('five aspects')} {badge('formula')}")


def in_words(seen: Aspects) -> list[str]:
    """The aspects of a norm, one cell each."""
    shared = f"{_count(seen.tokens, 'token')} × {_count(seen.features, 'feature')}"
    inference = "running statistics" if seen.remembers else "the same formula"
    if not seen.remembers and seen.alone:
        inference += ", alone other results"
    batch_of_one = "refused" if seen.refused else "works"
    return [shared, batch_of_one, _moves(seen.neighbour), _moves(seen.padding), inference]


def _moves(by: float | None) -> str:
    if by is None:
        return "there is no other"
    return f"others move by up to {number(by, 3)}" if by else "others stay"


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'s'[: count != 1]}"


@dataclass(frozen=True)
class NormedBlock(Settings):
    """A block of numbers, its norm, and the value that is touched."""

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


def block() -> None:
    """A block of batch, sequence and features: touch a value, see what shares its statistics and what moves with it."""
    st.subheader(TEXTS("block"), anchor=False)
    size = form.keep(NormedBlock, CUBE, only=["batch", "tokens", "features", "norm"])
    shape = size.batch, size.tokens, size.features
    legal: dict[str, Any] = {
        name: dict(enumerate(numbered_names(name, count)))
        for name, count in zip(("sample", "token", "feature"), shape, strict=True)
    }
    legal["groups"] = [part for part in range(1, size.features + 1) if size.features % part == 0]
    chosen = form.draw(NormedBlock, CUBE, legal=legal, idle=["groups"] if size.norm != "group norm" else [])
    groups = chosen.groups if chosen.norm == "group norm" else 1
    at = chosen.sample, chosen.token, chosen.feature
    x = cube.block(*shape)
    labels = cube.sharing(x.shape, chosen.norm, groups)
    shared = labels == labels[at]
    try:
        moves = cube.moved(x, chosen.norm, at, chosen.push, groups)
    except ValueError as problem:
        st.error(str(problem))
        return
    texts = [["" if np.isnan(value) else f"{value:.1f}" for value in row] for row in _flat(x)]
    changes = [[f"{value:+.2f}" if abs(value) >= 5e-3 else "" for value in row] for row in _flat(moves)]
    charts = (
        slabs("What shares its statistics", shared.astype(float), texts, at, NORM, signed=False),
        slabs("What moves with it", moves, changes, at, SIGNAL, signed=True),
    )

    def touch(x: object, y: object) -> None:
        if isinstance(x, int | float) and isinstance(y, int | float):
            sample, feature = divmod(int(x), size.features + 1)
            cell = sample, int(y), feature
            if all(0 <= place < count for place, count in zip(cell, shape, strict=True)):
                form.put(CUBE, sample=sample, token=int(y), feature=feature)

    for figure, place in zip(charts, st.columns(2), strict=True):
        with place:
            title = title_of(figure)
            height = HEAD + ROW * size.tokens
            static_chart(figure, title, f"{CUBE}_{title}".lower().replace(" ", "_"), height, on_click=touch)
    count, others = int(shared.sum()), int((np.abs(moves) > 1e-9).sum())
    st.markdown(f"**{TEXTS('in the block', shares=count, of=x.size, moves=others)}** {badge('formula')}")
    st.caption(TEXTS("block and images"))


def slabs(
    title: str, cells: np.ndarray, texts: list[list[str]], at: tuple[int, int, int], hue: str, *, signed: bool
) -> Figure:
    """A block (B, T, D) as one map of tokens by features for each sample, side by side.

    Features are numbered_names below each, above the sample's name; the value at `at` is framed.
    """
    batch, tokens, features = cells.shape
    layout = layout_of(title, x="", y="token", legend=False, hue=hue)
    called = (
        numbered_names("sample", batch) if features >= MIN_FEATURES_NAMED else [str(one + 1) for one in range(batch)]
    )
    columns = [(sample, feature) for sample in range(batch) for feature in range(features)]
    below = {(sample, (features - 1) // 2): f"<br>{name}" for sample, name in enumerate(called)}
    names = [f"{feature + 1}{below.get((sample, feature), '')}" for sample, feature in columns]
    ticks = {"tickvals": [sample * (features + 1) + feature for sample, feature in columns], "ticktext": names}
    bare: dict[str, Any] = {"showgrid": False, "ticks": "", "tickmode": "array", "tickangle": 0}
    layout["xaxis"] |= bare | ticks
    rows = list(range(tokens))
    layout["yaxis"] |= bare | {"autorange": "reversed", "tickvals": rows, "ticktext": [str(row + 1) for row in rows]}
    layout["shapes"] = frame_around(at[0] * (features + 1) + at[2], at[1])
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


def _flat(cells: np.ndarray) -> np.ndarray:
    """The samples of a block side by side, (T, B * (D + 1) - 1), with an empty column between two."""
    batch, tokens, features = cells.shape
    flat = np.full((tokens, batch * (features + 1)), np.nan)
    for sample in range(batch):
        flat[:, sample * (features + 1) : (sample + 1) * (features + 1) - 1] = cells[sample]
    return flat[:, :-1]
