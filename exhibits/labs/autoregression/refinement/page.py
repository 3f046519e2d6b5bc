"""How a prediction forms block by block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure
from components.charts.lens import distance_chart, lens_map, lens_rows
from components.charts.tokens import token_map
from components.controls import form
from components.instruments.panel import InstrumentPanel
from components.labs.examples import numbered_names
from components.labs.parts import draw_charts, draw_finding
from components.labs.prompts import KEY, ReadText, choose_position
from components.shell.link import PAGES
from components.shell.page_links import link_to_playground
from components.shell.static_chart import static_chart
from models import answers
from models.answers import Refinement
from models.content import Texts
from models.insight.lens import lens_sentence, visible_token
from models.spec import plan
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression/refinement")
SITE_PIXELS = 18  # in the lens map
LENS_MARGIN_PIXELS = 90  # title and axis
BLOCK_PIXELS = 30  # in the attention map
ATTENTION_MARGIN_PIXELS = 90  # title and axis
MEAN_HEAD = "mean of the heads"


@dataclass(frozen=True)
class LensHead(Settings):
    head: Annotated[str, Knob("Head", choices={})] = MEAN_HEAD


def draw(panel: InstrumentPanel, read: ReadText) -> None:
    """For one position, the prediction of the output head after each sublayer, and the attention of each block."""
    answer = panel.ask(answers.REFINEMENT, text=read.text)
    if answer is None:
        return
    value, cfg, sites = answer.value, answer.cfg, plan(answer.cfg).sites
    left, right = st.columns(2)
    with left:
        position = choose_position(answer, read.text, "position")
    heads = [MEAN_HEAD, *numbered_names("head", value.attention.shape[1])]
    head = heads.index(form.draw(LensHead, KEY, legal={"head": heads}, places=[right]).head)
    height = max(240, min(460, SITE_PIXELS * len(sites) + LENS_MARGIN_PIXELS))
    draw_charts(KEY, lens_map("Lens by site and token", sites, value, position), height=height)
    draw_finding(lens_sentence(value, sites, position), "measured")
    if not value.has_loss[position]:
        st.caption(TEXTS("no loss here"))
    weights = np.asarray(value.attention.mean(1) if head == 0 else value.attention[:, head - 1])[:, position]
    height = max(160, BLOCK_PIXELS * len(weights) + ATTENTION_MARGIN_PIXELS)
    draw_charts(KEY, attention_map(value.tokens, weights, position), height=height)
    st.markdown(f"**{attention_sentence(value.tokens, weights, position)}**")
    with st.expander("This token, site by site"):
        _draw_sites(value, sites, position)
    with st.container(horizontal=True):
        link_to_playground(cfg, "This net in the playground")
        label = "Scaled and recursive skips, and DLCL, by hand"
        st.page_link(PAGES / "residual.py", label=label, icon=":material/add:")


def _draw_sites(value: Refinement, sites: tuple[str, ...], position: int) -> None:
    st.markdown(TEXTS("site by site"))
    distance, rows = st.columns(2)
    with distance:
        static_chart(distance_chart(sites, value, position), "Distance from the end by site", f"{KEY}_distance")
    with rows:
        st.dataframe(lens_rows(sites, value, position), hide_index=True, height=280, alt="Lens at the position, table")


def attention_sentence(tokens: Sequence[str], weights: np.ndarray, position: int) -> str:
    """The token to which each block attends most at a position, from weights (L, T)."""
    if not np.isfinite(weights).all():
        return "The attention is not finite."
    targets: list[str] = []
    for row in weights:
        i = int(row.argmax())
        name = "itself" if i == position else f'token {i + 1}, "{visible_token(tokens[i])}"'
        targets.append(f"{name} ({row[i]:.0%})")
    later = [f"in block {block} to {target}" for block, target in enumerate(targets[1:], start=2)]
    return "; ".join([f"In block 1 token {position + 1} attends most to {targets[0]}", *later]) + "."


def attention_map(tokens: Sequence[str], weights: np.ndarray, position: int) -> Figure:
    """The attention of one position in each block (L, T); later tokens are masked."""
    axes: dict[str, Any] = {"tokens": list(map(visible_token, tokens)), "rows": numbered_names("block", len(weights))}
    hidden = np.tile(np.arange(len(tokens)) > position, (len(weights), 1))
    return token_map(
        title="Attention by block", values=weights, unit="share", hidden=hidden, marked=position + 1, **axes
    )
