"""A visitor's progress: guesses and challenges, kept in the session and available as text."""

from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from components.shell.hide import hidden
from components.shell.session import Key
from models.lessons.lessons import LESSONS


@dataclass
class Done:
    """Progress in one lesson: the guess, whether the nets were watched to the end, whether the guess was right (None
    until then), and the configuration that passed the challenge.
    """

    guess: str = ""
    watched: bool = False
    right: bool | None = None
    passed: dict[str, str] | None = None


LESSONS_DONE: Key[dict[str, Done]] = Key("lessons_done", {})


def done(key: str) -> Done:
    """The progress in a lesson; empty for a new one."""
    kept = LESSONS_DONE.mutable()
    return kept.setdefault(key, Done())


def start_again(key: str) -> None:
    """Forgets the guess; a passed challenge stays passed."""
    one = done(key)
    one.guess, one.watched, one.right = "", False, None


def symbol(key: str) -> str:
    """A lesson's state as one sign: solved, guessed or not begun."""
    one = done(key)
    return "●" if one.passed is not None else "◐" if one.guess else "○"


def line() -> None:
    """How many lessons are guessed and solved, and what the signs in their list mean."""
    all_done = [done(key) for key in LESSONS]
    guessed, passed = sum(bool(one.guess) for one in all_done), sum(one.passed is not None for one in all_done)
    tip = "In the list: ○ not begun, ◐ guessed, ● challenge solved."
    st.caption(f"**{guessed} of {len(LESSONS)} guessed, {passed} solved**", help=tip)


def as_text() -> str:
    """The progress as lines of text."""
    lines = []
    for number, (key, lesson) in enumerate(LESSONS.items(), start=1):
        one = done(key)
        verdict = {None: "run not finished", True: "right", False: "not quite"}[one.right]
        verdict = "answer hidden by the link" if hidden("answers") else verdict
        said = f"guess: {one.guess} ({verdict})" if one.guess else "no guess yet"
        passed = "open" if one.passed is None else f"passed with {urlencode(one.passed) or 'the default network'}"
        lines.append(f"{number}. {lesson.title}. {said[:1].upper()}{said[1:]}. Challenge: {passed}.")
    return "\n".join(lines)


def show() -> None:
    """The progress, to be copied."""
    with st.expander("Your progress", icon=":material/checklist:"):
        st.caption("It is kept while this browser tab is open. Copy it to keep it or to hand it in.")
        st.code(as_text(), language=None, wrap_lines=True)
