"""Links for students without a class: homework whose answers a code shows, and the check of what was handed in."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import streamlit as st

from components.classroom.desk import TEXTS
from components.classroom.text_file import open_text_file
from components.controls import form, shown_config
from components.player.view import as_sentence
from components.shell import address, hidden_parts, projector, qr, session
from components.shell.session import Key
from models.lessons import stops
from models.lessons.homework import MAX_HANDED_IN_CHARS, checked, new_homework
from models.lessons.lessons import LESSONS
from models.lessons.stops import page_of, read_stop, title_of
from models.spec import knobs
from models.spec.bounds import MAX_STOP_CHARS
from models.spec.knob import Knob
from models.spec.query import escape_markdown
from models.spec.settings import Settings

# Parts that a link can hide: in a lesson; in the playground, in addition to its fields; on other pages.
LESSON_PARTS = ("answers", "lessons", "verdict", "export")
PLAYGROUND_PARTS = ("arrangement", "verdict", "theory", "instruments", "export")
PAGE_PARTS = ("answers", "verdict")
CHECK_WIDGET = "teacher_check"

HANDOUT_NONCE = Key("handout_nonce", "")  # makes the codes of this visit its own


@dataclass(frozen=True)
class Handout(Settings):
    """The page that a link for homework opens, and the parts that it hides."""

    target: Annotated[str, Knob("Open", choices={}, link="open", exact=True)] = ""
    page: Annotated[str, Knob("or the link of any page", high=MAX_STOP_CHARS, link="of")] = ""
    hide: Annotated[tuple[str, ...], Knob("Hide", choices={}, multiple=True, link="hides")] = ()


def draw(draw_reachability: Callable[[], None]) -> None:
    """Draws a link for homework to a page with some of its parts hidden, its code, and the link without that."""
    playground = stops.playground_stop(shown_config.last_good())
    titles = {stop: title_of(stop) for stop in (*LESSONS, stops.START, f"{stops.STORY}-1", stops.PLAYGROUND)}
    titles[stops.PLAYGROUND] = TEXTS("current network")
    chosen = form.draw(
        Handout, "teacher", Handout(next(iter(titles))), only=["target", "page"], legal={"target": titles}
    )
    try:
        stop = read_stop(chosen.page)[0] if chosen.page.strip() else chosen.target
    except ValueError as error:
        st.error(escape_markdown(as_sentence(str(error))))
        return
    stop = playground if stop == stops.PLAYGROUND and not chosen.page.strip() else stop
    page, query = page_of(stop)
    names: tuple[str, ...] = PAGE_PARTS
    defaults = Handout(hide=PAGE_PARTS[:1])
    if page == stops.LESSON:
        names, defaults = LESSON_PARTS, Handout(hide=LESSON_PARTS[:2])
    elif page == stops.PLAYGROUND:
        names, defaults = (*PLAYGROUND_PARTS, *(name for name in knobs() if name != "overrides")), Handout()
    legal = {"hide": {name: _part_label(name) for name in names}}
    hidden = form.draw(Handout, f"teacher_{page}", defaults, only=["hide"], legal=legal).hide
    if not HANDOUT_NONCE.get():
        HANDOUT_NONCE.put(secrets.token_urlsafe(6))
    homework = new_homework(stop, hidden, HANDOUT_NONCE.get())
    base = address.app_url()
    link = f"{base}/homework?{urlencode({'t': homework.token})}"
    path = "" if page == stops.START else page
    plain = f"{base}/{path}?{urlencode(query)}" if query else f"{base}/{path}"
    left, right = st.columns(2)
    with left:
        st.caption(TEXTS("homework link"))
        st.code(link, language=None, wrap_lines=True)
        st.markdown(TEXTS("homework code", code=homework.code))
        st.caption(TEXTS("nothing hidden"))
        st.code(plain, language=None, wrap_lines=True)
        draw_reachability()
        if base:
            large = {hidden_parts.KEY: ",".join(hidden), projector.KEY: projector.VALUE}
            url = f"{base}/{path}?{urlencode(query | large, safe=',')}"
            st.link_button("Open it on a projector", url, icon=":material/open_in_new:")
    with right:
        if base:
            qr.draw_qr(link)


def _part_label(name: str) -> str:
    """The name of a part or field in the link, and what it hides."""
    return f"{name}: {TEXTS(name) if name in hidden_parts.PARTS else knobs()[name][1].label}"


def draw_check() -> None:
    """Draws fields for texts that were handed in, and what they say, with whether this server has signed them so."""
    st.markdown(TEXTS("check"))
    open_text_file("Open files:", "teacher_check_files", MAX_HANDED_IN_CHARS, _put_text, several=True)
    st.text_area("Or paste them", key=CHECK_WIDGET, max_chars=MAX_HANDED_IN_CHARS, height=150)
    text = str(session.widget_value(CHECK_WIDGET, ""))
    if texts := checked(text):
        rows = [
            {
                "signature": "genuine" if handed.is_genuine else "not of this server, or changed",
                "name": handed.name,
                "homework": handed.homework,
                "opened": handed.opened,
                "handed in": handed.handed_in,
                "tries": handed.tries,
            }
            for handed in texts
        ]
        st.dataframe(rows, hide_index=True)


def _put_text(text: str) -> None:
    session.set_widget(CHECK_WIDGET, text)
