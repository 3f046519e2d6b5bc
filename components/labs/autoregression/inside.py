"""Earlier tokens never change, and how a prediction forms block by block, measured on the current text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from addnorm.player.declare import Figure
from components.charts.colour import SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.tokens import token_map
from components.controls import form
from components.instruments.lens import distance_chart, lens_map, lens_rows
from components.instruments.panel import InstrumentPanel
from components.labs.autoregression.text import KEY, place
from components.labs.parts import draw_charts, draw_finding
from components.shell.link import PAGES
from components.shell.static_chart import static_chart
from components.shell.ways_on import to_playground
from models import answers
from models.answers import Change, Refinement
from models.content import Texts
from models.insight.lens import lens_sentence, shown
from models.insight.words import counted
from models.spec import TASKS, RunConfig, plan
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/autoregression")
ROW = 18  # pixels per site in the lens map
ROUNDING = 1e-9  # change of a 64-bit logit that counts as rounding
MAX_TICKS = 32
RESIDUAL = PAGES / "residual.py"


@dataclass(frozen=True)
class LensHead(Settings):
    head: Annotated[str, Knob("Head", choices={})] = "mean of the heads"


def revised(panel: InstrumentPanel, text: str, count: int) -> Sequence[str]:
    """What the last token changes at earlier positions, with and without the mask. Returns the symbols it can read."""
    if count < 2:
        st.info(TEXTS("one token"))
        return ()
    answer = panel.ask(answers.REVISION, text=text)
    if answer is None:
        return ()
    tokens, causal, bare = answer.value.tokens, answer.value.causal, answer.value.none
    draw_charts(KEY, revision_chart(tokens[:-1], causal.difference, bare.difference))
    draw_finding(revision_sentence(causal, bare, tokens[-1]), "measured")
    with st.expander("What is compared"):
        st.markdown(TEXTS("what is compared"))
    return _symbols(answer.cfg, answer.value.classes) if answer.cfg == panel.cfg else ()


def _symbols(cfg: RunConfig, classes: Sequence[str]) -> Sequence[str]:
    """What the net can read: the characters that it can also say, or the numbers of the task."""
    task = TASKS[cfg.task]
    return list(classes) if task.kind == "text" else [str(at) for at in range(task.vocabulary)]


def refined(panel: InstrumentPanel, text: str) -> None:
    """For one position, what the output head would predict after each sublayer, and where each block attends."""
    answer = panel.ask(answers.REFINEMENT, text=text)
    if answer is None:
        return
    value, cfg, sites = answer.value, answer.cfg, plan(answer.cfg).sites
    left, right = st.columns(2)
    with left:
        position = place(answer, text, "position")
    heads = ["mean of the heads", *(f"head {at + 1}" for at in range(value.attention.shape[1]))]
    head = heads.index(form.draw(LensHead, KEY, legal={"head": heads}, places=[right]).head)
    height = max(240, min(460, ROW * len(sites) + 90))
    draw_charts(KEY, lens_map("Lens by site and token", sites, value, position), height=height)
    draw_finding(lens_sentence(value, sites, position), "measured")
    if not value.asked[position]:
        st.caption(TEXTS("no loss here"))
    weights = np.asarray(value.attention.mean(1) if head == 0 else value.attention[:, head - 1])[:, position]
    draw_charts(KEY, looks_map(value.tokens, weights, position), height=max(160, 30 * len(weights) + 90))
    st.markdown(f"**{looks_sentence(value.tokens, weights, position)}**")
    with st.expander("This token, site by site"):
        _site_by_site(value, sites, position)
    with st.container(horizontal=True):
        to_playground(cfg, "This net in the playground")
        st.page_link(RESIDUAL, label="Scaled and recursive skips, and DLCL, by hand", icon=":material/add:")


def _site_by_site(value: Refinement, sites: tuple[str, ...], position: int) -> None:
    """How far each site is from the end, and what can be concluded from that."""
    st.markdown(TEXTS("site by site"))
    distance, rows = st.columns(2)
    with distance:
        static_chart(distance_chart(sites, value, position), "Distance from the end by site", f"{KEY}_distance")
    with rows:
        st.dataframe(lens_rows(sites, value, position), hide_index=True, height=280, alt="Lens at the position, table")


def revision_sentence(causal: Change, bare: Change, token: str) -> str:
    """What appending a token changes before it, with the causal mask and without (`bare`)."""
    most = {"causal": float(causal.difference.max()), "bare": float(bare.difference.max())}
    if not np.isfinite([*most.values()]).all():
        return TEXTS("revision not finite")
    rounding = ", which is rounding" if 0 < most["causal"] < ROUNDING else ""
    verdict = "Earlier tokens never change" if most["causal"] < ROUNDING else "Earlier tokens change"
    count, changed = len(bare.before), (bare.before != bare.after).sum()
    more = {"positions": counted(count, "position"), "rounding": rounding, "changed": changed, "count": count}
    return TEXTS("revision", verdict=verdict, token=shown(token), **most, **more)


def looks_sentence(tokens: Sequence[str], weights: np.ndarray, position: int) -> str:
    """The token that each block attends to most, from weights (L, T)."""
    if not np.isfinite(weights).all():
        return "The attention is not finite."
    parts: list[str] = []
    for block, row in enumerate(weights, start=1):
        at = int(row.argmax())
        which = "itself" if at == position else f'token {at + 1}, "{shown(tokens[at])}"'
        who = "" if parts else f" token {position + 1} attends most"
        parts.append(f"in block {block}{who} to {which} ({row[at]:.0%})")
    return f"I{'; '.join(parts)[1:]}."


def revision_chart(tokens: Sequence[str], causal: np.ndarray, bare: np.ndarray) -> Figure:
    """The largest change of a logit by position (T - 1,) when one more token is appended."""
    return change_chart("Change by token", tokens, causal, bare)


def change_chart(title: str, tokens: Sequence[str], causal: np.ndarray, bare: np.ndarray) -> Figure:
    """The largest change of a logit by position, with the causal mask and without (`bare`), on a log axis."""
    names = [f"{at} {shown(token)}" for at, token in enumerate(tokens, start=1)]
    series = [Series("no mask", bare, "other"), Series("causal mask", causal)]
    unit = "largest change of a logit"
    figure = depth_profile(title=title, unit=unit, hue=SIGNAL, sites=names, series=series)
    places = list(range(0, len(tokens), max(1, -(-len(tokens) // MAX_TICKS))))
    ticks = {"tickvals": places, "ticktext": [shown(tokens[at]) for at in places], "tickangle": 0}
    figure["layout"]["xaxis"] |= {"title": {"text": "token read", "standoff": 4}, **ticks}
    return figure


def looks_map(tokens: Sequence[str], weights: np.ndarray, position: int) -> Figure:
    """Where one position attends in each block, (L, T); later tokens are masked."""
    blocks, names = [f"block {block + 1}" for block in range(len(weights))], [shown(token) for token in tokens]
    how: dict[str, Any] = {"hidden": np.tile(np.arange(len(tokens)) > position, (len(blocks), 1))}
    how |= {"unit": "share", "marked": position + 1}
    return token_map(title="Attention by block", tokens=names, rows=blocks, values=weights, **how)
