"""Where the gradient came from: through the skip or the branch at every add, and through how many branches in all."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT
from components.charts.depth import Series, depth_profile, linear_profile
from components.charts.parts import Figure
from components.instruments.panel import Instrument, InstrumentPanel, Measured
from models import answers
from models.answers import GradientShares, PathLengths
from models.content import Texts
from models.insight.paths import lengths_sentence, path_counts, shares_sentence
from models.spec import plan
from models.spec.plan import normed_over_batch

WORDS = Texts("instruments/paths")

QUICK = 1e9  # multiplications up to which the split needs no button


def draw(panel: InstrumentPanel) -> None:
    measured = panel.ask(answers.GRADIENT_SHARES)
    if measured is not None:
        _adds(panel, measured)
    cfg = panel.cfg
    if cfg.sublayers**2 * cfg.width**2 * cfg.batch * cfg.tokens <= QUICK:
        lengths = panel.ask(answers.PATH_LENGTHS)
    else:
        lengths = panel.ask_by_button(answers.PATH_LENGTHS, "Split the gradient by the branches it passed")
    if lengths is not None:
        _lengths(panel, lengths)


def share_chart(sites: Sequence[str], skip: np.ndarray, branch: np.ndarray) -> Figure:
    """Projections (M,) on the gradient before each sublayer, with guides at 0 and 1."""
    series = [Series("through the residual", skip), Series("through the branch", branch, "other")]
    return linear_profile(
        title="Share of the gradient by depth", unit="share", hue=GRADIENT, sites=sites, series=series, guides=(0, 1)
    )


def length_chart(share: np.ndarray, projection: np.ndarray, counts: np.ndarray | None) -> Figure:
    """Shares (K,) of the input's gradient by the branches passed, and the shares of paths (K,) where they are known."""
    series = [Series("|G_k| over their sum", share), Series("projection on the whole", projection, "other")]
    if counts is not None:
        series.append(Series("formula: share of paths", counts, "formula"))
    places = range(len(share))
    title = "Gradient at the input by branches passed"
    return linear_profile(
        title=title, unit="share", hue=GRADIENT, sites=places, series=series, guides=(0,), x="branches passed"
    )


def _adds(panel: InstrumentPanel, measured: Measured[GradientShares]) -> None:
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
    panel.say(shares_sentence(sites, value.skip_projection))
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = value.skip_rms / (value.skip_rms + value.branch_rms)
    panel.table("The residual's share of the gradient's length", sublayer=sites, share=lengths)
    _samples(measured)


def _lengths(panel: InstrumentPanel, measured: Measured[PathLengths]) -> None:
    value = measured.value
    panel.chart(length_chart(value.share, value.projection, path_counts(measured.cfg)))
    panel.say(lengths_sentence(value.share))
    panel.table("Length of what passed k branches", k=range(len(value.length)), length=value.length)
    _samples(measured)


def _samples(measured: Measured[GradientShares] | Measured[PathLengths]) -> None:
    samples, batch = measured.value.samples, measured.cfg.batch
    if samples == batch:
        return
    apart = WORDS("batch norm") if normed_over_batch(measured.cfg) else ""
    st.caption(f"{WORDS('fewer samples', samples=samples, batch=batch)} {apart}".strip())


PATHS = Instrument(draw, WORDS, "measured")
