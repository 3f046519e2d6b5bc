"""The page Teacher: leads a class, and makes links for students who learn alone.

Its address has the class's code, the key that proves its ownership, and the plan of the lesson.
"""

import csv
import hmac
import io
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlencode, urlsplit

import streamlit as st

from components.classroom import answers, board, desk, following, ways_in
from components.classroom.desk import PLAN_PARAMETER, TEACHER_CLASS, TEACHER_PLAN, TEXTS
from components.classroom.text_file import open_text_file
from components.controls import drive, shown_config
from components.player.view import as_sentence
from components.shell import address, memory, session, visitor
from components.shell.naming import settings_text
from components.shell.session import Key
from components.teacher import handout, seat, worksheet
from models.claims.claims import CLAIMS
from models.lessons import board as classes
from models.lessons import stops
from models.lessons.board import ClassState, code_from, is_valid_key
from models.lessons.lessons import LESSONS, Lesson
from models.lessons.plan import Plan, PlannedStop, prepared_plans
from models.lessons.questions import ASK, NUMBER, OPTION, RIGHT
from models.lessons.stops import poll_of, read_stop, stop_from, title_of
from models.service.client import trainer
from models.spec.bounds import MAX_OPTION_CHARS, MAX_OPTIONS, MAX_PLAN_CHARS, MAX_QUESTION_CHARS
from models.spec.limits import class_password
from models.spec.query import escape_markdown

# Parameters of this page's address.
CLASS_PARAMETER = following.KEY
KEY_PARAMETER = "key"
# Keys of widgets.
PASSWORD_WIDGET = "teacher_password"
IN_BROWSERS_WIDGET = "teacher_in_browsers"
PLAN_WIDGET = "teacher_plan"
STOP_WIDGET = "teacher_shown"
PREPARED_WIDGET = "teacher_prepared"
QUESTION_WIDGET, OPTIONS_WIDGET = "teacher_question", "teacher_options"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would compute
MAX_PASSWORD_CHARS = 100
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


TEACHER_REFUSED = Key("teacher_refused", "")  # why no class was opened
STOP_REFUSED = Key("teacher_stop_refused", "")  # why nothing was shown, added or asked


def draw() -> None:
    """Draws the class or a button that opens one, the plan of the lesson, and links for students alone."""
    desk.TEACHER_CAME.put(True)
    plan = _current_plan()
    code, key = _draw_opening()
    state = classes.board().state_of(code) if key else None
    if state is not None and not TEACHER_PLAN.get():  # the address has lost the plan, the class has it
        TEACHER_PLAN.put(classes.board().plan_text(code, key))
        plan = _current_plan()
    if state is not None:
        _draw_class(code, key, state, plan)
    _draw_plan(plan)
    _draw_stops(code, key, state, plan)
    with st.expander("A link without a class, and homework", icon=":material/link:"):
        handout.draw(_draw_reachability)
    with st.expander("Check what was handed in", icon=":material/assignment_turned_in:"):
        handout.draw_check()


# --- the class ---


def _draw_opening() -> tuple[str, str]:
    """Returns code and key of this page's class; without an open one draws a button that opens it, and returns ""."""
    code, key = _current_class()
    refusal = TEACHER_REFUSED.pop()
    if key:
        if classes.board().keep_alive(code, key):
            return code, key
        _draw_closed(code, key)
    st.markdown(TEXTS("no account"))
    new_class = code_from(st.query_params.get(CLASS_PARAMETER, "")) or code  # empty for any code
    if seat.is_changed(CLASS_PARAMETER):
        return "", ""
    if class_password():
        tip = TEXTS("password")
        st.text_input("Password", key=PASSWORD_WIDGET, type="password", max_chars=MAX_PASSWORD_CHARS, help=tip)
    st.checkbox(TEXTS("in browsers"), key=IN_BROWSERS_WIDGET, help=TEXTS("in browsers help"))
    st.button(
        "Open a class", key="teacher_open", icon=":material/groups:", type="primary", on_click=_open, args=(new_class,)
    )
    if refusal:
        st.error(refusal)
    return "", ""


