"""The address bar: a page adopts the values in a link, and the address follows what the visitor changes.

Changes are *collected* while the page is drawn and written at its end, so that a click makes one history entry. When a
visitor comes back to a page through the navigation, its address is restored, and the page adopts it like a link.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import streamlit as st

from components.shell.assets import base_path
from components.shell.session import Key, has_value, set_widget, widget_value
from components.shell.streamlits_own import browser_url, from_history
from models.log import event
from models.spec import knobs
from models.spec.knob import Knob
from models.spec.query import PAGE_KEYS, Suggestion, link_text, setting_from_link

SAME_NET_PAGES = ("playground", "anatomy")
SEARCH_KEY = "q"  # what an open search asks; the browser alone keeps it (`history.js`)
MAX_ECHOES = 8

Query = dict[str, str]  # the query of an address, by key


class BoundWidget(NamedTuple):
    """A widget whose value is written into the address unless it is the default."""

    widget: str
    default: Any
    to_text: Callable[[Any], str]


class DrawnDefault(NamedTuple):
    """The default with which a widget was last drawn on the current page."""

    widget: str
    default: Any


class PendingValue(NamedTuple):
    """A value that was put into a widget, until the browser has confirmed it.

    `older`: values that the browser may still send. `query`: the address at the time of the put.
    """

    older: list[Any]
    value: Any
    query: Query


class ValueNote(NamedTuple):
    """The note on an illegal value in the address, and the value that was adopted instead."""

    text: str
    adopted: Any


CURRENT_PAGE = Key("address_here", "")
ADOPTED: Key[dict[str, str | None]] = Key("address_taken", {})  # by key, what the page has adopted or written
LAST_QUERIES: Key[dict[str, Query]] = Key("address_left", {})  # by page; the current page is last
RESTORED = Key("address_restored", False)  # whether this run's address was restored
ECHOES: Key[list[Query]] = Key("address_echoes", [])  # older addresses of the page, which a browser may still send
CHANGES: Key[dict[str, str | None]] = Key("address_changes", {})  # changes to be written; None removes a key
BOUND_WIDGETS: Key[dict[str, BoundWidget]] = Key("address_kept", {})  # by key of the address
DEFAULTS: Key[dict[str, DrawnDefault]] = Key("address_defaults", {})  # by key of the address
PENDING_VALUES: Key[dict[str, PendingValue]] = Key("address_put", {})  # by widget
PUT_IN_THIS_RUN = Key("address_untold", False)  # whether the run that put a new value has not ended yet
VALUE_NOTES: Key[dict[str, ValueNote]] = Key("address_said", {})  # by key of the address


def begin_run(page: str, visit: Mapping[str, str]) -> None:
    """Sets the address that the page is to show. Called once per script run, before the page.

    `visit`: keys that the address has on every page of this visit. The navigation opens a page with an empty address,
    which is replaced by the page's last one; the addresses of Back and Forward stay.
    """
    query = _query()
    reapply_widgets(before_drawing=True)
    if not CURRENT_PAGE.is_set or CURRENT_PAGE.get() != page:
        if not CURRENT_PAGE.is_set:
            event("visitor_came", page=page or "start")
        for of_page in (ADOPTED, CHANGES, DEFAULTS, VALUE_NOTES):
            of_page.put({})
        ECHOES.put([])
        CURRENT_PAGE.put(page)  # last, because a rerun may interrupt
    BOUND_WIDGETS.put({})
    RESTORED.put(not from_history() and (not query or query in ECHOES.get()))
    if RESTORED.get():
        query = _restored_query(page) | dict(visit)
    _write(dict(visit) | query)


def resume() -> None:
    """Once per run of a fragment: restores the last address if the browser repeats an older one."""
    reapply_widgets()
    if _is_outdated():
        st.query_params.from_dict(_last_query())


def put(fields: Mapping[str, Any]) -> None:
    """Sets widgets, before they are drawn or in a callback."""
    reapply_widgets()
    pending = PENDING_VALUES.mutable()
    for name, value in fields.items():
        if has_value(name):
            older = [widget_value(name), *(pending[name].older if name in pending else ())]
            pending[name] = PendingValue([old for old in older if old != value], value, _last_query())
            if widget_value(name) != value:
                PUT_IN_THIS_RUN.put(True)
        set_widget(name, value)


def reapply_widgets(*, before_drawing: bool = False) -> None:
    """Sets widgets again if the browser has sent their old values once more, before it learned of the last `put`.

    Streamlit takes these for a change by the visitor, so the callback of a widget that is also `put` calls this first.
    `before_drawing` any widget of a run, values are set too that were put but not drawn, because the last run was
    interrupted; and values that the browser has confirmed are forgotten.
    """
    pending = PENDING_VALUES.mutable()
    is_unconfirmed = PUT_IN_THIS_RUN.get() or _is_outdated()
    for name, (older, value, query) in list(pending.items()):
        outdated_values = [*older, value] if before_drawing else older
        if is_unconfirmed and widget_value(name) in outdated_values:
            set_widget(name, value)
        elif before_drawing and not is_unconfirmed and (widget_value(name) != value or query != _last_query()):
            del pending[name]


def collect_changes(changes: Mapping[str, str | None]) -> None:
    """Collects changes of the address until the end of this run; None removes a key."""
    CHANGES.mutable().update(changes)


def write_changes() -> None:
    """At the end of a run, or before a long part of it: writes the changes and the values of the bound widgets.

    A click makes one history entry, however often this is called (`history.js`).
    """
    PUT_IN_THIS_RUN.put(False)
    for name, (widget, default, to_text) in BOUND_WIDGETS.get().items():
        value = widget_value(widget, default)
        collect_changes({name: None if value == default else to_text(value)})
    changes = CHANGES.get()
    CHANGES.put({})
    query = {key: value for key, value in _query().items() if key not in changes}
    ADOPTED.mutable().update(changes)
    _write(query | {key: value for key, value in changes.items() if value is not None})


def forget(page: str, name: str) -> None:
    """Leaves a key out of the address that a page has when somebody comes back to it."""
    LAST_QUERIES.mutable().get(page, {}).pop(name, None)


@contextmanager
def adopting(*names: str) -> Iterator[bool]:
    """Whether the page must adopt these keys of its address in the block; they count as adopted at its end.

    Not before: a rerun may interrupt the block, and the next run must adopt them again.
    """
    values = {name: st.query_params.get(name) for name in names}
    yield not values.items() <= ADOPTED.get().items()
    ADOPTED.mutable().update(values)


def keep(widget: str, name: str, kinds: tuple[type, ...], knob: Knob, default: Any, *, near: Suggestion = None) -> None:
    """Binds a widget to the key `name` of the address, which lacks the default. Call it before the widget.

    The note on an illegal value, to which `near` adds a suggestion, stays until the widget is moved. A changed default
    is adopted unless the address has a value. A value that is no longer a choice becomes the default, and a number out
    of bounds the nearest legal one.
    """
    text, defaults, notes = st.query_params.get(name), DEFAULTS.mutable(), VALUE_NOTES.mutable()
    default = list(default) if knob.multiple else default
    with adopting(name) as is_new:
        last = defaults.get(name)
        has_new_default = text is None and last is not None and last.widget == widget and last.default != default
        if is_new or has_new_default or not has_value(widget):
            value, note = default, ""
            if is_new and text is not None:
                value, note = setting_from_link(name, text, kinds, knob, default, suggest=near)
            value = list(value) if knob.multiple else value
            set_widget(widget, value)
            notes[name] = ValueNote("" if RESTORED.get() else note, value)
        elif knob.choices is not None and not knob.multiple and widget_value(widget) not in (default, *knob.choices):
            set_widget(widget, default)
        elif knob.choices is None and {int, float}.intersection(kinds) and not knob.is_legal(widget_value(widget)):
            set_widget(widget, kinds[0](knob.clamp(widget_value(widget))))
        defaults[name] = DrawnDefault(widget, default)
    if name in notes and notes[name].text and widget_value(widget) == notes[name].adopted:
        st.info(notes[name].text)
    BOUND_WIDGETS.mutable()[name] = BoundWidget(widget, default, partial(link_text, knob=knob))


def app_url() -> str:
    """The URL of the app without a final slash: the visitor's host, and the server's base path; empty if unknown."""
    scheme, host, *_ = urlsplit(browser_url())
    return f"{scheme}://{host}{base_path()}" if host else ""


def with_last(page: str, query: Mapping[str, str]) -> Query:
    """A query that opens a part of a page, which otherwise stays as it was left; one that names nets stands alone."""
    names_nets = page == "compare" or query.keys() & knobs().keys()
    return dict(query) if names_nets else _restored_query(page) | dict(query)


def _query() -> Query:
    """The query of the browser's address, without what a search asks."""
    return {key: value for key, value in st.query_params.to_dict().items() if key != SEARCH_KEY}


