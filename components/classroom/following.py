"""This visit's class: the page goes where the teacher leads, and hears of it over a connection of its own."""

import secrets

import streamlit as st

from components.classroom import ways_in
from components.server.tickets import TICKETS
from components.shell import address, projector, session, visitor
from components.shell.component import component
from components.shell.link import LESSONS, PLAYGROUND, START, STORY
from components.shell.session import Key
from models.content import Texts
from models.lessons import stops
from models.lessons.board import TRIED, Now, board, code_from, valid_member
from models.service.client import Requester

TEXTS = Texts("class")
KEY = "class"
TEACHER = "teacher"  # the page from which a class is led: it never follows one
SCRIPTS = {stops.START: START, stops.STORY: STORY, stops.PLAYGROUND: PLAYGROUND, stops.LESSON: LESSONS}
# Cookies that `/join` sets: a browser's place on the boards, and on a projector the key of its class.
MEMBER_COOKIE, KEY_COOKIE = "class_member", "class_key"
PART = "class"  # of a page: what its ticket to the connection is for
PUPIL, WALL, DESK = "pupil", "wall", "desk"  # who listens: a student, a projector, the Teacher page
HINT = "V reveals, N or Page Down goes on, B or Page Up goes back, Q shows the code large."

# On the page of a class: the ways to other pages lead nowhere, and nobody needs to copy its address.
HELD = """<style>
:is([data-testid=stTopNav], [data-testid=stSidebarNav], .st-key-copy_link) { display: none }
%s</style>"""
NO_DRAWER = "[data-testid=stExpandSidebarButton] { display: none }\n"  # where the navigation alone is in it

CLASS_CODE = Key("class_code", "")  # the class of this visit
CLASS_NOW: Key[Now | None] = Key("class_now", None)  # what it is shown, as this run found it
CLASS_LED: Key[tuple[str, int]] = Key("class_led", ("", 0))  # the class, and how often it had been led when followed
CLASS_MEMBER = Key("class_member", "")  # this visitor on the board, without a cookie that says so
CLASS_WALL = Key("class_wall", False)  # whether this visit is the class's projector

_component = component(__file__)


def follow(page: str) -> dict[str, str]:
    """Once per script run, before the page: takes the visit to what its class is shown.

    Returns what the address is to say on every page of the visit, so that a reload is in the class again.
    """
    asked = code_from(st.query_params.get(KEY, ""))
    if asked and page != TEACHER:
        if asked != CLASS_CODE.get() and board().admit(asked, visitor.address()) == TRIED:
            st.info(TRIED)
            return {}
        CLASS_CODE.put(asked)
        CLASS_WALL.put(CLASS_WALL.get() or projector.is_on())
    code = CLASS_CODE.get()
    if not code:
        return {}
    now = board().now(code)
    CLASS_NOW.put(now)
    own = {KEY: code} | ({projector.KEY: projector.VALUE} if CLASS_WALL.get() else {})
    listen(code, now, WALL if CLASS_WALL.get() else PUPIL, keys=bool(key()))
    if now is not None and CLASS_WALL.get():
        ways_in.over(code, page)
    if now is None:
        st.info(TEXTS("ended", code=code))
    elif now.loose and not CLASS_WALL.get():
        st.caption(TEXTS("loose", code=code))
    else:
        _lead(page, code, now, own)
        st.html(HELD % ("" if page == stops.PLAYGROUND else NO_DRAWER))
    return own


def _lead(page: str, code: str, now: Now, own: dict[str, str]) -> None:
    """Goes to the class's page, and on that page to what is shown, once for each time that the class is led."""
    wanted, query = stops.page_of(now.stop)
    before, led = CLASS_LED.get(), (code, now.led)
    CLASS_LED.put(led)
    if page != ("" if wanted == stops.START else wanted):
        st.switch_page(SCRIPTS[wanted], query_params=query | own)
    here = st.query_params.to_dict()
    if before != led and here != query | own:
        st.query_params.from_dict(query | own)
        address.ECHOES.put([here])


def held() -> Now | None:
    """What the class is shown, while this visit is held there, as a projector always is; None for whoever is in no
    class or on their own.
    """
    now = CLASS_NOW.get() if CLASS_CODE.get() else None
    return now if now is not None and (CLASS_WALL.get() or not now.loose) else None


def code() -> str:
    """The class of this visit; empty without one."""
    return CLASS_CODE.get()


def member() -> str:
    """This visitor's token on the boards."""
    token = visitor.cookie(MEMBER_COOKIE)
    if not valid_member(token):
        token = CLASS_MEMBER.get() or secrets.token_hex(8)
        CLASS_MEMBER.put(token)
    return token


def key() -> str:
    """The key of this visit's class, if the browser is its teacher's and shows it to a projector."""
    code, _, secret = visitor.cookie(KEY_COOKIE).partition(".")
    mine = CLASS_WALL.get() and code == CLASS_CODE.get()
    return secret if mine and board().look_after(code, secret) else ""


def listen(code: str, now: Now | None, who: str, *, keys: bool = False) -> None:
    """Runs the page again whenever its class is shown something else. `keys`: those that lead it work here.

    Its ticket is valid for this class alone, so that nobody hears by it which others are open.
    """
    ticket = TICKETS.issue(Requester(visitor.visitor(), PART, who, frozenset({code}), visitor.address()))
    data = {"code": code, "ticket": ticket, "version": now.version if now else 0, "keys": keys}
    name = f"classroom_{who}"
    _component(
        key=name,
        data=data,
        height=0,
        on_moved_change=lambda: None,
        on_pressed_change=lambda: _pressed(getattr(session.widget_value(name), "pressed", None)),
    )


def _pressed(what: object) -> None:
    """Leads the class by a key of the projector's."""
    code, mine = CLASS_CODE.get(), key()
    if what == "reveal":
        board().reveal(code, mine)
    elif what in ("next", "back"):
        board().move(code, mine, 1 if what == "next" else -1)
