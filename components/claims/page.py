"""The page Common claims: claims as a grid of cards; the open one asks for a guess, then runs its experiment."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.claims import run
from components.classroom import board
from components.controls import form
from components.shell import cards, projector, session, waiting
from components.shell.text import with_explained_words
from models.claims.claims import CLAIMS, TOPICS, Claim, search_claims
from models.lessons.board import ClassState
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "claim"  # of the form, and the URL parameter
CHOICE = "claim_choice"  # session key of the open claim
ALL = "all topics"


@dataclass(frozen=True)
class ClaimsShown(Settings):
    """The open claim, and the search and topic that filter the grid."""

    choice: Annotated[str | None, Knob("Claim", choices={}, link=KEY)] = None
    search: Annotated[str, Knob("Search", high=100, width=320)] = ""
    topic: Annotated[str, Knob("Topic", choices=dict.fromkeys([ALL, *TOPICS]), width=200)] = ALL


def chosen_claim() -> Claim | None:
    """The claim that the address names."""
    return CLAIMS.get(str(form.keep(ClaimsShown, KEY, only=["choice"], legal={"choice": list(CLAIMS)}).choice))


def draw_grid() -> None:
    """Draws search, topic, and the cards that match."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        shown = form.draw(ClaimsShown, KEY, only=["search"], places=[row], placeholder="warm-up, eps, batch ...")
        topic = form.draw(ClaimsShown, KEY, only=["topic"], places=[row]).topic
        matches = search_claims(shown.search, "" if topic == ALL else topic)
        st.caption(f"{len(matches)} of {len(CLAIMS)} claims")
    if not matches:
        st.info("No claim contains all these words.")
        return
    by_title = {_title(claim): claim for claim in matches}
    deck = [cards.ChoiceCard(title, claim.topic, mark=run.guess_mark(claim)) for title, claim in by_title.items()]
    cards.draw_cards("Claim", deck, None, key="claims", choose=lambda title: _open(by_title[title].key))


def draw_in_class(claim: Claim, state: ClassState) -> None:
    """Draws the claim for a class to vote on; once revealed, the votes and what the experiment shows."""
    text = f"**“{claim.title}”** {with_explained_words(claim.question)}"
    if state.open_questions:
        if projector.is_on():
            board.draw_question(state, text, lambda: run.draw_blocks(claim))
            return
        board.draw_question(state, text, lambda: None)
        run.draw_blocks(claim)  # below, because a phone shows the options first
        return
    st.markdown(text)
    waiting.poll_while(f"claim_{claim.key}", lambda: run.draw_revealed(claim, state.stop))


def draw(claim: Claim) -> None:
    """Draws claim and experiment; the truth appears after a guess and the run."""
    cards.draw_navigation("claim", list(CLAIMS), claim.key, _open)
    st.subheader(f"“{claim.title}”", anchor=False)
    st.markdown(f"**Experiment.** {with_explained_words(claim.question)}")
    waiting.poll_while(f"claim_{claim.key}", lambda: run.draw(claim))


def _title(claim: Claim) -> str:
    return f"{list(CLAIMS).index(claim.key) + 1}. {claim.title.replace('`', '')}"


def _open(key: str | None) -> None:
    session.set_widget(CHOICE, key)
