"""This visit's class: the page goes where the teacher leads, and learns of changes over its own connection."""

import secrets

import streamlit as st

from components.classroom import ways_in
from components.server.tickets import TICKETS
from components.shell import address, memory, projector, session, visitor
from components.shell.component import component
from components.shell.link import PAGES
from components.shell.session import Key
from models.content import Texts
from models.lessons import stops
from models.lessons.board import TOO_MANY_WRONG_CODES, ClassState, board, code_from, is_valid_member
from models.service.client import Requester

TEXTS = Texts("class")
KEY = "class"  # URL parameter with the code of a class
TEACHER_PAGE = "teacher"  # leads classes, so it never follows one
WITH_CONTROLS = (stops.PLAYGROUND, "compare", "anatomy")  # pages with controls in the drawer
# Cookies that `/join` sets, and entries of a browser's memory that stand in for them where cookies are denied.
MEMBER_COOKIE = "class_member"  # the browser's member token
KEY_COOKIE = "class_key"  # on a projector, with a class's code behind its name, the key of that class
MEMBER_ENTRY, KEY_ENTRY = "class.member", "class.key"  # the second has code and key
CLASS_SCREEN = "class"  # the screen of every ticket to this connection
STUDENT, PROJECTOR, TEACHER = "pupil", "wall", "desk"  # the ticket's part: who listens
HINT = "V reveals, N or Page Down goes on, B or Page Up goes back, Q shows the code large."

# A page that follows a class hides the ways to other pages and the button that copies its address.
NO_NAVIGATION = """<style>
:is([data-testid=stTopNav], [data-testid=stSidebarNav], .st-key-copy_link) { display: none }
%s</style>"""
NO_DRAWER = "[data-testid=stExpandSidebarButton] { display: none }\n"  # for pages whose drawer only navigates

CLASS_CODE = Key("class_code", "")  # the class of this visit
CLASS_STATE: Key[ClassState | None] = Key("class_now", None)  # what the class is shown, as of this script run
CLASS_FOLLOWED: Key[tuple[str, int]] = Key("class_led", ("", 0))  # the class, and its count of moves already followed
CLASS_MEMBER = Key("class_member", "")  # this visitor's member token where no cookie has one
CLASS_PROJECTOR = Key("class_wall", False)  # whether this visit is the class's projector

_component = component(__file__)


def follow(page: str) -> dict[str, str]:
    """Takes the visit to what its class is shown; runs once per script run, before the page.

    Returns the query that every page of the visit keeps in its address, so that a reload joins the class again.
    """
    linked_code = code_from(st.query_params.get(KEY, ""))
    if linked_code and page != TEACHER_PAGE:
        if linked_code != CLASS_CODE.get() and board().admit(linked_code, member()) == TOO_MANY_WRONG_CODES:
            st.info(TOO_MANY_WRONG_CODES)
            return {}
        CLASS_CODE.put(linked_code)
        CLASS_PROJECTOR.put(CLASS_PROJECTOR.get() or projector.is_on())
    code = CLASS_CODE.get()
    if not code:
        return {}
    state = board().state_of(code)
    CLASS_STATE.put(state)
    query = {KEY: code} | ({projector.KEY: projector.VALUE} if CLASS_PROJECTOR.get() else {})
    listen(code, state, PROJECTOR if CLASS_PROJECTOR.get() else STUDENT, keys=bool(teacher_key()))
    if state is not None and CLASS_PROJECTOR.get():
        ways_in.draw_join_overlay(code)
        if not teacher_key():
            st.html(f'<p class="class-keyless" role="status" hidden>{TEXTS("no key")}</p>')
    if state is None:
        st.info(TEXTS("ended", code=code))
    elif state.loose and not CLASS_PROJECTOR.get():
        st.caption(TEXTS("loose", code=code))
    else:
        _go_to_stop(page, code, state, query)
        st.html(NO_NAVIGATION % ("" if page in WITH_CONTROLS else NO_DRAWER))
    return query


