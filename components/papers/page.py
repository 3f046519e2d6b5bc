"""The page Papers: published results as a grid of cards; the open one says what the paper says and runs it in small."""

import streamlit as st

from components.papers import run
from components.shell import address, cards, session, waiting
from models.content import Texts
from models.papers.papers import PAPERS, TOPICS, Paper, on

TEXTS = Texts("papers")

KEY, CHOICE = "paper", "paper_choice"
TOPIC = "paper_topic"
ALL = "all topics"


def chosen() -> Paper | None:
    """The paper that the address names."""
    address.url_param(CHOICE, None, name=KEY, among=PAPERS)
    return PAPERS.get(str(session.widget_value(CHOICE)))


def grid() -> None:
    """The topic, and the cards of its papers."""
    topics = [ALL, *TOPICS]
    about = address.url_param(TOPIC, ALL, name="topic", among=topics)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        topic = st.selectbox("Topic", topics, width=200, **about)
        shown = on("" if topic == ALL else topic)
        st.caption(TEXTS("count", shown=len(shown), all=len(PAPERS)))
    titles = {paper.title: paper for paper in shown}
    offered = [
        cards.ChoiceCard(title, f"{paper.paper} · {paper.topic}", mark=run.mark(paper))
        for title, paper in titles.items()
    ]
    cards.cards("Paper", offered, None, key="papers", choose=lambda title: _open(titles[title].key))


def draw(paper: Paper) -> None:
    """A result with its place in the paper, and its set-up here beside what comes of it."""
    cards.leave("paper", list(PAPERS), paper.key, _open)
    st.subheader(paper.title, anchor=False)
    links = ", ".join(f"[{name}]({at})" for name, at in paper.papers.items())
    st.caption(TEXTS("paper", paper=paper.paper, papers=links))
    waiting.poll_while(f"paper_{paper.key}", lambda: run.watch(paper))


def _open(key: str | None) -> None:
    session.set_widget(CHOICE, key)
