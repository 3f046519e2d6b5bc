"""Collapse: how alike the stream's vectors become, how many directions they use, and where attention looks."""

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import SHARE_BOUNDS, Series, cosine_chart, depth_profile, linear_profile
from components.charts.parts import Figure
from components.instruments.panel import InstrumentPanel, Measured, block_names
from components.player.page import panels_below
from components.player.panels import sample_paths_panel
from exhibits.instruments.collapse.answer import COLLAPSE, Collapse
from exhibits.instruments.collapse.numbers import attention_sentence, collapse_sentence
from models.content import Texts
from models.insight.words import vectors
from models.spec import plan

WORDS = Texts("instruments/collapse")

PATHS_HEIGHT = 320  # pixels


def draw(panel: InstrumentPanel) -> None:
    panels_below(panel.player, "collapse", [sample_paths_panel(PATHS_HEIGHT)])
    measured = panel.ask(COLLAPSE)
    if measured is None:
        return
    value, sites = measured.value, plan(measured.cfg).sites
    max_rank = min(value.vectors, measured.cfg.width)
    subject = "Tokens of one sample" if value.within else f"The batch's {vectors(measured.cfg)}"
    text = collapse_sentence(sites, subject, max_rank, value.cosine, value.rank)
    has_attention = len(value.entropy) > 0
    if has_attention:
        text += " " + attention_sentence(value.entropy, value.query_key_share)
    panel.write(text)
    _draw_stream(panel, measured, sites)
    if has_attention:
        _draw_attention(panel, measured)


def rank_chart(title: str, sites: tuple[str, ...], rank: np.ndarray, participation: np.ndarray) -> Figure:
    """Effective rank and participation ratio by site, (S,) each: from 1 to the number of vectors or of features."""
    series = [Series("effective rank", rank), Series("participation ratio", participation, "other")]
    return depth_profile(title=title, unit="directions", hue=SIGNAL, sites=sites, series=series)


def _draw_stream(panel: InstrumentPanel, measured: Measured[Collapse], sites: tuple[str, ...]) -> None:
    value, plural = measured.value, vectors(measured.cfg)
    count = f"{value.vectors} {plural if value.vectors > 1 else plural.removesuffix('s')}"
    compared = f"{count} within each of {value.sets} samples" if value.within else f"{count} across the batch"
    remark = "" if value.within or measured.cfg.net != "transformer" else WORDS("one token each")
    st.caption(f"Compared: {compared}. {remark}".strip())
    spread = [Series("|X - 1x̄ᵀ| / |X|", value.spread)]
    panel.row(
        cosine_chart(title=f"Cosine of {plural} by depth", sites=sites, series=[Series("cosine", value.cosine)]),
        linear_profile(
            title="Distance from the mean by depth",
            unit="share",
            hue=SIGNAL,
            sites=sites,
            series=spread,
            bounds=SHARE_BOUNDS,
        ),
        rank_chart("Rank by depth", sites, value.rank, value.participation),
    )


def _draw_attention(panel: InstrumentPanel, measured: Measured[Collapse]) -> None:
    """Draws the attention of every block in which it was not taken out."""
    attention = [sublayer for sublayer in plan(measured.cfg).sublayers if sublayer.kind == "attn"]
    rows = [sublayer.block - 1 for sublayer in attention if not sublayer.identity]
    blocks, value = block_names(row + 1 for row in rows), measured.value
    entropy = [Series("mean of heads", value.entropy[rows]), Series("sharpest head", value.sharpest[rows], "other")]
    logits = [Series("largest logit", value.max_logit[rows])]
    share = [Series("queries and keys", value.query_key_share[rows])]
    panel.row(
        linear_profile(
            title="Attention entropy by block",
            unit="of ln n",
            hue=SIGNAL,
            sites=blocks,
            series=entropy,
            bounds=SHARE_BOUNDS,
        ),
        linear_profile(
            title="Largest attention logit by block",
            unit="logit",
            hue=SIGNAL,
            sites=blocks,
            series=logits,
            guides=[0.0],
        ),
        linear_profile(
            title="Gradient to queries and keys by block",
            unit="share",
            hue=GRADIENT,
            sites=blocks,
            series=share,
            bounds=SHARE_BOUNDS,
            guides=[2 / 3],
        ),
    )
