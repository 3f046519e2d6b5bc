"""The page Lessons: one lesson, which the address names, from its question to its code."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

import streamlit as st

from components.charts.diagram import show_blocks
from components.classroom import board, following, homework
from components.controls import form
from components.lessons import attempt, progress, runs, source
from components.lessons.progress import TEXTS
from components.shell import address, projector, session, waiting
from components.shell.hidden_parts import is_hidden
from components.shell.related import link_to_labs
from components.shell.text import draw_explanation, with_explained_words
from models.experiment import Finding
from models.lessons.board import ClassState
from models.lessons.board import board as board_of_class
from models.lessons.lessons import LESSONS, Lesson
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "lesson"  # in the address
CHOICE = "lesson_choice"  # the setting
BOX = "lesson_box"  # the widget


@dataclass(frozen=True)
class LessonShown(Settings):
    """The open lesson."""

    choice: Annotated[str, Knob("Lesson", choices={}, link=KEY)] = ""


def chosen_lesson() -> Lesson:
    """The lesson that the teacher shows to this visitor's class, else the one in the address, else the first."""
    form.keep(LessonShown, KEY, LessonShown(next(iter(LESSONS))), legal={"choice": list(LESSONS)})
    state = following.shown_state()
    if state and state.stop in LESSONS:
        session.set_widget(CHOICE, state.stop)
    return LESSONS[str(session.widget_value(CHOICE))]


def draw_list(lesson: Lesson) -> None:
    """Draws a list of all lessons and the progress; nothing where the link shows one lesson only."""
    if is_hidden("lessons") or following.shown_state():
        return
    numbered = enumerate(LESSONS.items(), start=1)
    titles = {key: f"{number}. {entry.title} {progress.symbol(key)}" for number, (key, entry) in numbered}
    address.put({BOX: lesson.key})

    def change() -> None:
        address.reapply_widgets()
        if session.widget_value(BOX) in LESSONS:  # a late browser may send a title of before the last guess
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
        progress.draw_summary()


def draw(lesson: Lesson) -> None:
    """Draws question and guess beside blocks and finding, then the nets; explanation, challenge and code come last."""
    number = list(LESSONS).index(lesson.key) + 1
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown(f"**{number}. {lesson.title}.** {with_explained_words(lesson.question)}")
        has_guess = _draw_guess(lesson)
        _draw_teaching(lesson)
    finding = runs.visible_finding(lesson) if has_guess else None
    with right:
        with st.container(key="lesson_guessed" if has_guess else None):
            _draw_blocks(lesson)
        if has_guess:
            runs.draw_finding(lesson, finding)
    if has_guess:
        _draw_runs(lesson, finding, "answer" if progress.ANSWER_SHOWN.of(lesson.key).get() else "")
    lesson_progress = progress.progress_of(lesson.key)
    is_answered = lesson_progress.watched and lesson_progress.right is not None
    if (is_answered or progress.ANSWER_SHOWN.of(lesson.key).get()) and not is_hidden("answers"):
        with st.expander(TEXTS("why"), expanded=True):
            draw_explanation(lesson.why, "formula", lesson.papers, TEXTS("read more"))
        attempt.draw(lesson)
        _draw_code(lesson)
    link_to_labs(lesson)


def draw_on_projector(lesson: Lesson) -> None:
    """Draws question, guess and runs for a projector, without explanation, challenge and code."""
    st.markdown(lesson.question)
    finding = runs.visible_finding(lesson)
    if progress.progress_of(lesson.key).guess:
        _draw_runs(lesson, finding)
    else:
        _draw_blocks(lesson)
    _draw_guess(lesson)
    runs.draw_finding(lesson, finding)


def draw_in_class(lesson: Lesson, state: ClassState) -> None:
    """Draws the question and its options for a class; once revealed, the class's guesses, finding and runs."""
    if not state.revealed:
        board.draw_question(state, f"**{lesson.question}**", lambda: _draw_blocks(lesson))
        return
    code, member = following.code(), following.member()
    if not projector.is_on():  # a projector needs the question's room for the answer
        st.markdown(f"**{lesson.question}**")
    progress.progress_of(lesson.key).guess = board_of_class().guess_of(code, lesson.key, member)
    left, right = st.columns([2, 3], gap="medium")
    finding = runs.visible_finding(lesson)
    with left:
        st.markdown("The class guessed")
        board.draw_guesses(code, lesson.key, finding.answer if finding else "", member)
    with left if projector.is_on() else right:
        runs.draw_finding(lesson, finding, in_class=True)
    if projector.is_on():  # everything that moves fits on one screen
        with right, st.container(key="lesson_wall"):
            runs.draw_sample_paths(lesson)
    _draw_runs(lesson, finding, f"{code} {state.led} {lesson.key}")