def _draw_closed(code: str, key: str) -> None:
    """Draws that a class is closed, with a button that reopens it as long as that is possible."""
    if classes.board().can_reopen(code, key):
        st.info(f"Class {code} is closed.")
        label = "Undo: open it again, with its guesses"
        st.button(
            label, key="teacher_reopen", icon=":material/undo:", on_click=classes.board().reopen, args=(code, key)
        )
    else:
        st.info(TEXTS("ended", code=code))


def _current_class() -> tuple[str, str]:
    """Code and key of this visit's class: the address's, else this page's last, else the last of this browser."""
    code, key = code_from(st.query_params.get(CLASS_PARAMETER, "")), st.query_params.get(KEY_PARAMETER, "")
    with address.adopting(CLASS_PARAMETER, KEY_PARAMETER) as fresh:
        if fresh and code and is_valid_key(key):
            TEACHER_CLASS.put((code, key))
    open_classes = [
        pair for pair in following.kept_keys() if code in ("", pair[0]) and classes.board().keep_alive(*pair)
    ]
    if open_classes and not TEACHER_CLASS.is_set:
        TEACHER_CLASS.put(open_classes[0])
    code, key = TEACHER_CLASS.get()
    if code and key:
        memory.remember(following.KEY_ENTRY, f"{code}.{key}")
        address.collect_changes({CLASS_PARAMETER: code, KEY_PARAMETER: key})
    return code, key


def _open(new_class: str) -> None:
    """Opens a class with this code, or any code if it is empty; a wrong password or a full board stores a refusal."""
    password = str(session.widget_value(PASSWORD_WIDGET, ""))
    if not hmac.compare_digest(password.encode(), class_password().encode()):
        TEACHER_REFUSED.put(TEXTS("wrong password"))
        return
    in_browsers = session.widget_value(IN_BROWSERS_WIDGET) is True
    code, key, refusal = classes.board().open(
        visitor.address(), new_class, visitor.visitor_id(), in_browsers=in_browsers
    )
    TEACHER_REFUSED.put(refusal)
    if not refusal:
        TEACHER_CLASS.put((code, key))
        classes.board().set_plan(code, key, TEACHER_PLAN.get())


def _leave() -> None:
    """Leaves the class as it is, and offers to open another one."""
    TEACHER_CLASS.put(("", ""))
    address.collect_changes({CLASS_PARAMETER: None, KEY_PARAMETER: None})


def _draw_class(code: str, key: str, state: ClassState, plan: Plan) -> None:
    """Draws what the class is shown, the buttons that lead it, its attendance and results, and the way to join."""
    following.listen(code, state, following.TEACHER)
    left, right = st.columns([3, 1])
    with left:
        remark = " · **students are exploring**" if state.loose else ""
        if state.at + 1 < len(state.plan):
            remark += f" · next: {desk.title(state.plan[state.at + 1])}"
        st.markdown(f"Shown now, {state.at + 1} of {len(state.plan)}: **{desk.title(state.stop)}**{remark}")
        with st.container(horizontal=True):
            _draw_lead_buttons(code, key, state)
        drive.draw(code, key, state)
        entry = _planned(state, plan)
        st.html(f'<p class="class-clock" data-minutes="{entry.minutes}"></p>')
        if entry.note:
            st.info(escape_markdown(entry.note), icon=":material/sticky_note_2:")
        board.draw_attendance(state)
        if questions := stops.questions_of(state.stop):
            board.draw_results(code, questions, _right_option, is_open=not state.revealed)
        if state.stop in LESSONS:
            _draw_teaching(LESSONS[state.stop])
        if state.open_questions:
            st.caption(TEXTS("off the wall"))
        _draw_endings(code, key, state)
    with right:
        st.html(ways_in.join_html(code, ""))
        _draw_reachability()


