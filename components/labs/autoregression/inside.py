"""Earlier tokens never change, and how what is said comes about block by block: measured on the text that is read."""

from typing import Any

import numpy as np
import streamlit as st

from components.instruments.lens import distance_chart, lens_map, lens_rows
from components.instruments.panel import Panel
from components.labs.autoregression.charts import looks_map, revision_chart
from components.labs.autoregression.words import looks_sentence, revision_sentence
from components.shell.address import kept
from components.shell.link import PLAYGROUND
from components.shell.text import badge, drawn
from models import answers
from models.answers import Refinement
from models.insight.lens import lens_sentence, shown
from models.spec import plan

NAME = "autoregression"
ROW = 18  # pixels of a site in the map of the lens
RESIDUAL = PLAYGROUND.parents[1] / "labs" / "residual.py"


def revised(panel: Panel, text: str, count: int) -> None:
    """What the last token of the text changes at the places before it, with the mask and without."""
    st.subheader("Earlier tokens never change", anchor=False)
    st.markdown(
        "The net reads the text without its last token, then with it. Under the causal mask no place sees a later one, "
        "so its logits stay as they were. Then the same weights once more with the mask taken away."
    )
    if count < 2:
        st.info(
            "The text has one token. Let the net say one more, and there is a place before it to be revised or not."
        )
        return
    found = panel.ask(answers.REVISION, text=text)
    if found is None:
        return
    value = found.value
    tokens, causal, none = value.tokens, value.causal, value.none
    st.markdown(f"**{revision_sentence(causal, none, tokens[-1])}**")
    title = "Change by token"
    chart = revision_chart(title, tokens[:-1], causal.difference, none.difference)
    drawn(chart, title, f"{NAME}_revision")
    st.caption(
        f"{badge('measured')} in 64-bit numbers, in eval mode. The weights were trained under the mask: without it "
        "they show what the mask prevents, not what a net without one would have learned. When a window slides along "
        "a long text, its tokens stand at other places and are read anew; what was said stays said, because it is now "
        "part of the prompt."
    )


def refined(panel: Panel, text: str) -> None:
    """For one position, what the head would say after every sublayer, and where every block looks."""
    st.subheader("The context refines every token, block by block", anchor=False)
    st.markdown(
        '"It" is the animal or the street, depending on what stood before: a token gathers its meaning layer by layer. '
        "Here it is measured: what the head of the net would say if the net ended at a site, and where attention "
        "looks. The book's net reads characters and is far too small for pronouns; the task **recall** is the same "
        "question in small: a key is mentioned again, and the net must find what it stood beside."
    )
    found = panel.ask(answers.REFINEMENT, text=text)
    if found is None:
        return
    value, cfg = found.value, found.cfg
    tokens, sites = value.tokens, plan(cfg).sites
    left, right = st.columns(2)
    names = [f"{at}: {shown(token)}" for at, token in enumerate(tokens, start=1)]
    places, key = range(len(tokens)), f"{NAME}_position"
    choice: dict[str, Any] = {"key": key, "persist_state": "session"}
    if found.args == {"text": text}:  # else what is shown is still another text, which may have other places
        choice = kept(key, places[-1], name="place", among=places)
    position = int(left.selectbox("Place in the text", places, format_func=names.__getitem__, **choice))
    heads = ["mean of the heads", *(f"head {at + 1}" for at in range(value.attention.shape[1]))]
    head = heads.index(str(right.selectbox("Head", heads, **kept(f"{NAME}_head", heads[0], name="head", among=heads))))
    st.markdown(f"**{_says(value, sites, position)}**")
    if not value.asked[position]:
        st.caption("Training takes no loss at this position: the net has never been told what to say here.")
    _lens(value, sites, position)
    _looks(value, position, head)
    st.caption(
        f"{badge('measured')} softmax(head(final norm(x))) at every site: the logit lens (nostalgebraist 2020). No "
        "early site was trained to be read by the head: a lens that disagrees does not say what the stream knows. In "
        "pre-norm every sublayer adds to the stream, x + F(x); how else the layers may be joined is the choice of the "
        "arrangement above."
    )
    with st.container(horizontal=True):
        label, query = "This net in the playground", cfg.to_query()
        st.page_link(PLAYGROUND, label=label, icon=":material/tune:", query_params=query)
        st.page_link(RESIDUAL, label="Scaled and recursive skips, DLCL, by hand", icon=":material/add:")


def _says(value: Refinement, sites: tuple[str, ...], position: int) -> str:
    return lens_sentence(
        sites=sites,
        classes=value.classes,
        top=value.top[:, position],
        chance=value.chance[:, position],
        kl=value.kl[:, position],
        truth=int(value.truth[position]),
        position=f'token {position + 1}, "{shown(value.tokens[position])}",',
    )


def _lens(value: Refinement, sites: tuple[str, ...], position: int) -> None:
    title = "Lens by site and token"
    drawn(
        lens_map(title, sites, value, position), title, f"{NAME}_lens", height=max(240, min(460, ROW * len(sites) + 90))
    )
    far, rows = st.columns(2)
    with far:
        drawn(distance_chart(sites, value, position), "Distance from the end by site", f"{NAME}_distance")
    with rows:
        st.dataframe(lens_rows(sites, value, position), hide_index=True, height=280, alt="Lens at the position, table")


def _looks(value: Refinement, position: int, head: int) -> None:
    """`head` 0 is the mean of them."""
    weights = value.attention
    rows = np.asarray(weights.mean(1) if head == 0 else weights[:, head - 1])[:, position]
    blocks = [f"block {at + 1}" for at in range(len(weights))]
    st.markdown(f"**{looks_sentence(value.tokens, rows, position, blocks)}**")
    title = "Attention by block"
    drawn(
        looks_map(title, value.tokens, blocks, rows, position),
        title,
        f"{NAME}_looks",
        height=max(160, 30 * len(blocks) + 90),
    )
