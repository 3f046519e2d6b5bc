"""Collapse: how alike the stream's vectors become, how many directions they use, and where attention looks."""

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import SHARE_BOUNDS, Series, cosine_chart, depth_profile, linear_profile
from components.charts.parts import Figure
from components.instruments.panel import Instrument, InstrumentPanel, Measured, block_names
from components.player.page import panels_below
from components.player.panels import sample_paths_panel
from models import answers
from models.answers import Collapse
from models.content import Texts
from models.insight.collapse import attention_sentence, collapse_sentence
from models.insight.words import vectors
from models.spec import plan

WORDS = Texts("instruments/collapse")

PATHS = 320  # pixels


def draw(panel: InstrumentPanel) -> None:
    panels_below(panel.player, "collapse", [sample_paths_panel(PATHS)])
    measured = panel.ask(answers.COLLAPSE)
    if measured is None:
        return
    value, sites = measured.value, plan(measured.cfg).sites
    most = min(value.vectors, measured.cfg.width)
    whose = "Tokens of one sample" if value.within else f"The batch's {vectors(measured.cfg)}"
    text = collapse_sentence(sites, whose, most, value.cosine, value.rank)
    attends = len(value.entropy) > 0
    if attends:
        text += " " + attention_sentence(value.entropy, value.query_key_share)
    panel.say(text)
    _stream(panel, measured, sites)
    if attends:
        _attention(panel, measured)


def rank_chart(title: str, sites: tuple[str, ...], rank: np.ndarray, participation: np.ndarray) -> Figure:
    """Effective rank and participation ratio by site: at least 1, at most the number of vectors or of features."""
    series = [Series("effective rank", rank), Series("participation ratio", participation, "other")]
    return depth_profile(title=title, unit="directions", hue=SIGNAL, sites=sites, series=series)


def _stream(panel: InstrumentPanel, measured: Measured[Collapse], sites: tuple[str, ...]) -> None:
    """Draws what MLP and transformer have at every site."""
    value = measured.value
    count = f"{value.vectors} {vectors(measured.cfg) if value.vectors > 1 else vectors(measured.cfg).removesuffix('s')}"
    whose = f"{count} within each of {value.sets} samples" if value.within else f"{count} across the batch"
    alone = "" if value.within or measured.cfg.net != "transformer" else WORDS("one token each")
    st.caption(f"Compared: {whose}. {alone}".strip())
    spread = [Series("|X - 1x̄ᵀ| / |X|", value.spread)]
    panel.row(
        cosine_chart(
            title=f"Cosine of {vectors(measured.cfg)} by depth", sites=sites, series=[Series("cosine", value.cosine)]
        ),
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


def _attention(panel: InstrumentPanel, measured: Measured[Collapse]) -> None:
    """Draws what only blocks with attention have; a block whose attention was taken out is left out."""
    gone = {one.block for one in plan(measured.cfg).sublayers if one.kind == "attn" and one.identity}
    with_attention = [at for at in range(measured.cfg.depth) if at + 1 not in gone]
    blocks, value = block_names(at + 1 for at in with_attention), measured.value
    entropy = [
        Series("mean of heads", value.entropy[with_attention]),
        Series("sharpest head", value.sharpest[with_attention], "other"),
    ]
    logits = [Series("largest logit", value.max_logit[with_attention])]
    share = [Series("queries and keys", value.query_key_share[with_attention])]
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


COLLAPSE = Instrument(draw, WORDS, "measured")
