"""Homework in a visit: what its link hides stays hidden until the teacher's code, and what was done is handed in.

A cookie keeps the link, so that neither another address nor a new tab of the browser shows what it hides. The record of
what was done is in the memory of this process, bounded, by browser and link.
"""

import hashlib
import sys
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from urllib.parse import urlencode

import streamlit as st

from components.classroom import following
from components.shell import address, hidden_parts, session, visitor
from components.shell.session import Key
from models.content import Texts
from models.lessons.homework import (
    CODE_LENGTH,
    MAX_ANSWER_CHARS,
    MAX_DEED_CHARS,
    MAX_DEEDS,
    MAX_NAME_CHARS,
    Homework,
    handed_in,
    homework_from,
    now,
)
from models.lessons.stops import START, VISIT_KEYS

TEXTS = Texts("homework")
KEY = "homework"  # URL parameter and cookie with the link's token
MAX_RECORDS = 1000
NAME_WIDGET, ANSWER_WIDGET, CODE_WIDGET = "homework_name", "homework_answer", "homework_code"

HOMEWORK_TOKEN = Key("homework_token", "")
HOMEWORK_OPENED = Key("homework_opened", "")  # the token whose code was typed


@dataclass
class _Record:
    """What was done in a homework by one browser: times and texts. `client`: digest of its address.

    `last`: hash of the last text, which is kept in part.
    """

    client: str
    last: int = 0
    deeds: list[tuple[str, str]] = field(default_factory=list)


# By browser and token, the last used last. In `sys`, because Streamlit reloads this module when a file changes.
_records: OrderedDict[tuple[str, str], _Record] = sys.__dict__.setdefault("_add_norm_homeworks", OrderedDict())
_lock = Lock()


def follow() -> dict[str, str]:
    """Takes up a visit's homework and hides what it hides; once per script run, before the page.

    Returns the query that every page of the visit keeps in its address.
    """
    homework = _current()
    is_led = following.shown_state() is not None  # in a class the teacher's Reveal decides
    is_hiding = homework is not None and HOMEWORK_OPENED.get() != homework.token and not is_led
    hidden_parts.lock(frozenset(homework.hide) if homework is not None and is_hiding else frozenset())
    return {KEY: homework.token} if homework is not None else {}


def _current() -> Homework | None:
    """The homework that the address names, else the visit's, else the browser's; the latter two survive any address."""
    for token in (st.query_params.get(KEY, ""), HOMEWORK_TOKEN.get(), visitor.cookie(KEY)):
        homework = homework_from(token) if token else None
        if homework is not None:
            HOMEWORK_TOKEN.put(token)
            return homework
    return None


def note(deed: str) -> None:
    """Records something that a student did, if the visit has homework; what was done last only once."""
    homework = _current()
    if homework is None or following.shown_state() is not None:
        return
    key = following.member(), homework.token
    with _lock:
        record = _records.pop(key, None) or _Record(hashlib.sha256(visitor.address().encode()).hexdigest())
        _records[key] = record
        if len(_records) > MAX_RECORDS:
            _drop_one()
        if len(record.deeds) < MAX_DEEDS and record.last != hash(deed):
            record.last = hash(deed)
            record.deeds.append((now(), deed[:MAX_DEED_CHARS]))


def _drop_one() -> None:
    """Drops the oldest record of the client that has most."""
    ((client, _),) = Counter(record.client for record in _records.values()).most_common(1)
    del _records[next(key for key, record in _records.items() if record.client == client)]


def draw(page: str) -> None:
    """Draws, below the page, what is handed in and the field for the teacher's code; nothing without homework."""
    homework = _current()
    if homework is None or following.shown_state() is not None:
        return
    query = {key: value for key, value in st.query_params.to_dict().items() if key not in VISIT_KEYS}
    note(f"{page or START}?{urlencode(query)}" if query else page or START)
    with st.container(border=True, key="homework"):
        st.subheader(TEXTS("hand in"), anchor=False)
        st.markdown(TEXTS("what is handed in"))
        st.text_input(TEXTS("name"), key=NAME_WIDGET, max_chars=MAX_NAME_CHARS, persist_state="session")
        st.text_area(TEXTS("answer"), key=ANSWER_WIDGET, max_chars=MAX_ANSWER_CHARS, persist_state="session")
        name = str(session.widget_value(NAME_WIDGET, ""))
        if name.strip():
            with _lock:
                record = _records.get((following.member(), homework.token))
                deeds = list(record.deeds) if record is not None else []
            text = handed_in(homework, name, str(session.widget_value(ANSWER_WIDGET, "")), deeds)
            st.download_button(TEXTS("save"), text, "homework.txt", "text/plain", icon=":material/download:")
            st.code(text, language=None, wrap_lines=True, height=240)
        else:
            st.caption(TEXTS("name first"))
        if HOMEWORK_OPENED.get() == homework.token:
            url = f"{address.app_url()}/homework?{urlencode({'t': homework.token, 'code': homework.code})}"
            st.link_button(TEXTS("leave"), url)
            return
        st.text_input(TEXTS("code"), key=CODE_WIDGET, max_chars=CODE_LENGTH + 8, on_change=_take_code, args=(homework,))
        if session.widget_value(CODE_WIDGET, ""):
            st.warning(TEXTS("wrong code"))


def _take_code(homework: Homework) -> None:
    if homework.opens(str(session.widget_value(CODE_WIDGET, ""))):
        HOMEWORK_OPENED.put(homework.token)