def _draw_teaching(lesson: Lesson) -> None:
    """Draws what a lesson is for, and a key to its challenge."""
    teaching = lesson.teaching
    if teaching.key:
        key = settings_text(replace(lesson.challenge.base, **teaching.key), teaching.key)
        st.caption(TEXTS("teaching", objective=teaching.objective, minutes=teaching.minutes, key=key))


def _planned(state: ClassState, plan: Plan) -> PlannedStop:
    """What the plan says of the stop that is shown, even if its nets were changed there."""
    planned, page = state.plan[state.at], stops.page_of(state.stop)[0]
    is_driven = page in following.WITH_CONTROLS and page == stops.page_of(planned)[0]
    return plan.entry(planned if is_driven and state.stop not in plan.stops else state.stop)


def _draw_lead_buttons(code: str, key: str, state: ClassState) -> None:
    """Draws the buttons that reveal answers, change the stop, open the projector, and let students work alone."""
    class_board = classes.board()
    st.button(
        "Reveal",
        key="teacher_reveal",
        icon=":material/visibility:",
        type="primary" if state.open_questions else "secondary",
        disabled=not state.open_questions,
        on_click=class_board.reveal,
        args=(code, key),
    )
    st.button(
        "Next",
        key="teacher_next",
        icon=":material/arrow_forward:",
        type="secondary" if state.open_questions else "primary",
        disabled=state.at + 1 >= len(state.plan),
        on_click=class_board.move,
        args=(code, key, 1),
    )
    st.button(
        "Back",
        key="teacher_back",
        icon=":material/arrow_back:",
        disabled=not state.at,
        on_click=class_board.move,
        args=(code, key, -1),
    )
    url = f"{address.app_url()}/join?{urlencode({'c': code, 'key': key})}"
    st.link_button("Open the projector", url, icon=":material/present_to_all:", help=following.HINT)
    label = "Call back" if state.loose else "Let students explore"
    st.button(label, key="teacher_loose", on_click=class_board.set_loose, args=(code, key, not state.loose))


def _draw_endings(code: str, key: str, state: ClassState) -> None:
    """Draws buttons that clear the board or close the class, with confirmation and undo, and a download of results."""
    class_board = classes.board()
    suffix = f"asks_{state.version}"  # a change of the class gives new popovers, which are closed
    with st.container(horizontal=True):
        if stops.questions_of(state.stop):
            with st.popover(
                "Clear the board", icon=":material/delete:", key=f"teacher_clear_{suffix}", on_change="rerun"
            ):
                st.markdown(TEXTS("delete guesses"))
                st.button("Delete them", key="teacher_clear", on_click=class_board.clear, args=(code, key))
        if class_board.can_undo(code):
            st.button("Undo: bring the guesses back", key="teacher_undo", on_click=class_board.undo, args=(code, key))
        if class_board.results(code):
            file = f"class-{code}.csv"
            make = partial(results_csv, code)  # when it is pressed
            st.download_button("Results as CSV", make, file, "text/csv", icon=":material/download:")
        st.button("Open another class", key="teacher_another", icon=":material/add:", on_click=_leave)
        with st.popover("Close the class", icon=":material/close:", key=f"teacher_close_{suffix}", on_change="rerun"):
            st.markdown(TEXTS("close"))
            st.button("Close it", key="teacher_close", on_click=class_board.close, args=(code, key))


def _right_option(question: str) -> str:
    """The right option of a question; of a lesson that training decides, its nets train so that there is one."""
    lesson = LESSONS.get(question)
    if lesson is not None and not lesson.early_text:
        for cfg in lesson.nets.values():
            trainer().request_rows(cfg, cfg.steps, owner=visitor.owner("class_answer", *lesson.nets.values()))
    return answers.right_option(question)


