"""The page Common claims: claims as a grid of cards; the open one asks for a guess, then runs its experiment."""

from dataclasses import dataclass
from typing import Annotated, Any

import streamlit as st

from components.classroom import answers, board, following, homework
from components.controls import form
from components.experiments.deck import ALL, Deck, Outcome
from components.shell import projector, session
from components.shell.hidden_parts import is_hidden
from components.shell.related import link_to_cards, link_to_labs
from components.shell.text import badge, draw_explanation, with_explained_words
from models.claims.claims import CLAIMS, TOPICS, Claim
from models.claims.judging import GUESSES, PARTLY, UNDECIDED
from models.experiment import Finding
from models.lessons.board import ClassState
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "claim"  # of the form, and the URL parameter
ANSWER_HIDDEN = "This link hides the answer: do the numbers support your guess?"


@dataclass(frozen=True)
class ClaimsShown(Settings):
    """The open claim, and the topic of the grid."""

    choice: Annotated[str | None, Knob("Claim", choices={}, link=KEY)] = None
    topic: Annotated[str, Knob("Topic", choices=dict.fromkeys([ALL, *TOPICS]), width=200)] = ALL


DECK = Deck(KEY, CLAIMS, ClaimsShown)


def draw_grid() -> None:
    """Draws the topic, and the cards of its claims."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        topic = form.draw(ClaimsShown, KEY, only=["topic"], places=[row]).topic
        matches = DECK.matching(topic)
        st.caption(f"{len(matches)} of {len(CLAIMS)} claims")
    DECK.draw_cards({_title(claim): claim for claim in matches}, lambda claim: claim.topic)


def draw_in_class(claim: Claim, state: ClassState) -> None:
    """Draws the claim for a class to vote on; once revealed, the votes and what the experiment shows."""
    text = f"**“{claim.title}”** {with_explained_words(claim.question)}"
    if state.open_questions:
        if projector.is_on():
            board.draw_question(state, text, lambda: DECK.draw_blocks(claim))
            return
        board.draw_question(state, text, lambda: None)
        DECK.draw_blocks(claim)  # below, because a phone shows the options first
        return
    st.markdown(text)
    DECK.draw_run(claim, lambda claim: _draw_votes(claim, state.stop))


def draw(claim: Claim) -> None:
    """Draws claim and experiment; the truth appears after a guess and the run."""
    DECK.draw_navigation(claim)
    st.subheader(f"“{claim.title}”", anchor=False)
    st.markdown(f"**Experiment.** {with_explained_words(claim.question)}")
    DECK.draw_run(claim, _draw_experiment)


def _title(claim: Claim) -> str:
    return f"{list(CLAIMS).index(claim.key) + 1}. {claim.title.replace('`', '')}"


def _draw_votes(claim: Claim, question: str) -> Outcome:
    """Draws a class's votes and the verdict of the experiment, which runs until there is one."""
    is_gathering, finding = DECK.gather(claim)
    st.markdown("The class guessed")
    board.draw_guesses(following.code(), question, answers.option_of(finding), following.member())
    if finding is not None:
        _draw_verdict(claim, finding)
    return is_gathering, finding


def _draw_experiment(claim: Claim) -> Outcome:
    """Draws guess, button, progress and verdict."""
    key, was_started = f"claim_{claim.key}_guess", DECK.running(claim).get()

    def note() -> None:
        homework.note(f"Guess at “{claim.title}”: {session.widget_value(key)}")

    settings: dict[str, Any] = {"key": key, "disabled": was_started, "persist_state": "session"}
    guess = st.segmented_control("True or false?", list(GUESSES), **settings)
    is_gathering, finding = DECK.draw_button(claim, hint="" if guess else "Guess first.", begin=note)
    if finding is not None and is_hidden("answers"):
        st.info(ANSWER_HIDDEN)
    elif finding is not None:
        _draw_verdict(claim, finding, str(guess))
        with st.expander("What is true"):
            draw_explanation(claim.why, "recorded" if claim.nets else "formula", claim.papers)
            link_to_cards(claim)
    if (finding is not None or not was_started) and not is_hidden("answers"):  # these pages show verdicts
        DECK.draw_links(claim)
        link_to_labs(claim)
    return is_gathering, finding


def _draw_verdict(claim: Claim, finding: Finding, guess: str = "") -> None:
    """Draws the verdict and, if there is a visitor's guess, whether that was right, which marks the claim's card."""
    condition = f" {finding.condition}" if finding.answer == PARTLY else ""
    verdict = f"{finding.answer}{condition}."
    scored = f"**{verdict[:1].upper()}{verdict[1:]}**"
    if guess and finding.answer != UNDECIDED:
        is_right = GUESSES.get(guess) == finding.answer
        DECK.mark(claim).put("✓" if is_right else "✗")
        scored = f":material/cancel: **You guessed “{guess}”. Not quite: {verdict}**"
        if is_right:
            scored = f":material/check_circle: **You were right: {verdict}**"
    origin = "" if finding.answer == UNDECIDED else badge(claim.badge)
    st.markdown(f"{scored} {with_explained_words(finding.sentence)} {origin}")
