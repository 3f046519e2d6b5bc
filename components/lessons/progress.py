"""A visitor's progress: guesses and challenges, in the session, in the browser's memory and as text."""

from dataclasses import asdict, dataclass
from urllib.parse import urlencode

import streamlit as st

from components.classroom import following
from components.shell import memory, tour
from components.shell.hidden_parts import is_hidden
from components.shell.session import Key
from models.content import Texts
from models.lessons.lessons import LESSONS, Lesson
from models.spec import RunConfig

TEXTS = Texts("lesson")

PAGE = "lessons"
ENTRY = "lesson.{}"  # key in the browser's memory, by lesson


@dataclass
class LessonProgress:
    """Progress in one lesson, stored in the browser's memory under these names."""

    guess: str = ""
    watched: bool = False  # whether the playhead reached the end of all runs
    right: bool | None = None  # whether the guess was right; None until the nets show it
    passed: dict[str, str] | None = None  # query of the configuration that passed the challenge


LESSONS_DONE: Key[dict[str, LessonProgress]] = Key("lessons_done", {})
ANSWER_SHOWN = Key("lesson_{}_answer_shown", False)  # whether the visitor asked for the answer instead of guessing
LESSONS_RECALLED = Key("lessons_recalled", False)


def progress_of(key: str) -> LessonProgress:
    """The progress in a lesson, to read and to change."""
    return LESSONS_DONE.mutable().setdefault(key, LessonProgress())


def needs_memory(page: str) -> bool:
    """Whether a page shows progress from the browser's memory: only Lessons does, and not in a class."""
    return page == PAGE and not following.shown_state()


def recall() -> None:
    """Adopts the browser's memory once it has arrived, before the page is drawn; not in a class."""
    if following.shown_state() or not memory.has_answered() or LESSONS_RECALLED.get():
        return
    LESSONS_RECALLED.put(True)
    for key, lesson in LESSONS.items():
        if progress_of(key) == LessonProgress():
            LESSONS_DONE.mutable()[key] = _from_memory(lesson, memory.recall(ENTRY.format(key)))


def remember() -> None:
    """Stores guesses and solutions in the browser's memory, after the page is drawn; not in a class."""
    if following.shown_state():
        return
    for key in LESSONS:
        if progress_of(key) != LessonProgress() or memory.recall(ENTRY.format(key)):
            memory.remember(ENTRY.format(key), asdict(progress_of(key)))
    if any(progress_of(key).guess for key in LESSONS):
        tour.mark_done("lesson")


def _from_memory(lesson: Lesson, stored: object) -> LessonProgress:
    """A lesson's progress from what the browser stored; fields with illegal values keep their defaults."""
    fields = stored if isinstance(stored, dict) else {}
    guess, passed = fields.get("guess"), fields.get("passed")
    progress = LessonProgress(guess if isinstance(guess, str) and guess in lesson.options else "")
    if progress.guess and fields.get("watched") is True and isinstance(fields.get("right"), bool):
        progress.watched, progress.right = True, fields["right"]
    if isinstance(passed, dict):
        query = {str(name): str(value) for name, value in passed.items()}
        progress.passed = RunConfig.from_query(query)[0].to_query()
    return progress


def reset_guess(key: str) -> None:
    """Forgets the guess; a passed challenge stays passed."""
    progress = progress_of(key)
    progress.guess, progress.watched, progress.right = "", False, None
    ANSWER_SHOWN.of(key).put(False)


def symbol(key: str) -> str:
    """A lesson's state as one sign: solved, guessed or not begun."""
    progress = progress_of(key)
    if progress.passed is not None:
        return "●"
    return "◐" if progress.guess else "○"


def draw_summary() -> None:
    """Draws how many lessons are guessed and solved, and what the signs in their list mean."""
    guessed = sum(bool(progress_of(key).guess) for key in LESSONS)
    solved = sum(progress_of(key).passed is not None for key in LESSONS)
    st.caption(TEXTS("progress", guessed=guessed, lessons=len(LESSONS), solved=solved), help=TEXTS("signs"))


def progress_text() -> str:
    """The progress, a line for each lesson."""
    lines = []
    for number, (key, lesson) in enumerate(LESSONS.items(), start=1):
        progress = progress_of(key)
        verdict = {None: "run not finished", True: "right", False: "not quite"}[progress.right]
        if is_hidden("answers"):
            verdict = "answer hidden by the link"
        guess = f"Guess: {progress.guess} ({verdict})" if progress.guess else "No guess yet"
        challenge = "open"
        if progress.passed is not None:
            challenge = f"passed with {urlencode(progress.passed) or 'the default network'}"
        lines.append(f"{number}. {lesson.title}. {guess}. Challenge: {challenge}.")
    return "\n".join(lines)


def draw_text() -> None:
    with st.expander(TEXTS("your progress"), icon=":material/checklist:"):
        st.caption(TEXTS("kept"))
        st.code(progress_text(), language=None, wrap_lines=True)
