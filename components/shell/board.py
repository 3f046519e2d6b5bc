"""The class board in a lesson: counts a visitor's guess for the class in the link, and draws the class's guesses."""

import secrets

import streamlit as st

from components.charts.colour import GREY
from components.charts.parts import Figure, enlarged, finished, frame_of, note
from components.shell import projector, session
from components.stage.still import still_chart
from models.lessons.board import RULE, board, valid
from models.lessons.lesson import Lesson

KEY = "class"
ROW = 44  # pixels for a bar and the option above it


def code() -> str:
    """The class of this visit: the one in the address, or in the last address that had one; empty without any."""
    asked = st.query_params.get(KEY)
    if asked is not None:
        session.CLASS_CODE.put(asked if valid(asked) else "")
    return session.CLASS_CODE.get()


def refused() -> None:
    """Says so if the code in the address is not legal."""
    if not valid(st.query_params.get(KEY, "none")):
        st.info(f"From the link: {RULE}; your guess counts for yourself only.")


def again(lesson: Lesson) -> None:
    """Counts the visitor's next guess in this lesson, even though there has been one."""
    session.CLASS_TOLD.own().discard((code(), lesson.key))


def show(lesson: Lesson, guess: str) -> None:
    """Draws the class's guesses, after telling the board this visitor's, once and unless made on a projector."""
    if not code():
        return
    told = session.CLASS_TOLD.own()
    # Only once: a guess that the teacher has cleared must not come back when the page runs again.
    this = code(), lesson.key
    if guess and this not in told and projector.on():
        told.add(this)  # a teacher's guess only starts the nets, and is not counted later in the usual view either
    elif guess and this not in told:
        session.CLASS_MEMBER.put(session.CLASS_MEMBER.get() or secrets.token_hex(8))
        if refusal := board().guess(*this, session.CLASS_MEMBER.get(), guess):
            st.caption(refusal)
        else:
            told.add(this)
    counts = board().counts(*this)
    if counts is not None:
        draw(code(), counts, key=f"board_{lesson.key}", scale=projector.FACTOR if projector.on() else 1.0)


def draw(name: str, counts: dict[str, int], *, key: str, scale: float = 1.0) -> None:
    """Draws the guesses of a class: a sentence and a chart."""
    st.markdown(sentence(name, counts))
    figure, height = enlarged(guesses_chart(counts), scale), round(scale * (90 + ROW * len(counts)))
    still_chart(figure, key=key, alt="Guesses of the class, chart", height=height)


def sentence(name: str, counts: dict[str, int]) -> str:
    """How many have guessed, and what most of them guessed."""
    total, most = sum(counts.values()), max(counts.values())
    if not total:
        return f"Class {name}: no guess yet."
    leading = [option for option, count in counts.items() if count == most]
    ahead = f"{most} for *{leading[0]}*" if len(leading) == 1 else f"{len(leading)} options lead with {most} each"
    return f"Class {name}: {total} {'guess' if total == 1 else 'guesses'}, {ahead}."


def guesses_chart(counts: dict[str, int]) -> Figure:
    """A bar per option, in the order of the lesson, with the option and its count above it."""
    layout = frame_of("Guesses of the class", x="guesses", y="", legend=False)
    places = list(range(len(counts), 0, -1))
    top = max([*counts.values(), 4])
    layout["margin"] |= {"l": 10}
    layout["xaxis"] |= {"range": [0, 1.05 * top], "tickformat": "d", "nticks": 6, "showgrid": False}
    layout["yaxis"] |= {"range": [0.5, len(counts) + 0.8], "showticklabels": False, "showgrid": False}
    layout["annotations"] = [
        note(f"{option}: <b>{count}</b>", x=0, y=place + 0.18, size=12) | {"xanchor": "left", "yanchor": "bottom"}
        for place, (option, count) in zip(places, counts.items(), strict=True)
    ]
    bars = {
        "type": "bar",
        "orientation": "h",
        "name": "guesses",
        "y": places,
        "x": list(counts.values()),
        "text": list(counts),
        "customdata": list(counts.values()),
        "textposition": "none",
        "width": 0.34,
        "marker": {"color": GREY},
        "hovertemplate": "%{text}: %{x}<extra></extra>",
    }
    return finished([bars], layout, "")