def results_csv(code: str) -> str:
    """The results of a class as a table with a line for each bar; no cell begins like a formula."""
    lines: list[tuple[object, ...]] = [
        ("shown", "question", "right answer", "option", "guesses", "present", "answered", "shown at", "revealed at")
    ]
    for stop, question, result in classes.board().results(code):
        times = [
            datetime.fromtimestamp(time, UTC).isoformat(" ", "seconds") for time in (result.shown, result.revealed)
        ]
        right = answers.right_option(question)
        for option, guesses in (classes.board().counts(code, question) or {}).items():
            texts = [_cell(text) for text in (title_of(stop), poll_of(question).title, right, option)]
            lines.append((*texts, guesses, result.present, result.answered.get(question, 0), *times))
    file = io.StringIO()
    csv.writer(file).writerows(lines)
    return file.getvalue()


def _cell(text: str) -> str:
    """A text for a spreadsheet, which would compute what begins like a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


# --- the plan ---


def _draw_plan(plan: Plan) -> None:
    """Draws the plan of the lesson as text, what is wrong in it, and the ways in which it comes and goes."""
    written = TEACHER_PLAN.get() if plan.faults else plan.text
    if session.widget_value(PLAN_WIDGET) != written:  # else it would take away what is being typed
        address.put({PLAN_WIDGET: written})
    st.text_area(
        "Plan of the lesson",
        key=PLAN_WIDGET,
        height=220,
        help=TEXTS("how to write a plan"),
        max_chars=MAX_PLAN_CHARS,
        persist_state="session",
        on_change=_take_plan,
        args=(PLAN_WIDGET,),
    )
    for fault in plan.faults:
        st.error(escape_markdown(fault))
    minutes = f", {plan.minutes} minutes" if plan.minutes else ""
    st.caption(f"{len(plan.entries)} stops{minutes}. {TEXTS('address')}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        prepared = prepared_plans()
        session.set_initial(PREPARED_WIDGET, None)
        st.selectbox(
            "Take a plan that comes with the app",
            list(prepared),
            index=None,
            key=PREPARED_WIDGET,
            placeholder="Choose one",
            width=360,
            on_change=_take_plan,
            args=(PREPARED_WIDGET, prepared),
        )
        open_text_file("or open a file:", "teacher_file", MAX_PLAN_CHARS, _put_plan)
        st.download_button(
            "Plan as a file", lambda: f"{plan.text}\n", "plan.txt", "text/plain", icon=":material/download:"
        )
        st.download_button(
            TEXTS("worksheet"),
            lambda: worksheet.worksheet(plan.title, plan.stops),
            "worksheet.html",
            "text/html",
            help=TEXTS("worksheet help"),
            icon=":material/print:",
        )


def _take_plan(widget: str, plans: Mapping[str, str] | None = None) -> None:
    """Puts the plan that was typed into a widget, or chosen there from `plans` by its name."""
    address.reapply_widgets()
    text = str(session.widget_value(widget, ""))
    _put_plan(text if plans is None else plans.get(text, ""))


def _put_plan(text: str) -> None:
    if text.strip():
        desk.put_plan(text)
        address.put({PREPARED_WIDGET: None})


def _current_plan() -> Plan:
    """The plan in the address, else of the last choice; the default plan if that has none."""
    with address.adopting(PLAN_PARAMETER) as fresh:
        text = st.query_params.get(PLAN_PARAMETER)
        if fresh and text is not None:
            desk.adopt(text[:MAX_PLAN_CHARS])
    desk.remember_address()
    return desk.plan()


def _draw_stops(code: str, key: str, state: ClassState | None, plan: Plan) -> None:
    """Draws a choice of any stop, for the plan or to be shown at once, and a field for a question of one's own."""
    current = stops.playground_stop(shown_config.last_good())
    story = [f"{stops.STORY}-{scene}" for scene in range(1, stops.STORY_SCENES + 1)]
    claims = [f"{stops.CLAIM}?claim={claim}" for claim in CLAIMS]
    class_plan = state.plan if state else ()
    all_stops = list(dict.fromkeys([stops.START, *LESSONS, *claims, *story, current, *plan.stops, *class_plan]))
    session.set_initial(STOP_WIDGET, None)

    def show(stop: str) -> None:
        classes.board().show(code, key, read_stop(stop)[0])

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Show something else",
            all_stops,
            index=None,
            key=STOP_WIDGET,
            format_func=lambda stop: title_of(stop) if stop_from(stop) == stop else stop,
            placeholder="Choose it, or paste the link of any page",
            help=TEXTS("any page"),
            accept_new_options=True,
        )
        chosen = session.widget_value(STOP_WIDGET)
        if chosen:
            st.button("Add to the plan", key="teacher_add", on_click=_use_stop, args=(str(chosen), desk.add))
        if chosen and state is not None:
            st.button("Show it to the class", key="teacher_show", on_click=_use_stop, args=(str(chosen), show))
    with st.expander("A question of your own", icon=":material/help:", key="teacher_own", on_change="rerun"):
        st.text_input("Question", key=QUESTION_WIDGET, max_chars=MAX_QUESTION_CHARS)
        st.text_area(
            "Options",
            key=OPTIONS_WIDGET,
            max_chars=MAX_OPTIONS * (MAX_OPTION_CHARS + 3),
            height=150,
            help=TEXTS("options"),
            placeholder="One per line, with * before the right one. Leave it empty to ask for a number.",
        )
        with st.container(horizontal=True):
            if state is not None:
                st.button("Ask it now", key="teacher_ask", type="primary", on_click=_use_question, args=(show,))
            st.button("Add it to the plan", key="teacher_add_question", on_click=_use_question, args=(desk.add,))
    if refusal := STOP_REFUSED.pop():
        st.error(escape_markdown(refusal))


