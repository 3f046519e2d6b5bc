"""Earlier tokens never change, and how a prediction forms block by block, measured on the current text."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.controls import form
from components.instruments.lens import distance_chart, lens_map, lens_rows
from components.instruments.panel import InstrumentPanel
from components.labs.autoregression.charts import looks_map, revision_chart
from components.labs.autoregression.text import NAME, place
from components.labs.autoregression.words import looks_sentence, revision_sentence
from components.shell.link import PAGES
from components.shell.static_chart import static_chart
from components.shell.text import badge
from components.shell.ways_on import to_playground
from models import answers
from models.answers import Refinement
from models.insight.lens import lens_sentence
from models.spec import plan
from models.spec.knob import Knob
from models.spec.settings import Settings

ROW = 18  # pixels per site in the lens map
RESIDUAL = PAGES / "labs" / "residual.py"


@dataclass(frozen=True)
class LensHead(Settings):
    """Whose attention is shown."""

    head: Annotated[str, Knob("Head", choices={})] = "mean of the heads"


def revised(panel: InstrumentPanel, text: str, count: int) -> None:
    """What the last token changes at earlier positions, with and without the mask."""
    if count < 2:
        st.info("The text has one token. Let the net add another, so that there is an earlier position to check.")
        return
    found = panel.ask(answers.REVISION, text=text)
    if found is None:
        return
    value = found.value
    tokens, causal, none = value.tokens, value.causal, value.none
    title = "Change by token"
    chart = revision_chart(title, tokens[:-1], causal.difference, none.difference)
    static_chart(chart, title, f"{NAME}_revision")
    st.markdown(f"**{revision_sentence(causal, none, tokens[-1])}** {badge('measured')}")
    with st.expander("What is compared"):
        st.markdown(
            "The net reads the text without its last token, then with it, in 64-bit precision and eval mode. Its "
            "weights were trained with the mask: removing it shows what the mask prevents, not what a net without one "
            "would learn. In a text longer than the window every token gets a new position at every step and is read "
            "again; generated tokens stay, as part of the prompt."
        )


def refined(panel: InstrumentPanel, text: str) -> None:
    """For one position, what the output head would predict after each sublayer, and where each block attends."""
    found = panel.ask(answers.REFINEMENT, text=text)
    if found is None:
        return
    value, cfg = found.value, found.cfg
    sites = plan(cfg).sites
    left, right = st.columns(2)
    with left:
        position = place(found, text, "position")
    heads = ["mean of the heads", *(f"head {at + 1}" for at in range(value.attention.shape[1]))]
    head = heads.index(form.draw(LensHead, NAME, legal={"head": heads}, places=[right]).head)
    title = "Lens by site and token"
    height = max(240, min(460, ROW * len(sites) + 90))
    static_chart(lens_map(title, sites, value, position), title, f"{NAME}_lens", height=height)
    st.markdown(f"**{lens_sentence(value, sites, position)}** {badge('measured')}")
    if not value.asked[position]:
        st.caption("Training has no loss at this position: the net was never taught what to predict here.")
    _looks(value, position, head)
    with st.expander("This token, site by site"):
        _site_by_site(value, sites, position)
    with st.container(horizontal=True):
        to_playground(cfg, "This net in the playground")
        st.page_link(RESIDUAL, label="Scaled and recursive skips, and DLCL, by hand", icon=":material/add:")


def _site_by_site(value: Refinement, sites: tuple[str, ...], position: int) -> None:
    """How far each site is from the end, and what can be concluded from that."""
    st.markdown(
        "What the output head would predict if the net ended at a site: softmax(head(final norm(x))), the logit lens "
        "(nostalgebraist 2020). Early sites were never trained to be read by the head, so a lens that disagrees says "
        "nothing about what the stream contains. The task **recall** shows best how a token gathers meaning: a key "
        "appears again, and the net must find its value."
    )
    far, rows = st.columns(2)
    with far:
        static_chart(distance_chart(sites, value, position), "Distance from the end by site", f"{NAME}_distance")
    with rows:
        st.dataframe(lens_rows(sites, value, position), hide_index=True, height=280, alt="Lens at the position, table")


def _looks(value: Refinement, position: int, head: int) -> None:
    """`head` 0 is the mean of all attention heads."""
    weights = value.attention
    rows = np.asarray(weights.mean(1) if head == 0 else weights[:, head - 1])[:, position]
    blocks = [f"block {at + 1}" for at in range(len(weights))]
    title = "Attention by block"
    figure = looks_map(title, value.tokens, blocks, rows, position)
    static_chart(figure, title, f"{NAME}_looks", height=max(160, 30 * len(blocks) + 90))
    st.markdown(f"**{looks_sentence(value.tokens, rows, position, blocks)}**")
