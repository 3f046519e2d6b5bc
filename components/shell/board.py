"""The class board in a lesson: counts a visitor's guess for the class in the link, and draws the class's guesses."""

import secrets
from urllib.parse import urlencode

import streamlit as st

from addnorm.player.charts import Figure, figure_of, frame_of
from components.charts.colour import GREY
from components.charts.parts import enlarged, note
from components.shell import address, hide, projector, qr, visitor
from components.shell.session import Key
from components.shell.static_chart import static_chart
from models.insight.words import counted
from models.lessons.board import RULE, board, valid
from models.lessons.lesson import Lesson
from models.lessons.lessons import LESSONS
from models.spec.query import literal

KEY = "class"
ROW = 44  # pixels for a bar and the option above it

CLASS_CODE = Key("class_code", "")
CLASS_MEMBER = Key("class_member", "")  # this visitor on the board
CLASS_TOLD: Key[set[tuple[str, str]]] = Key("class_told", set())  # class and lesson of each guess told to the board


def code() -> str:
    """The class of this visit: the one in the address, or in the last address that had one; empty without any."""
    asked = st.query_params.get(KEY)
    if asked is not None:
        CLASS_CODE.put(asked if valid(asked) else "")
    return CLASS_CODE.get()


def refused() -> None:
    """Says so if the code in the address is not legal."""
    if not valid(st.query_params.get(KEY, "none")):
        st.info(f"From the link: {RULE}; your guess counts for yourself only.")


def again(lesson: Lesson) -> None:
    """Counts the visitor's next guess in this lesson, even though there has been one."""
    CLASS_TOLD.mutable().discard((code(), lesson.key))


def what_counts(lesson: Lesson) -> str:
    """What becomes of a guess in this lesson, said before it is made."""
    if not code() or board().counts(code(), lesson.key) is None:
        return "A wrong guess costs nothing."
    if projector.on():
        return "A guess made here is not counted on the board."
    return f"Your first guess counts for class {code()}, without your name."


def join(lesson: Lesson) -> None:
    """On a projector, while the class joins: the students' link as a QR code and as text."""
    base = address.base("lessons")
    if not base or board().counts(code(), lesson.key) is None:
        return
    first = lesson.key == next(iter(LESSONS))
    query = ({} if first else {"lesson": lesson.key}) | hide.query() | {KEY: code()}
    link = f"{base}/lessons?{urlencode(query, safe=',')}"
    left, right = st.columns([1, 2], vertical_alignment="center")
    with left:
        qr.draw(link, "min(36vh, 80vw)")
    with right:
        st.markdown("Join at")
        st.markdown(f"**{literal(link.partition('://')[2])}**")


def show(lesson: Lesson, guess: str) -> None:
    """Draws the class's guesses, after telling the board this visitor's, once and unless made on a projector."""
    if not code():
        return
    told = CLASS_TOLD.mutable()
    # Only once: a guess that the teacher has cleared must not come back when the page runs again.
    this = code(), lesson.key
    if guess and this not in told and projector.on():
        told.add(this)  # a teacher's guess only starts the nets, and is not counted later in the usual view either
    elif guess and this not in told:
        CLASS_MEMBER.put(CLASS_MEMBER.get() or secrets.token_hex(8))
        if refusal := board().guess(*this, CLASS_MEMBER.get(), guess, visitor.address()):
            st.caption(refusal)
        else:
            told.add(this)
    counts = board().counts(*this)
    if counts is not None and board().kept_back(code()):
        st.markdown(f"Class {code()}: {counted(sum(counts.values()), 'guess', 'es')}, not shown yet.")
    elif counts is not None and projector.on():
        _bars(code(), counts)
    elif counts is not None:
        draw(code(), counts, key=f"board_{lesson.key}")


def draw(name: str, counts: dict[str, int], *, key: str, scale: float = 1.0) -> None:
    """Draws the guesses of a class: a sentence and a chart."""
    st.markdown(sentence(name, counts))
    figure, height = enlarged(guesses_chart(counts), scale), round(scale * (90 + ROW * len(counts)))
    static_chart(figure, key=key, alt="Guesses of the class, chart", height=height)


def _bars(name: str, counts: dict[str, int]) -> None:
    """The guesses of a class on a projector: a bar per option, in type as large as the rest of the page."""
    st.markdown(sentence(name, counts))
    top = max([*counts.values(), 4])
    for option, count in counts.items():
        st.progress(count / top, text=f"{option}: **{count}**")


def sentence(name: str, counts: dict[str, int]) -> str:
    """How many have guessed, and what most of them guessed."""
    total, most = sum(counts.values()), max(counts.values())
    if not total:
        return f"Class {name}: no guess yet."
    leading = [option for option, count in counts.items() if count == most]
    ahead = f"{most} for *{leading[0]}*" if len(leading) == 1 else f"{len(leading)} options lead with {most} each"
    return f"Class {name}: {counted(total, 'guess', 'es')}, {ahead}."


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
    return figure_of([bars], layout, "")
