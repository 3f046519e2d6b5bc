"""A visitor's progress: guesses and challenges, in the session, in the browser's memory and as text."""

from dataclasses import asdict, dataclass
from urllib.parse import urlencode

import streamlit as st

from components.classroom import following
from components.shell import memory, tour
from components.shell.hide import hidden
from components.shell.session import Key
from models.content import Texts
from models.lessons.lessons import LESSONS, Lesson
from models.spec import RunConfig

TEXTS = Texts("lesson")

PAGE = "lessons"
ENTRY = "lesson.{}"  # of the browser's memory, by a lesson's key


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
LESSONS_RECALLED = Key("lessons_recalled", False)


def done(key: str) -> Done:
    """The progress in a lesson; empty for a new one."""
    stored = LESSONS_DONE.mutable()
    return stored.setdefault(key, Done())


def asked(page: str) -> bool:
    """Whether a page shows what the browser remembers: the lessons, except in a class."""
    return page == PAGE and not following.held()


def recall() -> None:
    """Before the page is drawn: takes over what the browser remembers, once it has said so, unless in a class."""
    if following.held() or not memory.heard() or LESSONS_RECALLED.get():
        return
    LESSONS_RECALLED.put(True)
    for key, lesson in LESSONS.items():
        if done(key) == Done():
            LESSONS_DONE.mutable()[key] = _from_memory(lesson, memory.recalled(ENTRY.format(key)))


def remember() -> None:
    """After the page was drawn: has the browser keep what was guessed and solved, unless in a class."""
    if following.held():
        return
    for key in LESSONS:
        if done(key) != Done() or memory.recalled(ENTRY.format(key)):
            memory.keep(ENTRY.format(key), asdict(done(key)))
    if any(done(key).guess for key in LESSONS):
        tour.done("lesson")


def _from_memory(lesson: Lesson, stored: object) -> Done:
    """The progress in a lesson as a browser says it: what cannot be is left out."""
    fields = stored if isinstance(stored, dict) else {}
    guess, passed = fields.get("guess"), fields.get("passed")
    one = Done(guess) if isinstance(guess, str) and guess in lesson.options else Done()
    if one.guess and fields.get("watched") is True and isinstance(fields.get("right"), bool):
        one.watched, one.right = True, fields["right"]
    if isinstance(passed, dict):
        one.passed = RunConfig.from_query({str(name): str(value) for name, value in passed.items()})[0].to_query()
    return one


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
    sentence = TEXTS("progress", guessed=guessed, lessons=len(LESSONS), solved=passed)
    st.caption(sentence, help=TEXTS("signs"))


def as_text() -> str:
    """The progress as lines of text."""
    lines = []
    for number, (key, lesson) in enumerate(LESSONS.items(), start=1):
        one = done(key)
        verdict = {None: "run not finished", True: "right", False: "not quite"}[one.right]
        verdict = "answer hidden by the link" if hidden("answers") else verdict
        guess = f"guess: {one.guess} ({verdict})" if one.guess else "no guess yet"
        passed = "open" if one.passed is None else f"passed with {urlencode(one.passed) or 'the default network'}"
        lines.append(f"{number}. {lesson.title}. {guess[:1].upper()}{guess[1:]}. Challenge: {passed}.")
    return "\n".join(lines)


def show() -> None:
    """The progress, to be copied."""
    with st.expander(TEXTS("your progress"), icon=":material/checklist:"):
        st.caption(TEXTS("kept"))
        st.code(as_text(), language=None, wrap_lines=True)
