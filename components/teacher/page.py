"""The page Teacher: a class that is led from here, and links for whoever learns alone.

Its address holds the code of the class, the key that proves whose it is, and the plan of the lesson.
"""

import csv
import hmac
import io
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import streamlit as st

from components.classroom import answers, board, following, ways_in
from components.classroom.route import here
from components.controls import form, settled
from components.shell import address, hide, projector, qr, session, visitor
from components.shell.session import Key
from models.content import Texts
from models.lessons import board as classes
from models.lessons import stops
from models.lessons.board import Now, code_from, new_code, valid_key
from models.lessons.lessons import LESSONS
from models.lessons.stops import title_of
from models.spec import RunConfig, knobs
from models.spec.bounds import MAX_STOPS
from models.spec.knob import Knob
from models.spec.limits import class_password
from models.spec.settings import Settings

TEXTS = Texts("teacher")

PLAYGROUND = stops.PLAYGROUND
CLASS, OPENED, PLAN = following.KEY, "key", "plan"  # in this page's address
SEAT = "seat"  # the cookie by which a proxy chooses a replica, as docs/server.md has it
PASSWORD, PLANNED, SHOWN = "teacher_password", "teacher_plan", "teacher_shown"
MAX_PASSWORD = 100  # characters
OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
IN_LESSONS = ("answers", "lessons", "verdict", "export")
PAGES = {  # path and title
    "start": ("", "The four nets of Start"),
    "story": ("story", "The story"),
    PLAYGROUND: (PLAYGROUND, "The playground with its current network"),
}
IN_PLAYGROUND = ("arrangement", "verdict", "theory", "instruments", "export")

TEACHER_CLASS: Key[tuple[str, str]] = Key("teacher_class", ("", ""))  # the class that is open, and its key
TEACHER_PLAN = Key("teacher_plan_text", "")  # as the address holds it
TEACHER_REFUSED = Key("teacher_refused", "")


@dataclass(frozen=True)
class Handout(Settings):
    """What a link for homework opens, and what it hides."""

    target: Annotated[str, Knob("Open", choices={}, link="open")] = ""
    hide: Annotated[tuple[str, ...], Knob("Hide", choices={}, many=True, link="hides")] = ()


def draw() -> None:
    """The class, or how to open one; below it the plan of the lesson, and links for whoever learns alone."""
    planned = _planned()
    code, key = _class(planned)
    now = classes.board().now(code) if key else None
    if now is not None:
        _lead(code, key, now)
    _plan(code, key, now, planned)
    with st.expander("A link without a class", icon=":material/link:"):
        _handout()


# --- the class ---


def _class(planned: Sequence[str]) -> tuple[str, str]:
    """Code and key of this page's class while it is open, else empty strings. Only the button opens one."""
    code, key = _mine()
    refused = TEACHER_REFUSED.pop()
    if key:
        if classes.board().look_after(code, key):
            return code, key
        _over(code, key)
    st.markdown(TEXTS("no account"))
    wanted = code_from(st.query_params.get(CLASS, "")) or code
    seat = visitor.cookie(SEAT)
    if seat and seat != wanted:
        query = urlencode({CLASS: wanted or new_code(), PLAN: ",".join(planned)}, safe=",")
        link = f"{address.base('teacher')}/teacher?{query}"
        st.link_button("Open a class", link, icon=":material/groups:", type="primary")
        st.caption(TEXTS("new tab"))
        return "", ""
    if class_password():
        tip = TEXTS("password")
        st.text_input("Password", key=PASSWORD, type="password", max_chars=MAX_PASSWORD, help=tip)
    st.button(
        "Open a class", key="teacher_open", icon=":material/groups:", type="primary", on_click=_open, args=(wanted,)
    )
    if refused:
        st.error(refused)
    return "", ""


def _over(code: str, key: str) -> None:
    if classes.board().reopens(code, key):
        st.info(f"Class {code} is closed.")
        label = "Undo: open it again, with its guesses"
        st.button(
            label, key="teacher_reopen", icon=":material/undo:", on_click=classes.board().reopen, args=(code, key)
        )
    else:
        st.info(TEXTS("ended", code=code))


def _mine() -> tuple[str, str]:
    """Code and key of this visitor's class: from the address, or from before leaving this page."""
    asked = code_from(st.query_params.get(CLASS, "")), st.query_params.get(OPENED, "")
    with address.adopting(CLASS, OPENED) as fresh:
        if fresh and asked[0] and valid_key(asked[1]):
            TEACHER_CLASS.put(asked)
    mine = TEACHER_CLASS.get()
    if all(mine):
        address.change({CLASS: mine[0], OPENED: mine[1]})
    return mine


