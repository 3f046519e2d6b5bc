"""Collapse: how alike the stream's vectors become, how many directions they use, and where attention looks."""

import numpy as np
import streamlit as st

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import SHARE, Series, cosine_chart, depth_profile, linear_profile
from components.charts.parts import Figure
from components.instruments.panel import Instrument, InstrumentPanel, Measured, block_names
from components.player.page import below
from components.player.panels import ten_samples
from models import answers
from models.answers import Collapse
from models.content import Texts
from models.insight.collapse import attention_sentence, collapse_sentence
from models.insight.words import vectors
from models.spec import plan

WORDS = Texts("instruments/collapse")

PATHS = 320  # pixels


def draw(panel: InstrumentPanel) -> None:
    below(panel.player, "collapse", [ten_samples(PATHS)])
    found = panel.ask(answers.COLLAPSE)
    if found is None:
        return
    value, sites = found.value, plan(found.cfg).sites
    most = min(value.vectors, found.cfg.width)
    whose = "Tokens of one sample" if value.within else f"The batch's {vectors(found.cfg)}"
    text = collapse_sentence(sites, whose, most, value.cosine, value.rank)
    attends = len(value.entropy) > 0
    if attends:
        text += " " + attention_sentence(value.entropy, value.query_key_share)
    panel.say(text)
    _stream(panel, found, sites)
    if attends:
        _attention(panel, found)


def rank_chart(title: str, sites: tuple[str, ...], rank: np.ndarray, participation: np.ndarray) -> Figure:
    """Effective rank and participation ratio by site: at least 1, at most the number of vectors or of features."""
    series = [Series("effective rank", rank), Series("participation ratio", participation, "other")]
    return depth_profile(title=title, unit="directions", hue=SIGNAL, sites=sites, series=series)


def _stream(panel: InstrumentPanel, found: Measured[Collapse], sites: tuple[str, ...]) -> None:
    """Draws what MLP and transformer have at every site."""
    value = found.value
    count = f"{value.vectors} {vectors(found.cfg) if value.vectors > 1 else vectors(found.cfg).removesuffix('s')}"
    whose = f"{count} within each of {value.sets} samples" if value.within else f"{count} across the batch"
    alone = "" if value.within or found.cfg.net != "transformer" else WORDS("one token each")
    st.caption(f"Compared: {whose}. {alone}".strip())
    spread = [Series("|X - 1x̄ᵀ| / |X|", value.spread)]
    panel.row(
        cosine_chart(
            title=f"Cosine of {vectors(found.cfg)} by depth", sites=sites, series=[Series("cosine", value.cosine)]
        ),
        linear_profile(
            title="Distance from the mean by depth", unit="share", hue=SIGNAL, sites=sites, series=spread, bounds=SHARE
        ),
        rank_chart("Rank by depth", sites, value.rank, value.participation),
    )


def _attention(panel: InstrumentPanel, found: Measured[Collapse]) -> None:
    """Draws what only blocks with attention have; a block whose attention was taken out is left out."""
    gone = {one.block for one in plan(found.cfg).sublayers if one.kind == "attn" and one.identity}
    kept = [at for at in range(found.cfg.depth) if at + 1 not in gone]
    blocks, value = block_names(at + 1 for at in kept), found.value
    entropy = [Series("mean of heads", value.entropy[kept]), Series("sharpest head", value.sharpest[kept], "other")]
    logits = [Series("largest logit", value.max_logit[kept])]
    share = [Series("queries and keys", value.query_key_share[kept])]
    panel.row(
        linear_profile(
            title="Attention entropy by block", unit="of ln n", hue=SIGNAL, sites=blocks, series=entropy, bounds=SHARE
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
            bounds=SHARE,
            guides=[2 / 3],
        ),
    )


COLLAPSE = Instrument(draw, WORDS, "measured")