def _go_to_stop(page: str, code: str, state: ClassState, class_query: dict[str, str]) -> None:
    """Opens the class's page, and on that page the stop's query, once per move of the class."""
    stop_page, stop_query = stops.page_of(state.stop)
    query = stop_query | class_query
    is_new = CLASS_FOLLOWED.get() != (code, state.led)
    CLASS_FOLLOWED.put((code, state.led))
    if page != ("" if stop_page == stops.START else stop_page):
        st.switch_page(PAGES / f"{stop_page}.py", query_params=query)
    current_query = st.query_params.to_dict()
    if is_new and current_query != query:
        st.query_params.from_dict(query)
        address.ECHOES.put([current_query])


def shown_state() -> ClassState | None:
    """What the class is shown, if this visit has to follow it, as a projector always does; else None."""
    state = CLASS_STATE.get() if CLASS_CODE.get() else None
    return state if state is not None and (CLASS_PROJECTOR.get() or not state.loose) else None


def code() -> str:
    """The class of this visit; empty without one."""
    return CLASS_CODE.get()


def member() -> str:
    """This visitor's token on the boards: the browser's own, so that its tabs and reloads are one person."""
    tokens = (memory.recall(MEMBER_ENTRY), visitor.cookie(MEMBER_COOKIE), CLASS_MEMBER.get(), secrets.token_hex(8))
    token = next(token for token in tokens if isinstance(token, str) and is_valid_member(token))
    CLASS_MEMBER.put(token)
    return token


def offers() -> dict[str, str]:
    """The entry by which a student's browser remembers who it is."""
    return {MEMBER_ENTRY: member()} if code() and not CLASS_PROJECTOR.get() else {}


def needs_memory(page: str) -> bool:
    """Whether a page looks for a class's key in the browser's memory: the Teacher page, and a projector without one."""
    return page == TEACHER_PAGE or (CLASS_PROJECTOR.get() and not teacher_key())


def keeps_member() -> bool:
    """Whether the browser has said by a cookie that it keeps who this visitor is."""
    return is_valid_member(visitor.cookie(MEMBER_COOKIE))


def kept_keys() -> list[tuple[str, str]]:
    """Codes and keys of classes that this browser has led, the last one first, not checked."""
    last_code, _, last_key = str(memory.recall(KEY_ENTRY)).partition(".")
    cookies = visitor.cookies(f"{KEY_COOKIE}_")
    return [(last_code, last_key), *cookies.items()]


def teacher_key() -> str:
    """The key of this visit's class, if this is the projector in its teacher's browser; else empty."""
    if not CLASS_PROJECTOR.get():
        return ""
    code = CLASS_CODE.get()
    keys = {visitor.cookie(key_cookie(code)), *(key for of_class, key in kept_keys() if of_class == code)}
    return next((key for key in keys if key and board().keep_alive(code, key)), "")


def key_cookie(code: str) -> str:
    """The cookie with the key of a class; each has its own, so that no link takes another's away."""
    return f"{KEY_COOKIE}_{code}"


def listen(code: str, state: ClassState | None, listener: str, *, keys: bool = False) -> None:
    """Runs the page again whenever its class is shown something else; `keys` lets the keyboard lead the class.

    The ticket is valid for this class alone, so that nobody learns from it which other classes are open.
    """
    part = f"{STUDENT} {member()}" if listener == STUDENT else listener
    ticket = TICKETS.issue(Requester(visitor.visitor_id(), CLASS_SCREEN, part, frozenset({code}), visitor.address()))
    seconds = state.seconds if state else 0.0
    data = {"code": code, "ticket": ticket, "version": state.version if state else 0, "keys": keys, "seconds": seconds}
    name = f"classroom_{listener}"
    _component(
        key=name,
        data=data,
        height=0,
        on_moved_change=lambda: None,
        on_pressed_change=lambda: _lead(getattr(session.widget_value(name), "pressed", None)),
    )


def _lead(command: object) -> None:
    """Leads the class by a key that was pressed on the projector."""
    code, key = CLASS_CODE.get(), teacher_key()
    if command == "reveal":
        board().reveal(code, key)
    elif command == "train":
        board().play(code, key)
    elif command in ("next", "back"):
        board().move(code, key, 1 if command == "next" else -1)