def _is_outdated() -> bool:
    """Whether the browser does not know the last address yet, and sends an older one or an empty one."""
    query = _query()
    differs = CURRENT_PAGE.is_set and not from_history() and query != _last_query()
    return differs and (not query or query in ECHOES.get())


def _last_query() -> Query:
    """The address of the current page, as it was last written."""
    return LAST_QUERIES.get().get(CURRENT_PAGE.get(), {})


def _restored_query(page: str) -> Query:
    """The last address of a page. Pages that show the same net show the one last set on any of them."""
    last_queries = LAST_QUERIES.get()
    own_query = last_queries.get(page, {})
    if page not in SAME_NET_PAGES:
        return own_query
    net_query = next((last_queries[other] for other in reversed(last_queries) if other in SAME_NET_PAGES), {})
    foreign = {key: value for key, value in own_query.items() if key in PAGE_KEYS and key != "digest"}
    return foreign | {key: value for key, value in net_query.items() if key not in PAGE_KEYS}


def _write(query: Query) -> None:
    """Makes this the address of the current page. It is stored before it is written, because a rerun may interrupt."""
    before, last_queries = _query(), LAST_QUERIES.mutable()
    last_queries.pop(CURRENT_PAGE.get(), None)
    last_queries[CURRENT_PAGE.get()] = query
    ECHOES.put([echo for echo in (*ECHOES.get(), before) if echo != query][-MAX_ECHOES:])
    if query != before:
        st.query_params.from_dict(query)
