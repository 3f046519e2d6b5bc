"""The experiment of the open claim: a guess, then Run gathers numbers from numpy and the trainer, which judge it."""

from typing import Any

import streamlit as st

from components.charts.diagram import show_blocks
from components.player.experiment import draw_finding, source_values
from components.shell.session import Key
from components.shell.text import badge, explained, explanation
from components.shell.ways_on import to_compare, to_playground
from models.claims.claims import Claim
from models.claims.judging import FAILS, HOLDS, PARTLY
from models.experiment import Finding
from models.spec.pairings import MAX_COLUMNS

NAME = "claim"
GUESSES = {"true": HOLDS, "false": FAILS, "true only if ...": PARTLY}
ICONS = {HOLDS: ":material/check_circle:", FAILS: ":material/cancel:", PARTLY: ":material/rule:"}

CLAIM_RUNNING = Key("claim_{}_running", False)
CLAIMS_GUESSED: Key[dict[str, bool]] = Key("claims_guessed_right", {})  # by claim, whether the guess was right


def watch(claim: Claim) -> bool:
    """The experiment beside its picture: the blocks of its nets, then its chart. Returns whether it is running."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        running, outcome = _experiment(claim)
    with right:
        if outcome is None:
            show_blocks(claim.nets, f"claim_{claim.key}")
        else:
            draw_finding(outcome, claim.question, f"claim_{claim.key}")
    return running


def _experiment(claim: Claim) -> tuple[bool, Finding | None]:
    """The guess, the button, the progress, and the verdict. Returns whether it is running, and the outcome."""
    key = f"claim_{claim.key}_running"

    def press(running: bool) -> None:
        CLAIM_RUNNING.of(claim.key).put(running)

    guess = f"claim_{claim.key}_guess"
    running = CLAIM_RUNNING.of(claim.key).get()
    guess_settings: dict[str, Any] = {"key": guess, "disabled": running, "persist_state": "session"}
    answer = st.segmented_control("True or false?", list(GUESSES), **guess_settings)
    if not running:
        label, icon = "Run", ":material/play_arrow:"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                label,
                key=f"{key}_run",
                icon=icon,
                type="primary",
                on_click=press,
                args=(True,),
                disabled=answer is None,
            )
            if answer is None:
                st.caption("Guess first.")
        _open(claim)
        return False, None
    running, values = source_values(claim, NAME)
    word = "Stop" if running else "Clear"
    st.button(word, key=f"{key}_{word.lower()}", icon=":material/close:", on_click=press, args=(False,))
    if values is None:
        return running, None
    outcome = claim.finding(values)
    CLAIMS_GUESSED.mutable()[claim.key] = GUESSES.get(str(answer)) == outcome.answer
    show(claim, outcome, str(answer))
    with st.expander("What is true"):
        explanation(claim.why, "recorded" if claim.nets else "formula", claim.papers)
    _open(claim)
    return False, outcome


def mark(claim: Claim) -> str:
    """A sign for a claim that was run in this visit: whether the guess was right."""
    right = CLAIMS_GUESSED.get().get(claim.key)
    return "" if right is None else "✓" if right else "✗"


def show(claim: Claim, outcome: Finding, guess: str) -> None:
    """The verdict beside the guess, and its sentence."""
    condition = f" {outcome.condition}" if outcome.answer == PARTLY else ""
    sentence = f"{outcome.answer}{condition}."
    right = CLAIMS_GUESSED.get()[claim.key]
    scored = f"You were right: {sentence}" if right else f"You guessed “{guess}”. Not quite: {sentence}"
    st.markdown(f"{ICONS[outcome.answer]} **{scored}** {explained(outcome.sentence)} {badge(claim.badge)}")


def _open(claim: Claim) -> None:
    """A link to the nets of a claim, if it has any."""
    nets = list(claim.nets.values())
    if len(nets) == 1:
        to_playground(nets[0])
    elif nets:
        to_compare(nets[:MAX_COLUMNS])
