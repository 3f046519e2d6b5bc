"""The page Teacher: a link to hand out, and the board of a class, whose key this page's address holds."""

import hmac
from urllib.parse import urlencode, urlsplit

import streamlit as st

from components.controls import settled
from components.shell import address, hide, projector, qr, session, visitor
from components.shell import board as drawn_board
from components.shell.session import Key
from models.lessons.board import GONE, MOST_CODE, RULE, board, valid, valid_key
from models.lessons.lessons import LESSONS
from models.spec import RunConfig, knobs
from models.spec.limits import class_password

PLAYGROUND = "playground"
CLASS, OPENED = (
    drawn_board.KEY,
    "key",
)  # in this page's address: the class that is open, and the key that proves whose it is
CODE, PASSWORD = "teacher_code", "teacher_password"
MOST_PASSWORD = 100  # characters
POLL_SECONDS = 2.0
OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
TIP = (
    "Whoever opens the link does not see what is hidden; it keeps its value. This is no lock: the address can be "
    "edited."
)
IN_LESSONS = ("answers", "lessons", "verdict", "export")
SHOWN = {  # path and title
    "start": ("", "The four nets of Start"),
    "story": ("story", "The story"),
    PLAYGROUND: (PLAYGROUND, "The playground with its current network"),
}
IN_PLAYGROUND = ("arrangement", "verdict", "theory", "instruments", "export")

TEACHER_CLASS: Key[tuple[str, str]] = Key("teacher_class", ("", ""))  # the class that is open, and its key
TEACHER_REFUSED = Key("teacher_refused", "")


def draw() -> None:
    """What to open and hide, how and for which class; the link; the board."""
    left, right = st.columns(2)
    with left:
        target = _target()
        choice = address.url_param("teacher_projector", False, name="projector")
        large = st.toggle("Projector view", help=f"Large type, few elements. {projector.HINT}", **choice)
    with right:
        code, opened = _class()
    whole = (*IN_PLAYGROUND, *(name for name in knobs() if name != "overrides"))
    names = IN_LESSONS if target in LESSONS else whole if target == PLAYGROUND else ("verdict",)
    usual = list(IN_LESSONS[:2]) if target in LESSONS else []
    choice = address.url_param(
        f"teacher_hide_{target in LESSONS}{'_page' * (target in ('start', 'story'))}",
        usual,
        name="hides",
        among=names,
        many=True,
    )
    hidden = st.multiselect("Hide", names, format_func=_named, help=TIP, **choice)
    _address(target, hidden, large=large, code=code if opened else "")
    if opened and target in LESSONS:
        _board(target, code, opened)


def link_to(target: str, cfg: RunConfig, hidden: list[str], *, large: bool, code: str) -> str:
    """Path and query of a link: a lesson by its key, PLAYGROUND with a configuration, or another page of SHOWN."""
    query = {"lesson": target} if target in LESSONS else cfg.to_query() if target == PLAYGROUND else {}
    query |= {hide.KEY: ",".join(hidden)} if hidden else {}
    query |= {projector.KEY: projector.VALUE} if large else {}
    query |= {CLASS: code} if code and target in LESSONS else {}
    path = "lessons" if target in LESSONS else SHOWN[target][0]
    return f"{path}?{urlencode(query, safe=',')}" if query else path


def _named(name: str) -> str:
    """A name as the link has it, and what it hides."""
    return f"{name}: {hide.PARTS[name] if name in hide.PARTS else knobs()[name][1].label}"


def _target() -> str:
    titles = {key: f"{at}. {lesson.title}" for at, (key, lesson) in enumerate(LESSONS.items(), start=1)}
    titles |= {target: title for target, (_, title) in SHOWN.items()}
    choice = address.url_param("teacher_target", next(iter(titles)), name="open", among=titles)
    return str(st.selectbox("Open", list(titles), format_func=titles.__getitem__, **choice))


