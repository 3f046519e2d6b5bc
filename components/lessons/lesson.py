"""The lessons page: one lesson, chosen by the address, from its question to its code."""

from dataclasses import dataclass
from typing import Annotated

import streamlit as st

from components.charts.diagram import show_blocks
from components.classroom import board, following
from components.controls import form
from components.lessons import attempt, progress, runs, source
from components.lessons.progress import TEXTS
from components.shell import address, projector, session, waiting
from components.shell.hide import hidden
from components.shell.text import explained, explanation
from models.experiment import Finding
from models.lessons.board import Now
from models.lessons.board import board as board_of_class
from models.lessons.lessons import LESSONS, Lesson
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY, CHOICE, BOX = "lesson", "lesson_choice", "lesson_box"


@dataclass(frozen=True)
class LessonShown(Settings):
    """The open lesson."""

    choice: Annotated[str, Knob("Lesson", choices={}, link=KEY)] = ""


def chosen() -> Lesson:
    """The lesson of the class that this visit is held in, else that in the address; the first where it names none."""
    form.keep(LessonShown, KEY, LessonShown(next(iter(LESSONS))), legal={"choice": list(LESSONS)})
    if (now := following.held()) and now.stop in LESSONS:
        session.set_widget(CHOICE, now.stop)
    return LESSONS[str(session.widget_value(CHOICE))]


def choose(lesson: Lesson) -> None:
    """The progress and a list of all lessons; nothing where the link shows one lesson only."""
    if hidden("lessons") or following.held():
        return
    titles = {
        key: f"{at}. {one.title} {progress.symbol(key)}" for at, (key, one) in enumerate(LESSONS.items(), start=1)
    }
    address.put({BOX: lesson.key})

    def change() -> None:
        address.put_again()
        session.set_widget(CHOICE, session.widget_value(BOX))

    with st.container(horizontal=True, vertical_alignment="center"):
        st.selectbox(
            TEXTS("list"),
            list(LESSONS),
            key=BOX,
            format_func=titles.__getitem__,
            on_change=change,
            label_visibility="collapsed",
            width=320,
        )
        progress.line()


def draw(lesson: Lesson) -> None:
    """Question and guess beside blocks and finding, the nets below; why and code are folded."""
    number = list(LESSONS).index(lesson.key) + 1
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(f"**{number}. {lesson.title}.** {explained(lesson.question)}")
        guessed = _guessed(lesson)
    finding = runs.finding(lesson) if guessed else None
    with right:
        with st.container(key="lesson_guessed" if guessed else None):
            _blocks(lesson)
        if guessed:
            runs.happened(lesson, finding)
    if guessed:
        _watch(lesson, finding)
    one = progress.done(lesson.key)
    if one.watched and one.right is not None and not hidden("answers"):
        with st.expander(TEXTS("why"), expanded=True):
            explanation(lesson.why, "formula", lesson.papers, TEXTS("read more"))
        attempt.draw(lesson)
        _code(lesson)


def project(lesson: Lesson) -> None:
    """Question, guess and run for a projector, without what is read afterwards."""
    st.markdown(lesson.question)
    finding = runs.finding(lesson)
    if progress.done(lesson.key).guess:
        _watch(lesson, finding)
    else:
        _blocks(lesson)
    _guessed(lesson)
    runs.happened(lesson, finding)


def in_class(lesson: Lesson, now: Now) -> None:
    """The lesson of a class: the question and its options; what answers it, and the class's guesses, once revealed."""
    if not now.revealed:
        board.ask(now, f"**{lesson.question}**", lambda: _blocks(lesson))
        return
    wall = projector.is_on()
    if not wall:  # where the answer takes the question's room
        st.markdown(f"**{lesson.question}**")
    progress.done(lesson.key).guess = board_of_class().guess_of(following.code(), lesson.key, following.member())
    left, right = st.columns([2, 3], gap="medium")
    finding = runs.finding(lesson)
    with left:
        st.markdown("The class guessed")
        board.result(following.code(), lesson.key, finding.answer if finding else "", following.member())
    with left if wall else right:
        runs.happened(lesson, finding, everybody=True)
    if wall:  # where all that moves stands on one screen
        with right, st.container(key="lesson_wall"):
            runs.samples(lesson)
    _watch(lesson, finding, f"{following.code()} {now.led} {lesson.key}")


def _watch(lesson: Lesson, finding: Finding | None, start: str = "") -> None:
    """The nets, which play by themselves once for a `start`. `found`: with which the page was drawn; it is drawn again
    once they have answered the question.
    """

    def waits() -> bool:
        if runs.watch(lesson, start) or runs.unmeasured(lesson):
            return True
        if finding is None and runs.finding(lesson):
            st.rerun()
        return False

    waiting.poll_while(f"lesson_{lesson.key}", waits)


def _blocks(lesson: Lesson) -> None:
    show_blocks(runs.lettered(lesson), f"lesson_{lesson.key}")


def walk(lesson: Lesson) -> None:
    """Buttons to the previous and the next lesson; nothing where the link shows one lesson only."""
    if hidden("lessons") or following.held():
        return
    lessons = list(LESSONS.values())
    at = lessons.index(lesson)
    with st.container(horizontal=True):
        if at > 0:
            _way("previous", lessons[at - 1], ":material/arrow_back:")
        if at + 1 < len(lessons):
            _way("next", lessons[at + 1], ":material/arrow_forward:")


def _way(word: str, lesson: Lesson, icon: str) -> None:
    """A button rather than a link: Streamlit does not change the address for a link to the current page."""

    def go() -> None:
        session.set_widget(CHOICE, lesson.key)

    st.button(
        f"{TEXTS(word)}: {lesson.title}", key=f"lesson_{word.capitalize()}", icon=icon, type="tertiary", on_click=go
    )


def _guessed(lesson: Lesson) -> bool:
    """The guess, asked before anything is shown. Returns whether there is one."""
    one, key = progress.done(lesson.key), f"lesson_{lesson.key}_guess"

    def settle() -> None:
        progress.done(lesson.key).guess = str(session.widget_value(key))

    def again() -> None:
        progress.start_again(lesson.key)
        runs.reset(lesson)

    if one.guess:
        st.markdown(TEXTS("your guess was", guess=lesson.word(one.guess)))
        st.button(TEXTS("guess again"), key=f"{key}_again", icon=":material/replay:", on_click=again)
        return True
    guess = st.radio(TEXTS("your guess"), lesson.options, index=None, key=key, format_func=lesson.word)
    label = TEXTS("settle")
    st.button(
        label, key=f"{key}_settle", icon=":material/done:", type="primary", on_click=settle, disabled=guess is None
    )
    return False


def _code(lesson: Lesson) -> None:
    with st.expander(TEXTS("code")):
        st.markdown(f"`{lesson.code.path}`, `{lesson.code.name}`")
        st.code(source.excerpt(lesson.code), language="python")
