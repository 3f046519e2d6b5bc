"""A class's board in a page: the options to guess from, the way to join, and the class's guesses after Reveal."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from html import escape

import streamlit as st

from components.classroom import following, ways_in
from components.shell import projector, session, visitor
from components.shell.session import Key
from components.shell.waiting import poll_while
from models.content import Texts
from models.lessons.board import ClassState, board
from models.lessons.questions import OwnQuestion
from models.lessons.stops import poll_of, questions_of
from models.spec.query import MAX_NUMBER_CHARS, escape_markdown

CLASS_REFUSED = Key("class_refused", "")  # why the last guess does not count

TEXTS = Texts("class")


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
        st.warning(escape_markdown(refusal))
    st.caption(TEXTS("change it"))
    if not following.keeps_member():
        st.html(f'<p class="class-not-kept">{TEXTS("not kept")}</p>')


def draw_own_question(state: ClassState) -> None:
    """Draws a question of the teacher's, to be answered or with the class's answers once they are revealed."""
    (question,) = questions_of(state.stop)
    poll = poll_of(question)
    st.title(escape_markdown(poll.title), anchor=False)
    if state.open_questions:
        draw_question(state, "", lambda: None)
        return
    st.markdown(TEXTS("the class answered"))
    right = poll.right if isinstance(poll, OwnQuestion) else ""
    draw_guesses(following.code(), question, right, following.member())


def _numbered_title(number: int, question: str) -> str:
    """Title of one of several questions, with the number that `attendance` uses."""
    return f"**{number}. {_plain(question, poll_of(question).title)}**"


def _plain(question: str, text: str) -> str:
    """A text of a question as Markdown; nothing in a teacher's own is formatted."""
    return escape_markdown(text) if isinstance(poll_of(question), OwnQuestion) else text


def _draw_options(question: str, title: str) -> None:
    """Draws a question's options as buttons.

    Only one of several questions has a title; its options stand side by side, so that all fit a phone's screen.
    """
    code, member = following.code(), following.member()
    guess = board().guess_of(code, question, member)
    label = "What is your guess?"
    if guess:
        label = f"Your guess is in: **{_plain(question, guess)}**"
    st.markdown(f"{title} · {label}" if title else label)

    def submit(option: str) -> None:
        CLASS_REFUSED.put(board().guess(code, question, member, option, visitor.visitor_id()))

    name, options = _widget_name(question), poll_of(question).options
    if not options:
        _draw_number(name, submit)
    with st.container(key=f"class_options_{name}", horizontal=bool(title), gap="small"):
        for index, option in enumerate(options):
            st.button(
                _plain(question, option),
                key=f"class_guess_{name}_{index}",
                type="primary" if option == guess else "secondary",
                width="content" if title else "stretch",
                on_click=submit,
                args=(option,),
            )


def _draw_number(name: str, submit: Callable[[str], None]) -> None:
    """Draws a field for a number, which counts once it is sent or left."""
    field = f"class_number_{name}"

    def send() -> None:
        submit(str(session.widget_value(field, "")))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("A number", key=field, max_chars=MAX_NUMBER_CHARS, width=240, on_change=send)
        st.button("Send", key=f"class_guess_{name}", type="primary", on_click=send)


def _widget_name(question: str) -> str:
    """A question as a part of a widget's key."""
    return question if question.isascii() and len(question) < 40 else sha256(question.encode()).hexdigest()[:12]


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
                first = state.open_questions[0]
                st.markdown(" · ".join(_plain(first, option) for option in poll_of(first).options))
            else:
                options = [
                    _plain(question, option)
                    for question in state.open_questions
                    for option in poll_of(question).options
                ]
                st.markdown("\n".join(f"- {option}" for option in options))
            hint = f"<p>{following.HINT}</p>" if following.teacher_key() else ""
            st.html(ways_in.join_html(following.code(), _attendance_html("") + hint))
        with right:
            draw_picture()


def draw_attendance(state: ClassState) -> None:
    """Draws how many are connected and have answered; the page's connection keeps the numbers up to date."""
    st.html(_attendance_html(attendance(state)))


def _attendance_html(text: str) -> str:
    return f'<p class="class-numbers">{text}</p>'


def attendance(state: ClassState) -> str:
    """How many of a class are connected, how many of them have answered each of its questions, and how many left."""
    gone = [f"{state.gone} answered and left"] if state.gone else []
    if not state.here:
        return ", ".join(["Nobody is here", *gone]) if gone else "Nobody is here yet"
    if not state.answered:
        return f"{state.here} here"
    if len(state.answered) == 1:
        return ", ".join([f"{state.answered[0]} of {state.here} answered", *gone])
    first = f"{state.answered[0]} of {state.here} answered question 1"
    others = [f"{count} question {number}" for number, count in enumerate(state.answered[1:], 2)]
    return ", ".join([first, *others, *gone])


def draw_results(
    code: str,
    questions: Sequence[str],
    right_option: Callable[[str], str] | None = None,
    member: str = "",
    *,
    is_open: bool = False,
) -> None:
    """Draws a class's guesses at each question of a stop.

    `right_option` gives a question's right option, empty until the nets show it; without it, none is marked. While the
    question `is_open`, the right option stands below the bars, which change.
    """

    def draw_all() -> bool:
        answers = {question: right_option(question) if right_option else "" for question in questions}
        columns = st.columns(len(answers))
        for number, (column, question) in enumerate(zip(columns, answers, strict=True), start=1):
            with column:
                if len(answers) > 1:
                    st.markdown(_numbered_title(number, question))
                right = answers[question]
                draw_guesses(code, question, "" if is_open else right, member, number=number)
                if is_open and right:
                    st.caption(TEXTS("right answer", answer=_plain(question, right)))
        voted = [question for question in questions if not isinstance(poll_of(question), OwnQuestion)]
        return right_option is not None and not all(answers[question] for question in voted)

    poll_while("class_results", draw_all)


def draw_guesses(code: str, question: str, right_option: str = "", member: str = "", *, number: int = 1) -> None:
    """Draws the bars of a question, the stop's question `number`; marks the right one and the member's guess."""
    bars = board().bars(code, question)
    if bars is None:
        return
    counts, guess = bars.counts(), bars.label(board().guess_of(code, question, member))
    lines = []
    for label, count in counts.items():
        attribute, tick = (" class=right", "✓ ") if label == bars.label(right_option) else ("", "")
        note = " (your guess)" if label == guess else ""
        shown_label = escape(label)
        lines.append(f'<li style="--count:{count}"{attribute}>{tick}{shown_label}: <b>{count}</b>{note}</li>')
    total = max(1, sum(counts.values()))
    st.html(f'<ul class="class-bars" data-question="{number}" style="--all:{total}">{"".join(lines)}</ul>')