def _open(wanted: str) -> None:
    given = str(session.widget_value(PASSWORD, ""))
    if not hmac.compare_digest(given.encode(), class_password().encode()):
        TEACHER_REFUSED.put(TEXTS("wrong password"))
        return
    code, key, refusal = classes.board().open(visitor.address(), wanted)
    TEACHER_REFUSED.put(refusal)
    if not refusal:
        classes.board().set_plan(code, key, _planned())
        TEACHER_CLASS.put((code, key))


def _lead(code: str, key: str, now: Now) -> None:
    """What is shown, and the buttons that lead the class; the way to join; the numbers; after Reveal the guesses."""
    following.listen(code, now, following.DESK)
    led = classes.board()
    left, right = st.columns([3, 1])
    with left:
        loose = " · **on their own now**" if now.loose else ""
        last = now.at + 1 >= len(now.plan)
        ahead = "" if last else f" · next: {title_of(now.plan[now.at + 1])}"
        st.markdown(f"Shown now, {now.at + 1} of {len(now.plan)}: **{title_of(now.stop)}**{loose}{ahead}")
        with st.container(horizontal=True):
            st.button(
                "Reveal",
                key="teacher_reveal",
                icon=":material/visibility:",
                type="primary" if now.asked else "secondary",
                disabled=not now.asked,
                on_click=led.reveal,
                args=(code, key),
            )
            st.button(
                "Next",
                key="teacher_next",
                icon=":material/arrow_forward:",
                type="secondary" if now.asked else "primary",
                disabled=last,
                on_click=led.move,
                args=(code, key, 1),
            )
            st.button(
                "Back",
                key="teacher_back",
                icon=":material/arrow_back:",
                disabled=not now.at,
                on_click=led.move,
                args=(code, key, -1),
            )
            wall = f"{address.base('teacher')}/join?{urlencode({'c': code, 'key': key})}"
            st.link_button("Open the projector", wall, icon=":material/present_to_all:", help=following.HINT)
            label = "Call back" if now.loose else "On your own now"
            st.button(label, key="teacher_loose", on_click=led.let_go, args=(code, key, not now.loose))
        board.numbers(now, here(code))
        if questions := stops.questions_of(now.stop):
            board.results(code, questions, answers.right if now.revealed else None)
        if now.asked:
            st.caption(TEXTS("off the wall"))
        _endings(code, key, now)
    with right:
        st.html(ways_in.beside(code, ""))
        _reach()


def _endings(code: str, key: str, now: Now) -> None:
    """What deletes asks once, and can be undone; the results can be taken home."""
    led, asks = classes.board(), f"asks_{now.version}"  # another popover, which is closed, after every change
    with st.container(horizontal=True):
        if stops.questions_of(now.stop):
            with st.popover(
                "Clear the board", icon=":material/delete:", key=f"teacher_clear_{asks}", on_change="rerun"
            ):
                st.markdown(TEXTS("delete guesses"))
                st.button("Delete them", key="teacher_clear", on_click=led.clear, args=(code, key))
        if led.undoable(code):
            st.button("Undo: bring the guesses back", key="teacher_undo", on_click=led.undo, args=(code, key))
        if results := led.results(code):
            file = f"class-{code}.csv"
            st.download_button("Results as CSV", as_csv(results), file, "text/csv", icon=":material/download:")
        with st.popover("Close the class", icon=":material/close:", key=f"teacher_close_{asks}", on_change="rerun"):
            st.markdown(TEXTS("close"))
            st.button("Close it", key="teacher_close", on_click=led.close, args=(code, key))


def as_csv(results: list[tuple[str, str, str, int]]) -> str:
    """The guesses of a class as a table with a heading."""
    out = io.StringIO()
    csv.writer(out).writerows([("shown", "question", "option", "guesses"), *results])
    return out.getvalue()


# --- the plan ---


def _plan(code: str, key: str, now: Now | None, planned: Sequence[str]) -> None:
    """What is shown in which order, which this page's address holds, and a way to anything else."""
    current = stops.playground(settled.last())
    story = [f"{stops.STORY}-{scene}" for scene in range(1, stops.STORY_SCENES + 1)]
    among = list(dict.fromkeys([stops.START, *LESSONS, *story, current, *planned, *(now.plan if now else ())]))
    session.set_widget(PLANNED, list(planned))
    st.multiselect(
        "Plan of the lesson",
        among,
        key=PLANNED,
        format_func=title_of,
        help=TEXTS("order"),
        max_selections=MAX_STOPS,
        on_change=_replan,
        args=(code, key),
    )
    st.caption(TEXTS("address"))
    if now is not None:
        session.begin(SHOWN, None)
        chosen = st.selectbox(
            "Show something else", among, index=None, key=SHOWN, format_func=title_of, placeholder="Choose what"
        )
        if chosen:
            args = (code, key, str(chosen))
            st.button("Show it to the class", key="teacher_show", on_click=classes.board().show, args=args)


