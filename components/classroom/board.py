"""A class in a page: the options to guess from, the way to join, and after Reveal what the class has guessed."""

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from components.classroom import following, ways_in
from components.shell import projector, visitor
from components.shell.session import Key
from components.shell.waiting import poll_while
from models.lessons.board import Now, board
from models.lessons.stops import QUESTIONS

CLASS_REFUSED = Key("class_refused", "")  # why the last guess is not counted

GUESS_HERE = "You can change your guess until your teacher reveals the answer."


def ask(now: Now, question: str, picture: Callable[[], None]) -> None:
    """What a class is asked, its options, and what this visitor has guessed; a projector has no say.

    `picture`: draws what is known before the guess.
    """
    if projector.is_on():
        _wall(now, question, picture)
        return
    st.markdown(question)
    picture()
    for number, asked in enumerate(now.asked, start=1):
        _options(asked, _numbered(number, asked) if len(now.asked) > 1 else "")
    if refusal := CLASS_REFUSED.pop():
        st.warning(refusal)
    st.caption(GUESS_HERE)


def _numbered(number: int, question: str) -> str:
    """One of several questions by its number, as `answered` counts them."""
    return f"**{number}. {QUESTIONS[question].title}**"


def _options(question: str, title: str) -> None:
    """A question's options as buttons; those of several questions, which have titles, stand beside each other, to fit a
    phone's screen.
    """
    code, member = following.code(), following.member()
    mine = board().guess_of(code, question, member)
    label = f"Your guess is in: **{mine}**" if mine else "What is your guess?"
    st.markdown(f"{title} · {label}" if title else label)

    def settle(option: str) -> None:
        CLASS_REFUSED.put(board().guess(code, question, member, option, visitor.address()))

    with st.container(key=f"class_options_{question}", horizontal=bool(title), gap="small"):
        for at, option in enumerate(QUESTIONS[question].options):
            st.button(
                option,
                key=f"class_guess_{question}_{at}",
                type="primary" if option == mine else "secondary",
                width="content" if title else "stretch",
                on_click=settle,
                args=(option,),
            )


def _wall(now: Now, question: str, picture: Callable[[], None]) -> None:
    """On a projector, while the class guesses: question, options and the way to join beside the picture."""
    with st.container(key="class_wall"):
        left, right = st.columns(2, gap="large")
        with left:
            st.markdown(question)
            if len(now.asked) > 1:
                st.markdown("  \n".join(_numbered(number, asked) for number, asked in enumerate(now.asked, start=1)))
                st.markdown(" · ".join(QUESTIONS[now.asked[0]].options))
            else:
                st.markdown("\n".join(f"- {option}" for asked in now.asked for option in QUESTIONS[asked].options))
            hint = f"<p>{following.HINT}</p>" if following.key() else ""
            st.html(ways_in.beside(following.code(), _numbers("") + hint))
        with right:
            picture()


def numbers(now: Now, here: int) -> None:
    """How many are here and how many have answered; the page's connection keeps the numbers up to date."""
    st.html(_numbers(answered(here, now.answered)))


def _numbers(text: str) -> str:
    return f'<p class="class-numbers">{text}</p>'


def answered(here: int, guesses: Sequence[int]) -> str:
    """How many of a class are here, and how many of them have guessed at each of its questions."""
    of = max(here, *guesses, 0)  # who has guessed may have left
    if not of:
        return "Nobody is here yet"
    if not guesses:
        return f"{of} here"
    lines = [f"{number} question {at}" for at, number in enumerate(guesses, start=1)]
    first = f" {lines[0].partition(' ')[2]}" if len(lines) > 1 else ""
    return ", ".join([f"{guesses[0]} of {of} answered{first}", *lines[1:]])


def results(code: str, questions: Sequence[str], right: Callable[[str], str] | None = None, member: str = "") -> None:
    """What a class has guessed at each question of a stop. `right` says which option is: nothing until nets show it."""

    def bars() -> bool:
        known = {question: right(question) if right else "" for question in questions}
        for number, (place, question) in enumerate(zip(st.columns(len(known)), known, strict=True), start=1):
            with place:
                if len(known) > 1:
                    st.markdown(_numbered(number, question))
                result(code, question, known[question], member)
        return right is not None and not all(known.values())

    poll_while("class_results", bars)


def result(code: str, question: str, right: str = "", member: str = "") -> None:
    """What a class has guessed at a question: a bar for every option; which one is `right`, and which a member's."""
    counts = board().counts(code, question) or {}
    mine = board().guess_of(code, question, member)
    bars = "".join(
        f'<li style="--count:{count}"{" class=right" if option == right else ""}>{"✓ " * (option == right)}'
        f"{escape(option)}: <b>{count}</b>{' (your guess)' * (option == mine)}</li>"
        for option, count in counts.items()
    )
    total = max(1, sum(counts.values()))
    st.html(f'<ul class="class-bars" data-question="{question}" style="--all:{total}">{bars}</ul>')
