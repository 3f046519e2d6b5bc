"""Streams and depth attention: how the streams are mixed, by how much that grows, and which outputs are read."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure, colour_bar, figure_of, layout_of
from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import fixed_map, places, site_word
from components.instruments.panel import InstrumentPanel, Measured
from components.labs.maps import signed_map
from exhibits.instruments.connections.answer import CONNECTIONS, Connections
from exhibits.instruments.connections.numbers import attention_sentence, counts, mixing_sentence, readers, sources
from models.content import Texts
from models.spec import RunConfig, plan

WORDS = Texts("instruments/connections")

MAP_HEIGHT = 340  # pixels


def draw(panel: InstrumentPanel) -> None:
    measured = panel.ask(CONNECTIONS)
    if measured is None:
        return
    if measured.value.mixing.size:
        _draw_mixing(panel, measured)
    else:
        _draw_attention(panel, measured)


def weight_map(
    title: str,
    *,
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    values: np.ndarray,
    unit: str,
    axes: tuple[str, str],
    measured: np.ndarray | None = None,
    signed: bool = False,
    ticks: int = 5,
) -> Figure:
    """Weights (R, C) as colours over places of the net, the first row on top; `axes` are the titles of x and y.

    Rows and columns are names in words, each with the site or text of its tick. Cells that are not `measured` stay
    empty. Colours begin at 0, or are symmetric about it if `signed`.
    """
    layout = layout_of(title, x=axes[0], y=axes[1], legend=False, hue=SIGNAL)
    layout["xaxis"] |= {"showgrid": False, "ticks": ""}
    layout["yaxis"] |= {"showgrid": False, "ticks": "", "autorange": "reversed"}
    trace: dict[str, Any] = {
        "name": title,
        "hue": SIGNAL,
        "x": list(columns),
        "y": list(rows),
        "hovertemplate": "%{y}, %{x}: %{customdata:.4g}<extra></extra>",
        "colorbar": colour_bar(unit),
    }
    if not signed:
        trace |= {"zmin": 0, "zmax": float(np.nanmax(values, initial=0)) or 1}
    shade = fixed_map(trace, values, measured, log=False, signed=signed)
    return figure_of([shade], layout, "", places=places([*columns.values()]), rows=places([*rows.values()], ticks))


def mixing_map(sites: Sequence[str], mixing: np.ndarray) -> Figure:
    """The entries of the mixing matrices (M, n, n) over depth, a row for each stream made from each stream read."""
    streams = range(1, mixing.shape[-1] + 1)
    return weight_map(
        "Mixing of the streams by depth",
        rows={f"stream {row} from {column}": f"{row} ← {column}" for row in streams for column in streams},
        columns={site_word(site): site for site in sites},
        values=mixing.reshape(len(sites), -1).T,
        unit="weight",
        axes=("block", ""),
        signed=True,
        ticks=len(streams) ** 2,
    )


def attention_map(cfg: RunConfig, attention: np.ndarray) -> Figure:
    """Shares (M, K) of every earlier output in what the sublayers after the first, and the head, read."""
    rows, columns = readers(cfg), sources(cfg)
    return weight_map(
        "Attention over depth",
        rows=rows,
        columns=columns,
        values=attention,
        measured=np.arange(len(columns)) < counts(cfg)[:, None],
        unit="share",
        axes=("output of block", "read by block"),
    )


def matrix(title: str, weights: np.ndarray) -> Figure:
    """The numbers of one matrix (n, n)."""
    streams = [str(stream) for stream in range(1, len(weights) + 1)]
    return signed_map(
        title, rows=streams, columns=streams, values=weights, x="stream read", y="stream made", digits=2, bar=False
    )


def _draw_mixing(panel: InstrumentPanel, measured: Measured[Connections]) -> None:
    value, sites = measured.value, plan(measured.cfg).branches
    gains = [Series("signal: rows", value.forward), Series("gradient: columns", value.backward, "other")]
    panel.write(mixing_sentence(sites, value.product, value.forward, value.backward))
    panel.row(
        mixing_map(sites, value.mixing),
        depth_profile(
            title="Gain of the product by depth", unit="gain", hue=SIGNAL, sites=sites, series=gains, guides=[1.0]
        ),
        height=MAP_HEIGHT,
    )
    words = {site_word(site): row for row, site in enumerate(sites)}
    row = words[st.selectbox("Matrices of", list(words), index=len(words) - 1, key=panel.key("site"))]
    panel.row(matrix("Mixing", value.mixing[row]), matrix("Product from the input on", value.product[row]))


def _draw_attention(panel: InstrumentPanel, measured: Measured[Connections]) -> None:
    panel.write(attention_sentence(measured.cfg, measured.value.attention))
    if len(measured.value.attention):
        panel.chart(attention_map(measured.cfg, measured.value.attention), height=MAP_HEIGHT)
