"""Landscape: the loss around the net shown, its curvature on the way there, and how the stack stretches its input."""

from typing import Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import fixed_map, outlined
from components.instruments.panel import InstrumentPanel, branch_weights
from exhibits.instruments.landscape.answer import LANDSCAPE, SHARPNESS, STREAM_JACOBIAN, Sharpness
from exhibits.instruments.landscape.numbers import (
    edge_sentence,
    jacobian_sentence,
    sharpness_sentence,
    slice_sentence,
    stability_edge,
)
from models.content import Texts
from models.spec import RunConfig
from models.spec.parametrization import has_uniform_rates

WORDS = Texts("instruments/landscape")

CELLS = {"15 x 15": 15, "21 x 21": 21, "25 x 25": 25}  # along each axis
REACHES = (0.1, 0.25, 0.5, 1.0)  # filter lengths
MAX_JACOBIAN_WIDTH = 64  # of a stream
CROSS_ARM = 0.05  # of the cross that marks the net, as a share of the reach
LINEAR_DECADES = 1.0  # between the least and the greatest loss; above it, colours are logarithmic
QUICK_SLICE = 1e10  # multiplications of all forward passes; above it, the slice waits for a button


def draw(panel: InstrumentPanel) -> None:
    _draw_slice(panel)
    with st.expander("Sharpness: how curved it is, step by step", key=panel.key("sharpness")):
        _draw_sharpness(panel)
    with st.expander("Stretch: what the stack does to small changes of its input", key=panel.key("stretch")):
        _draw_jacobian(panel)


def slice_map(axis: np.ndarray, loss: np.ndarray) -> Figure:
    """The loss (N, N) as colour and contours over two directions. A cross marks the net, red a loss that is not finite.

    `axis` (N,): coordinates of the cells along either direction, in filter lengths.
    """
    title = "Loss on a plane of weights"
    layout = layout_of(title, x="along d, in filter lengths", y="along e, in filter lengths", legend=False, hue=LOSS)
    cells = np.asarray(loss, float)
    finite = cells[np.isfinite(cells)]
    if not len(finite):
        return figure_of([], layout, "no finite loss")
    log = bool((finite > 0).all() and np.log10(finite.max() / finite.min()) > LINEAR_DECADES)
    axes = {"x": np.round(axis, 6).tolist(), "y": np.round(axis, 6).tolist()}
    heat = {
        "name": title,
        "hue": LOSS,
        "hovertemplate": "d %{x}, e %{y}: %{customdata:.4g}<extra></extra>",
        "colorbar": colour_bar("loss, log colour" if log else "loss"),
    }
    contours = {
        "type": "contour",
        "name": "contours",
        "contours": {"coloring": "none"},
        "line": {"width": 1},
        "ncontours": 12,
        "hoverinfo": "skip",
    }
    arm = CROSS_ARM * float(np.abs(axis).max(initial=0))
    horizontal = {"type": "line", "x0": -arm, "x1": arm, "y0": 0, "y1": 0}
    vertical = {"type": "line", "x0": 0, "x1": 0, "y0": -arm, "y1": arm}
    layers = zip(outlined(horizontal), outlined(vertical), strict=True)  # both outlines lie below both lines
    layout["shapes"] = [shape for layer in layers for shape in layer]
    return figure_of([fixed_map(trace | axes, cells, log=log) for trace in (heat, contours)], layout)


def sharpness_chart(steps: np.ndarray, sharpness: np.ndarray, edge: np.ndarray) -> Figure:
    """Largest Hessian eigenvalue by step, (K,), and the edge of stability, (K,), unless it is nowhere finite."""
    series = [Series("largest eigenvalue", sharpness)]
    if np.isfinite(edge).any():
        series.append(Series("edge of stability", edge, "formula"))
    return depth_profile(title="Sharpness by step", unit="eigenvalue", hue=LOSS, sites=steps, series=series, x="step")