def _replan(code: str, key: str) -> None:
    address.put_again()
    plan = ",".join(session.widget_value(PLANNED, []))
    address.change({PLAN: plan or None})
    TEACHER_PLAN.put(plan)
    classes.board().set_plan(code, key, _planned())


def _planned() -> tuple[str, ...]:
    """The plan in the address, or chosen last; the usual one where it names nothing."""
    with address.adopting(PLAN) as fresh:
        asked = st.query_params.get(PLAN)
        if fresh and asked is not None:
            TEACHER_PLAN.put(",".join(stops.plan_from(asked)))
    plan = TEACHER_PLAN.get()
    if plan:
        address.change({PLAN: plan})
    return stops.plan_from(plan) or stops.USUAL


# --- links for whoever learns alone ---


def _handout() -> None:
    """A link that opens a page with something hidden, as for homework."""
    target = _target()
    whole = (*IN_PLAYGROUND, *(name for name in knobs() if name != "overrides"))
    names = IN_LESSONS if target in LESSONS else whole if target == PLAYGROUND else ("verdict",)
    usual = Handout(hide=IN_LESSONS[:2] if target in LESSONS else ())
    key = f"teacher_{target in LESSONS}{'_page' * (target in ('start', 'story'))}"
    legal = {"hide": {name: _named(name) for name in names}}
    hidden = form.draw(Handout, key, usual, only=["hide"], legal=legal).hide
    base, cfg = address.base("teacher"), settled.last()
    link = f"{base}/{link_to(target, cfg, hidden)}"
    left, right = st.columns(2)
    with left:
        st.caption("To hand out:")
        st.code(link, language=None, wrap_lines=True)
        if hidden:
            st.caption("With nothing hidden, for afterwards:")
            st.code(f"{base}/{link_to(target, cfg, [])}", language=None, wrap_lines=True)
        _reach()
        if base:
            wall = f"{base}/{link_to(target, cfg, hidden, large=True)}"
            st.link_button("Open it on a projector", wall, icon=":material/open_in_new:")
    with right:
        if base:
            qr.draw(link)


def link_to(target: str, cfg: RunConfig, hidden: Sequence[str], *, large: bool = False) -> str:
    """Path and query of a link: a lesson by its key, PLAYGROUND with a configuration, or another page of PAGES."""
    query = {"lesson": target} if target in LESSONS else cfg.to_query() if target == PLAYGROUND else {}
    query |= {hide.KEY: ",".join(hidden)} if hidden else {}
    query |= {projector.KEY: projector.VALUE} if large else {}
    path = "lessons" if target in LESSONS else PAGES[target][0]
    return f"{path}?{urlencode(query, safe=',')}" if query else path


def _named(name: str) -> str:
    """A name as the link has it, and what it hides."""
    return f"{name}: {TEXTS(name) if name in hide.PARTS else knobs()[name][1].label}"


def _target() -> str:
    titles = {key: f"{at}. {lesson.title}" for at, (key, lesson) in enumerate(LESSONS.items(), start=1)}
    titles |= {target: title for target, (_, title) in PAGES.items()}
    usual = Handout(next(iter(titles)))
    return form.draw(Handout, "teacher", usual, only=["target"], legal={"target": titles}).target


# --- who can reach this server ---


def _reach() -> None:
    """Where only this computer can open the links: what makes others able to."""
    link = urlsplit(address.base("teacher"))
    if link.hostname not in OWN_HOSTS:
        return
    own, port = own_address(), link.port or 80
    with st.popover("Only this computer can open it", icon=":material/warning:", type="tertiary"):
        if str(st.get_option("server.address") or "") in OWN_HOSTS:
            st.markdown(TEXTS("start the app"))
            command = f"streamlit run app.py --server.address 0.0.0.0 --server.port {port}"
            st.code(command, language=None, wrap_lines=True)
        st.markdown(TEXTS("own address"))
        st.code(f"http://{own or 'ADDRESS'}:{port}{link.path}/teacher", language=None, wrap_lines=True)


def own_address() -> str:
    """This machine's address in its network; empty where it has none. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.connect(("192.0.2.1", 9))  # of no machine: only the way there is looked up
            host = str(asked.getsockname()[0])
    except OSError:
        return ""
    return "" if host.startswith("127.") else host
