"""The page Papers: published results as a grid of cards; the open one says what the paper says and runs it in small."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.papers import run
from components.shell import cards, session, waiting
from models.content import Texts
from models.papers.papers import PAPERS, TOPICS, Paper, papers_on
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("papers")

KEY, CHOICE = "paper", "paper_choice"
ALL = "all topics"


@dataclass(frozen=True)
class PapersShown(Settings):
    """The open paper, and which ones the grid has."""

    choice: Annotated[str | None, Knob("Paper", choices={}, link=KEY)] = None
    topic: Annotated[str, Knob("Topic", choices=dict.fromkeys([ALL, *TOPICS]), width=200)] = ALL


def chosen_paper() -> Paper | None:
    """The paper that the address names."""
    return PAPERS.get(str(form.keep(PapersShown, KEY, only=["choice"], legal={"choice": list(PAPERS)}).choice))


def draw_grid() -> None:
    """Draws the topic, and the cards of its papers."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        topic = form.draw(PapersShown, KEY, only=["topic"], places=[row]).topic
        shown = papers_on("" if topic == ALL else topic)
        st.caption(TEXTS("count", shown=len(shown), all=len(PAPERS)))
    by_title = {paper.title: paper for paper in shown}
    deck = [
        cards.ChoiceCard(title, f"{paper.paper} · {paper.topic}", mark=run.verdict_mark(paper))
        for title, paper in by_title.items()
    ]
    cards.draw_cards("Paper", deck, None, key="papers", choose=lambda title: _open(by_title[title].key))


def draw(paper: Paper) -> None:
    """Draws a result and its source, and the set-up beside its outcome."""
    cards.draw_navigation("paper", list(PAPERS), paper.key, _open)
    st.subheader(paper.title, anchor=False)
    links = ", ".join(f"[{name}]({url})" for name, url in paper.papers.items())
    st.caption(TEXTS("paper", paper=paper.paper, papers=links))
    waiting.poll_while(f"paper_{paper.key}", lambda: run.draw(paper))


def _open(key: str | None) -> None:
    session.set_widget(CHOICE, key)