def _draw_runs(lesson: Lesson, finding: Finding | None, start: str = "") -> None:
    """Draws the nets, which play by themselves once for each new value of `start`.

    `finding`: the finding that the page has drawn; if there was none, the page reruns as soon as there is one.
    """

    def is_waiting() -> bool:
        if runs.draw_player(lesson, start) or runs.is_unmeasured(lesson):
            return True
        if finding is None and runs.visible_finding(lesson):
            st.rerun()
        return False

    waiting.poll_while(f"lesson_{lesson.key}", is_waiting)


def _draw_blocks(lesson: Lesson) -> None:
    show_blocks(runs.nets_by_label(lesson), f"lesson_{lesson.key}")


def draw_neighbours(lesson: Lesson) -> None:
    """Draws buttons to the previous and the next lesson; none where the link shows one lesson only."""
    if is_hidden("lessons") or following.shown_state():
        return
    lessons = list(LESSONS.values())
    index = lessons.index(lesson)
    with st.container(horizontal=True):
        if index > 0:
            _draw_neighbour("previous", lessons[index - 1], ":material/arrow_back:")
        if index + 1 < len(lessons):
            _draw_neighbour("next", lessons[index + 1], ":material/arrow_forward:")


def _draw_neighbour(word: str, lesson: Lesson, icon: str) -> None:
    """Draws a button, because Streamlit does not change the address for a link to the current page."""
    st.button(
        f"{TEXTS(word)}: {lesson.title}",
        key=f"lesson_{word.capitalize()}",
        icon=icon,
        type="tertiary",
        on_click=session.set_widget,
        args=(CHOICE, lesson.key),
    )


def _draw_guess(lesson: Lesson) -> bool:
    """Draws the guess, or asks for it, or leaves it out for the answer. Returns whether the nets may be seen."""
    guess, shown = progress.progress_of(lesson.key).guess, progress.ANSWER_SHOWN.of(lesson.key)
    key = f"lesson_{lesson.key}_guess"

    def settle() -> None:
        progress.progress_of(lesson.key).guess = str(session.widget_value(key))
        homework.note(f"Guess in {lesson.title}: {progress.progress_of(lesson.key).guess}")

    def reset() -> None:
        progress.reset_guess(lesson.key)
        runs.reset(lesson)

    if guess or (shown.get() and not is_hidden("answers")):
        st.markdown(TEXTS("your guess was", guess=guess) if guess else TEXTS("answer shown"))
        st.button(TEXTS("guess again"), key=f"{key}_again", icon=":material/replay:", on_click=reset)
        return True
    choice = st.radio(TEXTS("your guess"), lesson.options, index=None, key=key)
    with st.container(horizontal=True):
        st.button(
            TEXTS("settle"),
            key=f"{key}_settle",
            icon=":material/done:",
            type="primary",
            on_click=settle,
            disabled=choice is None,
        )
        if not (is_hidden("answers") or projector.is_on()):
            st.button(TEXTS("show the answer"), key=f"{key}_show", type="tertiary", on_click=shown.put, args=(True,))
    return False


def _draw_teaching(lesson: Lesson) -> None:
    """Draws what one can do after a lesson, what it builds on and how long it takes."""
    teaching = lesson.teaching
    if teaching.minutes:
        terms = ", ".join(f"[{term}](glossary?word={quote(term)})" for term in teaching.presupposes)
        st.caption(TEXTS("teaching", objective=teaching.objective, terms=terms, minutes=teaching.minutes))


def _draw_code(lesson: Lesson) -> None:
    with st.expander(TEXTS("code")):
        st.markdown(f"`{lesson.code.path}`, `{lesson.code.name}`")
        st.code(source.excerpt(lesson.code), language="python")