def _use_stop(stop: str, use: Callable[[str], object]) -> None:
    """Shows or adds a stop, or stores why it names nothing."""
    try:
        use(stop)
    except ValueError as error:
        STOP_REFUSED.put(as_sentence(str(error)))


def _use_question(use: Callable[[str], object]) -> None:
    """Asks the question in the fields or adds it to the plan, and empties them."""
    lines = [line.strip() for line in str(session.widget_value(OPTIONS_WIDGET, "")).splitlines() if line.strip()]
    marked = [line if line.startswith((OPTION, RIGHT, NUMBER)) else f"{OPTION} {line}" for line in lines] or [NUMBER]
    text = "\n".join([f"{ASK} {session.widget_value(QUESTION_WIDGET, '')}", *marked])
    _use_stop(text, use)
    if not STOP_REFUSED.get():
        session.set_widget(QUESTION_WIDGET, "")
        session.set_widget(OPTIONS_WIDGET, "")


# --- access from other computers ---


def _draw_reachability() -> None:
    """Draws how other computers can open the links, if only this one can now."""
    link = urlsplit(address.app_url())
    if link.hostname not in LOCAL_HOSTS:
        return
    port = link.port or 80
    with st.popover("Only this computer can open it", icon=":material/warning:", type="tertiary"):
        if str(st.get_option("server.address") or "") in LOCAL_HOSTS:
            st.markdown(TEXTS("start the app"))
            command = f"streamlit run app.py --server.address 0.0.0.0 --server.port {port}"
            st.code(command, language=None, wrap_lines=True)
        st.markdown(TEXTS("own address"))
        st.code(f"http://{_own_address() or 'ADDRESS'}:{port}{link.path}/teacher", language=None, wrap_lines=True)


def _own_address() -> str:
    """This machine's address in its network; empty without one. It sends nothing."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # a reserved address: only the route is looked up
            host = str(probe.getsockname()[0])
    except OSError:
        return ""
    return "" if host.startswith("127.") else host
