"""A class in a page: the options to guess from, the way to join, and after Reveal what the class has guessed."""

from collections.abc import Callable

import streamlit as st

from components.classroom import following
from components.shell import address, projector, qr, visitor
from components.shell.session import Key
from models.insight.words import counted
from models.lessons.board import Now, board
from models.lessons.stops import QUESTIONS
from models.spec.query import literal

CLASS_REFUSED = Key("class_refused", "")  # why the last guess is not counted

GUESS_HERE = "You can change your guess until your teacher reveals what happens."


def ask(now: Now, question: str, picture: Callable[[], None] = lambda: None) -> None:
    """What a class is asked, its options, and what this visitor has guessed; a projector has no say.

    `picture`: draws what is known before the guess.
    """
    if projector.on():
        _wall(now, question, picture)
        return
    st.markdown(question)
    picture()
    for asked in now.asked:
        _options(asked, alone=len(now.asked) == 1)
    if refusal := CLASS_REFUSED.pop():
        st.warning(refusal)
    st.caption(GUESS_HERE)


def _options(question: str, *, alone: bool) -> None:
    """A question's options as buttons; those of several questions stand beside each other, to fit a phone's screen."""
    code, member = following.code(), following.member()
    mine = board().guess_of(code, question, member)
    said = f"Your guess is in: **{mine}**" if mine else "What is your guess?"
    if not alone:
        said = f"**{QUESTIONS[question].title}** · {said}"
    st.markdown(said)

    def settle(option: str) -> None:
        CLASS_REFUSED.put(board().guess(code, question, member, option, visitor.address()))

    with st.container(key=f"class_options_{question}", horizontal=not alone, gap="small"):
        for at, option in enumerate(QUESTIONS[question].options):
            st.button(
                option,
                key=f"class_guess_{question}_{at}",
                type="primary" if option == mine else "secondary",
                width="stretch" if alone else "content",
                on_click=settle,
                args=(option,),
            )


def _wall(now: Now, question: str, picture: Callable[[], None]) -> None:
    """On a projector, while the class guesses: question and options, and the way to join."""
    with st.container(key="class_wall"):
        left, right = st.columns([3, 2], gap="large")
        with left:
            st.markdown(question)
            picture()
            for asked in now.asked:
                if len(now.asked) > 1:
                    st.markdown(f"**{QUESTIONS[asked].title}**: {' · '.join(QUESTIONS[asked].options)}?")
                else:
                    st.markdown("\n".join(f"- {option}" for option in QUESTIONS[asked].options))
        with right:
            join(following.code(), "min(60vh, 100%)")
            numbers(now)
            if following.key():
                st.caption(following.HINT)


def join(code: str, width: str) -> None:
    """The way into a class, as a QR code and as a short address with the code."""
    base = address.base(address.HERE.get())
    qr.draw(f"{base}/join?c={code}", width)
    st.markdown(f"**{literal(base.partition('://')[2])}/join** with the code **{code}**")


def numbers(now: Now, here: int | None = None) -> None:
    """How many are here and how many have guessed; the page's connection keeps the numbers up to date."""
    shown = "" if here is None else here
    guesses = f'<b class="class-guesses">{now.guesses}</b> guessed' if now.asked or now.guesses else ""
    joined = f'<b class="class-here">{shown}</b> here'
    st.html(f'<p class="class-numbers">{joined}{" · " if guesses else ""}{guesses}</p>')


def result(code: str, question: str, member: str = "") -> None:
    """What a class has guessed at a question: a bar for every option, and which of them is a member's."""
    counts = board().counts(code, question) or {}
    mine = board().guess_of(code, question, member)
    st.markdown(sentence(counts))
    total = max(1, sum(counts.values()))
    for option, count in counts.items():
        st.progress(count / total, text=f"{option}: **{count}**" + (" (your guess)" if option == mine else ""))


def line(code: str, question: str, member: str = "") -> str:
    """What a class has guessed at one of several questions, and what a member has, in a line."""
    counts = board().counts(code, question) or {}
    mine = board().guess_of(code, question, member)
    said = ", ".join(f"**{count}** {option}" for option, count in counts.items() if count) or "no guess"
    return f"**{QUESTIONS[question].title}**: {said}" + (f"; you: *{mine}*" if mine else "")


def sentence(counts: dict[str, int]) -> str:
    """How many have guessed, and what most of them guessed."""
    total, most = sum(counts.values()), max(counts.values())
    if not total:
        return "The class: no guess."
    leading = [option for option, count in counts.items() if count == most]
    ahead = f"{most} for *{leading[0]}*" if len(leading) == 1 else f"{len(leading)} options lead with {most} each"
    return f"The class: {counted(total, 'guess', 'es')}, {ahead}."
