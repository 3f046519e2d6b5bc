"""Closer look at a batch's statistics: how wrong they are, and a recurrent net that runs out of sequences."""

from dataclasses import astuple, dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.depth import Series, by_name, depth_profile, linear_profile
from components.charts.parts import numbers
from components.controls import form
from components.labs.parts import draw_charts, draw_finding
from components.shell.text import badge, named_table, number
from components.shell.ways_on import to_compare
from models.content import Texts
from models.labs.batch_estimates import BATCHES, SIZES, Estimates, errors, estimates, expected_errors
from models.labs.recurrent import FEATURES, RecurrentStatistics, read
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization")
KEY = "normalization"


@dataclass(frozen=True)
class DrawnBatches(Settings):
    """The batches that are drawn from the table, and the feature that is looked at."""

    columns = (3,)

    size: Annotated[int, Knob("Batch size", choices=dict.fromkeys(SIZES), link="batch-size", control="steps")] = 8
    feature: Annotated[int, Knob("Feature of the batches", choices={}, link="batch-feature")] = 0
    seed: Annotated[int, Knob("Seed of the batches", high=999, link="batch-seed")] = 0


def batches(values: np.ndarray, row: int, eps: float, names: list[str]) -> None:
    """Statistics of batches drawn from the table around the true ones, and one token among changing neighbours."""
    features = {at: f"feature {at + 1}" for at in range(values.shape[1])}
    chosen = form.draw(DrawnBatches, f"{KEY}_batches", legal={"feature": features})
    size, feature = chosen.size, chosen.feature
    found = estimates(values, row, feature, size, chosen.seed, eps=eps)
    lines = [
        Series("measured", errors(values, feature, chosen.seed)),
        Series("σ / √B", expected_errors(values, feature), "formula"),
    ]
    title = "Error of the mean by batch size"
    error = depth_profile(title=title, x="batch size B", sites=SIZES, unit="RMS", hue=SIGNAL, series=lines)
    draw_charts(KEY, cloud(found), error, neighbours(found))
    draw_finding(spread_of_statistics(found, size), "measured")
    st.markdown(f"{spread_of_results(found, size, names[row])} {badge('measured')}")
    st.caption(TEXTS("drawn batches", batches=BATCHES))
    if size > 1:
        to_compare([RunConfig(norm=norm, batch=size) for norm in ("batch norm", "layer norm")], TEXTS("train batches"))


def cloud(found: Estimates) -> Figure:
    """A dot for each batch at its mean and variance, and the table's own."""
    layout = layout_of("Mean and variance of batches", x="mean", y="variance", hue=SIGNAL)
    dots = {"type": "scatter", "mode": "markers", "hovertemplate": "mean %{x:.4g}, variance %{y:.4g}<extra></extra>"}
    places = (
        ("a batch", found.means, found.variances, {"color": SIGNAL, "size": 6, "opacity": 0.5}),
        ("the table", [found.mean], [found.variance], {"color": NORM, "size": 14, "symbol": "diamond"}),
    )
    traces = [
        {**dots, "name": name, "x": numbers(x), "y": numbers(y), "marker": marker} for name, x, y, marker in places
    ]
    return figure_of(traces, layout)


def neighbours(found: Estimates) -> Figure:
    """What one token becomes in each batch, by either norm."""
    layout = layout_of("One token among its neighbours", x="batch", y="result", hue=NORM)
    drawn = list(range(1, BATCHES + 1))
    level = [found.by_layer, found.by_layer]
    line = {"type": "scatter", "mode": "lines", "name": "layer norm", "line": {"color": SIGNAL, "width": 3}}
    traces = [{**line, "x": [1, BATCHES], "y": numbers(level), "hovertemplate": "%{y:.4g}<extra></extra>"}]
    if found.by_batch is not None:
        dots = {"type": "scatter", "mode": "markers", "name": "batch norm", "marker": {"color": NORM, "size": 5}}
        hover = "batch %{x}: %{y:.4g}<extra></extra>"
        traces.insert(0, {**dots, "x": drawn, "y": numbers(found.by_batch), "hovertemplate": hover})
    return figure_of(traces, layout)


def spread_of_statistics(found: Estimates, size: int) -> str:
    """How far the batches' mean and variance are from the true ones."""
    if not found.variance:
        return TEXTS("no spread to estimate")
    sigma, off = np.sqrt(found.variance), np.sqrt(((found.means - found.mean) ** 2).mean())
    shares = {"variance": found.variances.mean() / found.variance, "expected": (size - 1) / size}
    spread = found.variances.std() / found.variance
    return TEXTS("batches are off", size=size, off=off, formula=sigma / np.sqrt(size), spread=spread, **shares)


def spread_of_results(found: Estimates, size: int, name: str) -> str:
    """How far one token's result moves with its neighbours."""
    if found.by_batch is None:
        return TEXTS("batch of one", token=name, layer=found.by_layer)
    low, high = np.quantile(found.by_batch, (0.05, 0.95))
    heading = "neighbours of two" if size == 2 else "neighbours"
    return TEXTS(heading, token=name, low=float(low), high=float(high), layer=found.by_layer)


@dataclass(frozen=True)
class ReadSequences(Settings):
    """The batch that the cell reads."""

    columns = (2,)

    count: Annotated[int, Knob("Sequences", low=2, high=12, link="batch", control="slider")] = 6
    seed: Annotated[int, Knob("Seed of lengths and weights", high=999)] = 0


def recurrent(_values: np.ndarray, _row: int, _eps: float, _names: list[str]) -> None:
    """A batch of sequences of different lengths through a recurrent cell, and the statistics of either norm."""
    found = read(*astuple(form.draw(ReadSequences, f"{KEY}_rnn")))
    st.latex(r"h_t=\tanh\bigl(N(W_h h_{t-1}+W_x x_t)\bigr)")
    draw_finding(lengths(found))
    steps = range(1, len(found.left) + 1)
    columns = {
        "batch norm: mean": found.mean,
        "batch norm: variance": found.variance,
        "first sequence, batch norm": found.by_batch,
        "first sequence, layer norm": found.by_layer,
    }
    numbers = {name: [number(one, 3) for one in values] for name, values in columns.items()}
    named_table("Statistics by step", {"step": list(steps), "sequences left": found.left} | numbers)
    series = by_name({"batch norm": found.batch_size, "layer norm": found.layer_size})
    title = "Size after the norm by step"
    draw_charts(
        KEY, linear_profile(title=title, x="step", sites=steps, unit="RMS", hue=SIGNAL, series=series, guides=(0, 1))
    )
    st.caption(f"{TEXTS('random cell', features=FEATURES)} {badge('formula')}")


def lengths(found: RecurrentStatistics) -> str:
    """What becomes of batch norm's statistics towards the end of the batch."""
    alone, steps = found.left.count(1), len(found.left)
    if alone:
        when = "step" if alone == 1 else f"{alone} steps"
        batch_norm = TEXTS("last sequence", steps=when, size=found.layer_size[-1])
    else:
        batch_norm = TEXTS("variances", least=min(found.variance), most=max(found.variance))
    listed, left = ", ".join(map(str, found.lengths)), found.left
    return TEXTS("lengths", lengths=listed, first=left[0], steps=steps, last=left[-1], batch_norm=batch_norm)
