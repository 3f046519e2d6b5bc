"""Where the gradient came from: through residual or branch at every add, and through how many branches in all."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile, linear_profile
from components.charts.parts import Figure
from components.instruments.panel import InstrumentPanel, Measured
from exhibits.instruments.paths.answer import GRADIENT_SHARES, PATH_LENGTHS, GradientShares, PathLengths
from exhibits.instruments.paths.numbers import lengths_sentence, path_counts, shares_sentence
from models.content import Texts
from models.spec import plan
from models.spec.plan import uses_batch_statistics
from models.spec.vocabulary import CONNECTED

WORDS = Texts("instruments/paths")

QUICK_SPLIT = 1e9  # multiplications; above it, the split by branches waits for a button


def draw(panel: InstrumentPanel) -> None:
    if panel.cfg.stack in CONNECTED:
        st.info(WORDS("no add", stack=panel.cfg.stack))
        return
    measured = panel.ask(GRADIENT_SHARES)
    if measured is not None:
        _draw_adds(panel, measured)
    cfg = panel.cfg
    if cfg.sublayers**2 * cfg.width**2 * cfg.batch * cfg.tokens <= QUICK_SPLIT:
        lengths = panel.ask(PATH_LENGTHS)
    else:
        lengths = panel.ask_by_button(PATH_LENGTHS, "Split the gradient by the branches it passed")
    if lengths is not None:
        _draw_lengths(panel, lengths)


def share_chart(sites: Sequence[str], skip: np.ndarray, branch: np.ndarray) -> Figure:
    """Projections on the gradient before each of M sublayers, (M,) each, with guides at 0 and 1."""
    series = [Series("through the residual", skip), Series("through the branch", branch, "other")]
    return linear_profile(
        title="Share of the gradient by depth", unit="share", hue=GRADIENT, sites=sites, series=series, guides=(0, 1)
    )


def length_chart(share: np.ndarray, projection: np.ndarray, counts: np.ndarray | None) -> Figure:
    """Shares of the input's gradient by number of branches passed, (K,), beside shares of paths if there is a law."""
    series = [Series("|G_k| over their sum", share), Series("projection on the whole", projection, "other")]
    if counts is not None:
        series.append(Series("formula: share of paths", counts, "formula"))
    return linear_profile(
        title="Gradient at the input by branches passed",
        unit="share",
        hue=GRADIENT,
        sites=range(len(share)),
        series=series,
        guides=(0,),
        x="branches passed",
    )


def _draw_adds(panel: InstrumentPanel, measured: Measured[GradientShares]) -> None:
    value, sites = measured.value, plan(measured.cfg).branches
    parts = [
        Series("through the residual", value.skip_rms),
        Series("through the branch", value.branch_rms, "other"),
        Series("their sum", value.sum_rms, "previous"),
    ]
    panel.row(
        share_chart(sites, value.skip_projection, value.branch_projection),
        depth_profile(title="Gradient parts by depth", unit="RMS", hue=GRADIENT, sites=sites, series=parts),
    )
    panel.write(shares_sentence(sites, value.skip_projection))
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = value.skip_rms / (value.skip_rms + value.branch_rms)
    panel.table("The residual's share of the gradient's length", sublayer=sites, share=lengths)
    _draw_samples(measured)


def _draw_lengths(panel: InstrumentPanel, measured: Measured[PathLengths]) -> None:
    value = measured.value
    panel.chart(length_chart(value.share, value.projection, path_counts(measured.cfg)))
    panel.write(lengths_sentence(value.share))
    panel.table("Length of what passed k branches", k=range(len(value.length)), length=value.length)
    _draw_samples(measured)


def _draw_samples(measured: Measured[GradientShares] | Measured[PathLengths]) -> None:
    samples, batch = measured.value.samples, measured.cfg.batch
    if samples == batch:
        return
    caution = WORDS("batch norm") if uses_batch_statistics(measured.cfg) else ""
    st.caption(f"{WORDS('fewer samples', samples=samples, batch=batch)} {caution}".strip())
