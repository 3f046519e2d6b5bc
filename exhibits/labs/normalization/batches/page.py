"""A batch's statistics: how far they are off, and what they do to one token."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, figure_of, layout_of
from components.charts.colour import NORM, SIGNAL
from components.charts.parts import numbers
from components.controls import form
from components.labs.examples import numbered_choices
from components.labs.normed_table import LabTable
from components.labs.parts import draw_charts, draw_finding, draw_sentence, line_chart
from components.shell.page_links import link_to_compare
from exhibits.labs.normalization.batches.numbers import (
    BATCHES,
    SIZES,
    Estimates,
    estimates,
    expected_mean_errors,
    mean_errors,
)
from models.content import Texts
from models.spec import RunConfig
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/normalization/batches")
KEY = "normalization"


@dataclass(frozen=True)
class DrawnBatches(Settings):
    columns = (3,)

    size: Annotated[int, Knob("Batch size", choices=dict.fromkeys(SIZES), link="batch-size", control="steps")] = 8
    feature: Annotated[int, Knob("Feature of the batches", choices={}, link="batch-feature")] = 0
    seed: Annotated[int, Knob("Seed of the batches", high=999, link="batch-seed")] = 0


def draw(table: LabTable) -> None:
    """Draws the statistics of random batches of the table's tokens, and the results of one token in them."""
    values, row = table.values, table.row
    features = numbered_choices("feature", values.shape[1])
    settings = form.draw(DrawnBatches, f"{KEY}_batches", legal={"feature": features})
    size, feature, seed = settings.size, settings.feature, settings.seed
    batches = estimates(values, row, feature, size, seed, eps=table.eps)
    lines = {"measured": mean_errors(values, feature, seed), "σ / √B": expected_mean_errors(values, feature)}
    axes = {"x": "batch size B", "unit": "RMS", "hue": SIGNAL}
    error_chart = line_chart("Error of the mean by batch size", SIZES, lines, ("now", "formula"), **axes)
    draw_charts(KEY, statistics_chart(batches), error_chart, neighbours_chart(batches))
    draw_finding(statistics_sentence(batches, size), "measured")
    draw_sentence(results_sentence(batches, size, table.names[row]), "measured")
    st.caption(TEXTS("drawn batches", batches=BATCHES))
    if size > 1:
        link_to_compare(
            [RunConfig(norm=norm, batch=size) for norm in ("batch norm", "layer norm")], TEXTS("train batches")
        )


def statistics_sentence(batches: Estimates, size: int) -> str:
    """How far mean and variance of the batches are from the true ones."""
    if not batches.variance:
        return TEXTS("no spread to estimate")
    sigma = np.sqrt(batches.variance)
    mean_error = np.sqrt(((batches.means - batches.mean) ** 2).mean())
    shares = {"variance": batches.variances.mean() / batches.variance, "expected": (size - 1) / size}
    spread = batches.variances.std() / batches.variance
    return TEXTS("batches are off", size=size, off=mean_error, formula=sigma / np.sqrt(size), spread=spread, **shares)


def results_sentence(batches: Estimates, size: int, name: str) -> str:
    """How much the result of one token depends on its neighbours in the batch."""
    if batches.batch_norm_results is None:
        return TEXTS("batch of one", token=name, layer=batches.layer_norm_result)
    low, high = np.quantile(batches.batch_norm_results, (0.05, 0.95))
    heading = "neighbours of two" if size == 2 else "neighbours"
    return TEXTS(heading, token=name, low=float(low), high=float(high), layer=batches.layer_norm_result)


def statistics_chart(batches: Estimates) -> Figure:
    """Mean and variance of each batch as a dot, and those of the table."""
    layout = layout_of("Mean and variance of batches", x="mean", y="variance", hue=SIGNAL)
    dots = {"type": "scatter", "mode": "markers", "hovertemplate": "mean %{x:.4g}, variance %{y:.4g}<extra></extra>"}
    batch_marker = {"color": SIGNAL, "size": 6, "opacity": 0.5}
    table_marker = {"color": NORM, "size": 14, "symbol": "diamond"}
    x, y = numbers(batches.means), numbers(batches.variances)
    table_x, table_y = numbers([batches.mean]), numbers([batches.variance])
    traces = [
        {**dots, "name": "a batch", "x": x, "y": y, "marker": batch_marker},
        {**dots, "name": "the table", "x": table_x, "y": table_y, "marker": table_marker},
    ]
    return figure_of(traces, layout)


def neighbours_chart(batches: Estimates) -> Figure:
    """The result of one token in each batch, by either norm."""
    layout = layout_of("One token among its neighbours", x="batch", y="result", hue=NORM)
    drawn = list(range(1, BATCHES + 1))
    level = [batches.layer_norm_result, batches.layer_norm_result]
    line = {"type": "scatter", "mode": "lines", "name": "layer norm", "line": {"color": SIGNAL, "width": 3}}
    traces = [{**line, "x": [1, BATCHES], "y": numbers(level), "hovertemplate": "%{y:.4g}<extra></extra>"}]
    if batches.batch_norm_results is not None:
        dots = {"type": "scatter", "mode": "markers", "name": "batch norm", "marker": {"color": NORM, "size": 5}}
        hover = "batch %{x}: %{y:.4g}<extra></extra>"
        traces.insert(0, {**dots, "x": drawn, "y": numbers(batches.batch_norm_results), "hovertemplate": hover})
    return figure_of(traces, layout)
