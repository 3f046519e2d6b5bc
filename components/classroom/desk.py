"""The teacher's class and plan in this visit, and the button by which any page becomes a stop of the plan."""

import streamlit as st

from components.classroom import following
from components.player.view import as_sentence
from components.shell import address
from components.shell.copy_link import PageButton
from components.shell.session import Key
from models.content import Texts
from models.lessons.board import board
from models.lessons.plan import DEFAULT_PLAN, Plan, PlannedStop, plan_from
from models.lessons.stops import NO_STOPS, START, claim_of, read_stop, title_of
from models.spec.bounds import MAX_STOPS
from models.spec.query import escape_markdown

TEXTS = Texts("teacher")
PLAN_PARAMETER = "plan"

TEACHER_CLASS: Key[tuple[str, str]] = Key("teacher_class", ("", ""))  # code and key of the open class
TEACHER_PLAN = Key("teacher_plan_text", "")  # as it was written, faults too
PLAN_ADDRESSED = Key("teacher_plan_addressed", "")  # as it is in the Teacher page's address
TEACHER_CAME = Key("teacher_came", False)  # whether this visit has opened the Teacher page


def plan() -> Plan:
    """The plan of this visit; the default one if it has none."""
    written = plan_from(TEACHER_PLAN.get())
    return written if written.entries else Plan(tuple(map(PlannedStop, DEFAULT_PLAN)), faults=written.faults)


def current_stop() -> str:
    """What the class that this visit leads or follows is shown; empty without one."""
    state = following.shown_state() or board().state_of(TEACHER_CLASS.get()[0])
    return state.stop if state else ""


def put_plan(text: str) -> None:
    """Makes a text the plan of this visit, of its class and of the Teacher page's address."""
    TEACHER_PLAN.put(text)
    code, key = TEACHER_CLASS.get()
    board().set_plan(code, key, text)


def link_text() -> str:
    """The plan in an address; as it was written where something in it is wrong, so that it can be corrected."""
    now = plan()
    return TEACHER_PLAN.get() if now.faults else now.link


def add(text: str) -> str:
    """Adds what a link, a name or the lines of a question name to the plan. Returns as Markdown what was done.

    ValueError with the reason for a refusal.
    """
    stop, remark = read_stop(text)
    now = plan()
    if stop in now.stops:
        raise ValueError("it is in the plan already")
    if len(now.entries) == MAX_STOPS:
        raise ValueError(f"a plan has at most {MAX_STOPS} stops")
    written = TEACHER_PLAN.get() if now.faults else now.text
    put_plan(f"{written}\n\n{stop}")
    changed = f" {escape_markdown(as_sentence(remark))}" if remark else ""
    return f"In the plan: {title(stop)}.{changed}"


def title(stop: str) -> str:
    """A stop's title as Markdown; nothing that was typed is formatted."""
    return escape_markdown(title_of(stop)) if "?" in stop and not claim_of(stop) else title_of(stop)


def page_button(page: str) -> PageButton | None:
    """The button that adds the page one is on to the plan, for whoever has been on the Teacher page."""
    if not TEACHER_CAME.get() or page in NO_STOPS:
        return None
    return PageButton("Add to the plan", "Added", lambda link: _add_page(page or START, link))


def _add_page(page: str, link: str) -> None:
    """Adds a page with the settings of its link, whose path may have the name of another page."""
    try:
        st.toast(add(f"{page}?{link.partition('?')[2].partition('#')[0]}"))
    except ValueError as error:
        st.toast(TEXTS("not added", reason=escape_markdown(str(error))))


def adopt(text: str) -> None:
    """Takes the plan of the Teacher page's address, unless the page wrote it there itself: stops may have come."""
    if text != PLAN_ADDRESSED.get():
        TEACHER_PLAN.put(text)


def remember_address() -> None:
    """Keeps the plan in the Teacher page's address."""
    if TEACHER_PLAN.get():
        PLAN_ADDRESSED.put(link_text())
        address.collect_changes({PLAN_PARAMETER: PLAN_ADDRESSED.get()})