def spectrum_chart(values: np.ndarray) -> Figure:
    """Singular values (D,) by rank."""
    return depth_profile(
        title="Stretch by rank",
        unit="singular value",
        hue=SIGNAL,
        sites=range(1, len(values) + 1),
        series=[Series("input to end", values)],
        x="rank, the largest first",
    )


def _draw_slice(panel: InstrumentPanel) -> None:
    cfg = panel.cfg
    chart_place = st.container()  # above the controls
    with st.container(horizontal=True, vertical_alignment="bottom"):
        cells = CELLS[st.selectbox("Cells", list(CELLS), key=panel.key("cells"), width=150)]
        settings: dict[str, Any] = {"key": panel.key("reach"), "help": "In filter lengths.", "width": 150}
        reach = float(st.selectbox("Reach", REACHES, index=len(REACHES) - 1, **settings))
    args: dict[str, Any] = {"cells": cells, "reach": reach}
    with chart_place:
        if branch_weights(cfg) * cfg.batch * cfg.tokens * cells**2 <= QUICK_SLICE:
            measured = panel.ask(LANDSCAPE, **args)
        else:
            measured = panel.ask_by_button(LANDSCAPE, "Walk around the step shown", **args)
        if measured is None:
            return
        value = measured.value
        panel.chart(slice_map(value.axis, value.loss), height=340)
        panel.write(slice_sentence(value.axis, value.loss))
        st.caption(WORDS("directions", weights=value.moved))


def _draw_sharpness(panel: InstrumentPanel) -> None:
    panel.write(edge_sentence(panel.cfg.optimizer, panel.cfg.lr), bold=False)
    measured = panel.ask_by_button(SHARPNESS, "Measure sharpness up to the step shown")
    if measured is None:
        return
    value, cfg = measured.value, measured.cfg
    columns = {key: getattr(value, key) for key in ("steps", "rate", "sharpness", "residual")}
    panel.chart(sharpness_chart(value.steps, value.sharpness, stability_edge(cfg.optimizer, value.rate)), height=340)
    panel.write(sharpness_sentence(cfg.optimizer, **columns), bold=False)
    panel.table("How far power iteration came", **columns, products=value.products)
    st.caption(" ".join(_cautions(cfg, value)))


def _cautions(cfg: RunConfig, value: Sharpness) -> list[str]:
    """Limits of the edge of stability in this configuration."""
    cautions = [WORDS("only a guide")]
    if value.samples and value.samples < cfg.batch:
        cautions.append(WORDS("fewer samples", samples=value.samples, batch=cfg.batch))
    if cfg.clip:
        cautions.append(WORDS("clip"))
    if cfg.weight_decay and cfg.optimizer in ("sgd", "momentum"):
        cautions.append(WORDS("weight decay", decay=cfg.weight_decay))
    if not has_uniform_rates(cfg):
        cautions.append(WORDS("own rates", parametrization=cfg.parametrization))
    if cfg.activation == "relu":
        cautions.append(WORDS("relu"))
    return cautions


def _draw_jacobian(panel: InstrumentPanel) -> None:
    if panel.cfg.width > MAX_JACOBIAN_WIDTH:
        st.info(WORDS("too wide", widest=MAX_JACOBIAN_WIDTH))
        return
    measured = panel.ask_by_button(STREAM_JACOBIAN, "Take the stack's Jacobian at the step shown")
    if measured is None:
        return
    panel.chart(spectrum_chart(measured.value.singular_values))
    panel.write(jacobian_sentence(measured.value.singular_values), bold=False)
    sentences = [WORDS("token", token=measured.value.token) if measured.cfg.tokens > 1 else WORDS("sample")]
    if measured.cfg.stack in ("residual", "dlcl"):
        sentences.append(WORDS("end of residual") if measured.cfg.stack == "residual" else WORDS("end of dlcl"))
    if measured.value.samples > 1:
        sentences.append(WORDS("batch norm", samples=measured.value.samples))
    st.caption(" ".join(sentences))