def _class() -> tuple[str, str]:
    """Code and key of this page's class while it is open, else empty strings. Only the button opens one."""
    code, key = _mine()
    refused = TEACHER_REFUSED.pop()
    if key:
        problem = board().look_after(code, key)
        if not problem:
            st.markdown(f"Class **{code}** is open.")
            tip = "Deletes the class and all its guesses."
            st.button(
                "Close the class",
                key="teacher_close",
                icon=":material/close:",
                on_click=_close,
                args=(code, key),
                help=tip,
            )
            st.caption("This page's address holds the key of the class: only those who have it can clear the board.")
            return code, key
        if problem == GONE:
            st.info(
                f"Class {code} is not open. A class is deleted when the server restarts, or some time after its page "
                "was closed. Opened again it has a new key, which this page's address will hold."
            )
        else:
            refused = problem
    session.begin(CODE, st.query_params.get(CLASS, "")[:MOST_CODE])
    tip = f"{RULE}. Students' guesses are pooled under it, without names: anyone who reloads the page can guess again."
    st.text_input("Class code", key=CODE, max_chars=MOST_CODE, placeholder="physics-1", help=tip)
    if class_password():
        tip = "Whoever runs this server has it. It goes into no address."
        st.text_input("Password", key=PASSWORD, type="password", max_chars=MOST_PASSWORD, help=tip)
    st.button("Open the class", key="teacher_open", icon=":material/groups:", on_click=_open)
    if refused:
        st.error(refused)
    return "", ""


def _mine() -> tuple[str, str]:
    """Code and key of this visitor's class: from the address, or from before leaving this page."""
    asked = st.query_params.get(CLASS, ""), st.query_params.get(OPENED, "")
    with address.adopting(CLASS, OPENED) as fresh:
        if fresh and valid(asked[0]) and valid_key(asked[1]):
            TEACHER_CLASS.put(asked)
    mine = TEACHER_CLASS.get()
    if all(mine):
        address.stage({CLASS: mine[0], OPENED: mine[1]})
    return mine


def _open() -> None:
    code, given = str(session.widget_value(CODE)).strip(), str(session.widget_value(PASSWORD, ""))
    if not hmac.compare_digest(given.encode(), class_password().encode()):
        TEACHER_REFUSED.put("That is not this server's password for opening a class.")
        return
    key, refusal = board().open(code, visitor.address())
    TEACHER_REFUSED.put(refusal)
    if not refusal:
        TEACHER_CLASS.put((code, key))


def _close(code: str, key: str) -> None:
    board().close(code, key)
    TEACHER_CLASS.put(("", ""))
    address.stage({CLASS: None, OPENED: None})


def _address(target: str, hidden: list[str], *, large: bool, code: str) -> None:
    """The links: one to hand out, one for the projector if asked for, and the one to hand out with nothing hidden."""
    cfg = settled.last()
    base = address.base("teacher")
    st.subheader("Link", anchor=False)
    whole, wall = (f"{base}/{link_to(target, cfg, hidden, large=view, code=code)}" for view in (False, large))
    left, right = st.columns(2)  # side by side, to leave the board on screen
    with left:
        st.caption("To hand out:")
        st.code(whole, language=None, wrap_lines=True)
        if urlsplit(base).hostname in OWN_HOSTS:
            st.caption("Only this computer can open it: start the app under an address that your students can reach.")
        if base:
            qr.draw(whole)
    with right:
        if large:
            st.caption("For your projector, where guesses are not counted:")
            st.code(wall, language=None, wrap_lines=True)
        if hidden:
            st.caption("The link to hand out with nothing hidden, for afterwards:")
            st.code(f"{base}/{link_to(target, cfg, [], large=False, code=code)}", language=None, wrap_lines=True)
    if base:
        st.link_button("Open it in a new tab", wall, icon=":material/open_in_new:")


def _board(target: str, code: str, key: str) -> None:
    st.subheader("Board", anchor=False)
    tip = "Until then only this page shows the guesses; all others show only how many there are."
    choice = address.url_param("teacher_hold", False, name="hold")
    board().keep_back(code, key, st.toggle("Hide until I reveal", help=tip, **choice))

    @st.fragment(run_every=POLL_SECONDS)
    def moving() -> None:
        # Keeps the class alive; it may have been closed in another tab.
        if board().look_after(code, key):
            st.rerun()
        counts = board().counts(code, target)
        if counts is not None:
            drawn_board.draw(code, counts, key=f"teacher_board_{target}", scale=1.2)

    moving()
    label, tip = "Clear the board", "Deletes the guesses for this lesson."
    st.button(
        label, key="teacher_clear", icon=":material/delete:", help=tip, on_click=board().clear, args=(code, key, target)
    )
