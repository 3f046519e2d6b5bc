"""A class's board in a page: the options to guess from, the way to join, and the class's guesses after Reveal."""

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from components.classroom import following, ways_in
from components.shell import projector, visitor
from components.shell.session import Key
from components.shell.waiting import poll_while
from models.lessons.board import ClassState, board
from models.lessons.stops import QUESTIONS

CLASS_REFUSED = Key("class_refused", "")  # why the last guess does not count

GUESS_HINT = "You can change your guess until your teacher reveals the answer."


def draw_question(state: ClassState, text: str, draw_picture: Callable[[], None]) -> None:
    """Draws the question, the picture, and the options with this visitor's guess; a projector takes no guess.

    `draw_picture` shows what is known before the guess.
    """
    if projector.is_on():
        _draw_on_projector(state, text, draw_picture)
        return
    st.markdown(text)
    draw_picture()
    for number, question in enumerate(state.open_questions, start=1):
        _draw_options(question, _numbered_title(number, question) if len(state.open_questions) > 1 else "")
    if refusal := CLASS_REFUSED.pop():
        st.warning(refusal)
    st.caption(GUESS_HINT)
    if not following.keeps_member():
        st.html(f'<p class="class-not-kept">{following.TEXTS("not kept")}</p>')


def _numbered_title(number: int, question: str) -> str:
    """Title of one of several questions, with the number that `attendance_text` uses."""
    return f"**{number}. {QUESTIONS[question].title}**"


def _draw_options(question: str, title: str) -> None:
    """Draws a question's options as buttons.

    Only one of several questions has a title; its options stand side by side, so that all fit a phone's screen.
    """
    code, member = following.code(), following.member()
    guess = board().guess_of(code, question, member)
    label = f"Your guess is in: **{guess}**" if guess else "What is your guess?"
    st.markdown(f"{title} · {label}" if title else label)

    def submit(option: str) -> None:
        CLASS_REFUSED.put(board().guess(code, question, member, option, visitor.visitor_id()))

    with st.container(key=f"class_options_{question}", horizontal=bool(title), gap="small"):
        for index, option in enumerate(QUESTIONS[question].options):
            st.button(
                option,
                key=f"class_guess_{question}_{index}",
                type="primary" if option == guess else "secondary",
                width="content" if title else "stretch",
                on_click=submit,
                args=(option,),
            )


def _draw_on_projector(state: ClassState, text: str, draw_picture: Callable[[], None]) -> None:
    """Draws question, options and the way to join beside the picture, while the class guesses."""
    with st.container(key="class_wall"):
        left, right = st.columns(2, gap="large")
        with left:
            st.markdown(text)
            if len(state.open_questions) > 1:
                titles = [
                    _numbered_title(number, question) for number, question in enumerate(state.open_questions, start=1)
                ]
                st.markdown("  \n".join(titles))
                st.markdown(" · ".join(QUESTIONS[state.open_questions[0]].options))
            else:
                options = [option for question in state.open_questions for option in QUESTIONS[question].options]
                st.markdown("\n".join(f"- {option}" for option in options))
            hint = f"<p>{following.HINT}</p>" if following.teacher_key() else ""
            st.html(ways_in.join_html(following.code(), _attendance_html("") + hint))
        with right:
            draw_picture()


def draw_attendance(state: ClassState, present: int) -> None:
    """Draws how many are present and have answered; the page's connection keeps the numbers up to date."""
    st.html(_attendance_html(attendance_text(present, state.guess_counts)))


def _attendance_html(text: str) -> str:
    return f'<p class="class-numbers">{text}</p>'


def attendance_text(present: int, answered: Sequence[int]) -> str:
    """How many of a class are present, and how many of them have answered each of its questions."""
    members = max(present, *answered, 0)  # a member who answered may have left
    if not members:
        return "Nobody is here yet"
    if not answered:
        return f"{members} here"
    first = f"{answered[0]} of {members} answered"
    if len(answered) == 1:
        return first
    others = [f"{count} question {number}" for number, count in enumerate(answered[1:], start=2)]
    return ", ".join([f"{first} question 1", *others])


def draw_results(
    code: str, questions: Sequence[str], right_option: Callable[[str], str] | None = None, member: str = ""
) -> None:
    """Draws a class's guesses at each question of a stop.

    `right_option` gives a question's right option, empty until the nets show it; without it, none is marked.
    """

    def draw_all() -> bool:
        answers = {question: right_option(question) if right_option else "" for question in questions}
        columns = st.columns(len(answers))
        for number, (column, question) in enumerate(zip(columns, answers, strict=True), start=1):
            with column:
                if len(answers) > 1:
                    st.markdown(_numbered_title(number, question))
                draw_guesses(code, question, answers[question], member)
        return right_option is not None and not all(answers.values())

    poll_while("class_results", draw_all)


def draw_guesses(code: str, question: str, right_option: str = "", member: str = "") -> None:
    """Draws a bar for each option of a question; marks the right option and the member's guess."""
    counts = board().counts(code, question) or {}
    guess = board().guess_of(code, question, member)
    bars = []
    for option, count in counts.items():
        attribute, tick = (" class=right", "✓ ") if option == right_option else ("", "")
        note = " (your guess)" if option == guess else ""
        bars.append(f'<li style="--count:{count}"{attribute}>{tick}{escape(option)}: <b>{count}</b>{note}</li>')
    total = max(1, sum(counts.values()))
    st.html(f'<ul class="class-bars" data-question="{question}" style="--all:{total}">{"".join(bars)}</ul>')
