"""The experiment of the open claim: after a guess, Run gathers numbers from numpy and the trainer, which judge it."""

from typing import Any

import streamlit as st

from components.charts.diagram import show_blocks
from components.classroom import answers, board, following, homework
from components.player import experiment
from components.shell import session
from components.shell.hidden_parts import is_hidden
from components.shell.page_links import link_to_compare, link_to_playground
from components.shell.related import link_to_labs
from components.shell.session import Key
from components.shell.text import badge, draw_explanation, with_explained_words
from models.claims.claims import Claim
from models.claims.judging import GUESSES, PARTLY, UNDECIDED
from models.content import phrase
from models.experiment import Finding
from models.spec.pairings import MAX_COLUMNS

NAME = "claim"
ANSWER_HIDDEN = "This link hides the answer: do the numbers support your guess?"

CLAIM_RUNNING = Key("claim_{}_running", False)
CLAIMS_GUESSED: Key[dict[str, bool]] = Key("claims_guessed_right", {})  # whether the guess was right, by claim


def draw(claim: Claim) -> bool:
    """Draws the experiment; beside it, the nets' block diagrams until there is a finding, then its chart.

    Returns whether it is gathering numbers.
    """
    left, right = st.columns([2, 3], gap="medium")
    with left:
        is_gathering, finding = _draw_experiment(claim)
    with right:
        if finding is None:
            draw_blocks(claim)
        else:
            experiment.draw_finding(finding, claim.question, f"claim_{claim.key}")
    return is_gathering


def draw_blocks(claim: Claim) -> None:
    show_blocks(claim.nets, f"claim_{claim.key}")


def draw_revealed(claim: Claim, question: str) -> bool:
    """Draws a class's votes and the finding, whose experiment runs until there is one. Returns whether it runs."""
    code, member = following.code(), following.member()
    left, right = st.columns([2, 3], gap="medium")
    with left:
        is_gathering, values = experiment.source_values(claim, NAME)
        finding = claim.finding(values) if values is not None else None
        st.markdown(phrase("The class guessed"))
        board.draw_guesses(code, question, answers.option_of(finding), member)
        if finding is not None:
            _draw_verdict(claim, finding)
    with right:
        if finding is None:
            draw_blocks(claim)
        else:
            experiment.draw_finding(finding, claim.question, f"claim_{claim.key}")
    return is_gathering


def _draw_experiment(claim: Claim) -> tuple[bool, Finding | None]:
    """Draws guess, button, progress and verdict. Returns whether it is gathering numbers, and its finding."""
    key = f"claim_{claim.key}_running"

    def set_running(is_running: bool) -> None:
        CLAIM_RUNNING.of(claim.key).put(is_running)
        if is_running:
            guess = session.widget_value(f"claim_{claim.key}_guess")
            homework.note(f"Guess at “{claim.title}”: {guess}")

    was_started = CLAIM_RUNNING.of(claim.key).get()
    settings: dict[str, Any] = {"key": f"claim_{claim.key}_guess", "disabled": was_started, "persist_state": "session"}
    guess = st.segmented_control("True or false?", list(GUESSES), **settings)
    if not was_started:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Run",
                key=f"{key}_run",
                icon=":material/play_arrow:",
                type="primary",
                on_click=set_running,
                args=(True,),
                disabled=guess is None,
            )
            if guess is None:
                st.caption("Guess first.")
        _draw_links(claim)
        return False, None
    is_gathering, values = experiment.source_values(claim, NAME)
    word = "Stop" if is_gathering else "Clear"
    st.button(word, key=f"{key}_{word.lower()}", icon=":material/close:", on_click=set_running, args=(False,))
    if values is None:
        return is_gathering, None
    finding = claim.finding(values)
    if is_hidden("answers"):
        st.info(ANSWER_HIDDEN)
        return False, finding
    if finding.answer != UNDECIDED:
        CLAIMS_GUESSED.mutable()[claim.key] = GUESSES.get(str(guess)) == finding.answer
    _draw_verdict(claim, finding, str(guess))
    with st.expander("What is true"):
        draw_explanation(claim.why, "recorded" if claim.nets else "formula", claim.papers)
    _draw_links(claim)
    return False, finding


def guess_mark(claim: Claim) -> str:
    """A sign of whether the guess was right; empty for a claim that was not run in this visit."""
    is_right = None if is_hidden("answers") else CLAIMS_GUESSED.get().get(claim.key)
    return {None: "", True: "✓", False: "✗"}[is_right]


def _draw_verdict(claim: Claim, finding: Finding, guess: str = "") -> None:
    """Draws the verdict, and whether the visitor's guess was right if there is one."""
    condition = f" {finding.condition}" if finding.answer == PARTLY else ""
    verdict = f"{finding.answer}{condition}."
    scored = f"**{verdict[:1].upper()}{verdict[1:]}**"
    if guess and finding.answer != UNDECIDED:
        scored = f":material/cancel: **You guessed “{guess}”. Not quite: {verdict}**"
        if CLAIMS_GUESSED.get()[claim.key]:
            scored = f":material/check_circle: **You were right: {verdict}**"
    origin = "" if finding.answer == UNDECIDED else badge(claim.badge)
    st.markdown(f"{scored} {with_explained_words(finding.sentence)} {origin}")


def _draw_links(claim: Claim) -> None:
    nets = [] if is_hidden("answers") else list(claim.nets.values())  # these pages show verdicts
    if len(nets) == 1:
        link_to_playground(nets[0])
    elif nets:
        link_to_compare(nets[:MAX_COLUMNS])
    link_to_labs(claim)
