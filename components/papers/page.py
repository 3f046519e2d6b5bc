"""The page Papers: published results as a grid of cards; the open one says what the paper says and runs it in small."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.controls import form
from components.experiments.deck import ALL, Deck, Outcome
from components.shell.hidden_parts import is_hidden
from components.shell.link import MAPS
from components.shell.related import link_to_claims
from components.shell.text import badge, named_table, with_badge, with_explained_words
from models.content import Texts
from models.experiment import Finding
from models.papers.judging import HOLDS, NOT_HERE, PARTLY, UNDECIDED
from models.papers.papers import PAPERS, TOPICS, Paper
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("papers")
KEY = "paper"  # of the form, and the URL parameter
ICONS = {
    HOLDS: ":material/check_circle:",
    NOT_HERE: ":material/cancel:",
    PARTLY: ":material/rule:",
    UNDECIDED: ":material/help:",
}
MARKS = {HOLDS: "✓", NOT_HERE: "✗", PARTLY: "≈", UNDECIDED: "?"}


@dataclass(frozen=True)
class PapersShown(Settings):
    """The open paper, and which ones the grid has."""

    choice: Annotated[str | None, Knob("Paper", choices={}, link=KEY)] = None
    topic: Annotated[str, Knob("Topic", choices=dict.fromkeys([ALL, *TOPICS]), width=200)] = ALL


DECK = Deck(KEY, PAPERS, PapersShown)


def draw_grid() -> None:
    """Draws the topic, and the cards of its papers."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        topic = form.draw(PapersShown, KEY, only=["topic"], places=[row]).topic
        shown = DECK.matching(topic)
        st.caption(TEXTS("count", shown=len(shown), all=len(PAPERS)))
    DECK.draw_cards({paper.title: paper for paper in shown}, lambda paper: f"{paper.paper} · {paper.topic}")


def draw(paper: Paper) -> None:
    """Draws a result and its source, and the set-up beside its outcome."""

    def draw_statements(finding: Finding) -> None:
        named_table(TEXTS("statements"), paper.statements(finding, verdicts=not is_hidden("answers")))

    DECK.draw_navigation(paper)
    st.subheader(paper.title, anchor=False)
    links = ", ".join(f"[{name}]({url})" for name, url in paper.papers.items())
    st.caption(TEXTS("paper", paper=paper.paper, papers=links))
    DECK.draw_run(paper, _draw_experiment, draw_statements)


def _draw_experiment(paper: Paper) -> Outcome:
    """Draws set-up, button, progress and verdict."""
    st.markdown(TEXTS("claim", result=with_explained_words(paper.result)))
    st.markdown(TEXTS("set-up", setup=with_explained_words(paper.question)))
    running, finding = DECK.draw_button(paper, TEXTS("read" if paper.recorded else "run"))
    if finding is not None and is_hidden("answers"):
        st.info(TEXTS("answer hidden"))
    elif finding is not None:
        DECK.mark(paper).put(MARKS[finding.answer])
        _draw_verdict(finding, "recorded" if paper.recorded else "measured")
    st.markdown(TEXTS("cannot", cannot=with_explained_words(paper.cannot)))
    if finding is not None and not is_hidden("answers"):
        with st.expander(TEXTS("why")):
            st.markdown(with_explained_words(with_badge(paper.why, "recorded")))
    DECK.draw_links(paper)
    link_to_claims(paper)
    if paper.map:
        label = TEXTS("again" if paper.recorded else "map")
        st.page_link(MAPS, label=label, icon=":material/grid_on:", query_params={"map": paper.map})
    return running, finding


def _draw_verdict(finding: Finding, badge_name: str) -> None:
    """Draws the verdict, the statements that did not hold, and the numbers with their badge."""
    verdict = finding.answer[0].upper() + finding.answer[1:]
    missed = TEXTS("not so", missed=finding.condition) if finding.condition else ""
    sentence = f"{missed} {with_explained_words(finding.sentence)}".strip()
    text = TEXTS("verdict", verdict=verdict, sentence=sentence)
    st.markdown(f"{ICONS[finding.answer]} {text} {badge(badge_name)}")
