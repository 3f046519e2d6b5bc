"""The address bar: a page adopts what a link says, and the address follows what the visitor changes.

Changes are *collected* while the page is drawn and written at its end, so that a click makes one history entry. When a
visitor comes back to a page through the navigation, its address is restored, and the page adopts it like a link.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import streamlit as st

from components.shell.session import Key, has_value, set_widget, widget_value
from components.shell.streamlits_own import from_history
from models.log import event
from models.spec.knob import Knob
from models.spec.query import FOREIGN, Near, taken, written

ONE_NET = ("playground", "anatomy")  # pages that show the same net
MAX_ECHOES = 8

HERE = Key("address_here", "")  # the current page
# By key, the part of the address that the current page has adopted or written.
TAKEN: Key[dict[str, str | None]] = Key("address_taken", {})
# By page, its last address; the current page is last.
LEFT: Key[dict[str, dict[str, str]]] = Key("address_left", {})
RESTORED = Key("address_restored", False)  # whether this run's address was restored
ECHOES: Key[list[dict[str, str]]] = Key("address_echoes", [])  # older addresses of the current page
CHANGES: Key[dict[str, str | None]] = Key("address_changes", {})  # changes to be written; None removes a key
# By key of the address, the widget that is kept in it, its default, and the function that writes its value.
KEPT: Key[dict[str, tuple[str, Any, Callable[[Any], str]]]] = Key("address_kept", {})
# By key of the address, the widget and its last default on the current page.
DEFAULTS: Key[dict[str, tuple[str, Any]]] = Key("address_defaults", {})
# By widget, its older values, the value that was put, and the address at that time: the browser may not have heard.
PUT: Key[dict[str, tuple[list[Any], Any, dict[str, str]]]] = Key("address_put", {})
UNTOLD = Key("address_untold", False)  # whether the run that put a value has not ended yet
# By key of the address, the message about an illegal value, and the value that was adopted instead.
SAID: Key[dict[str, tuple[str, Any]]] = Key("address_said", {})


def arrive(page: str, visit: Mapping[str, str]) -> None:
    """Once per script run, before the page: makes the address say what the page is to show.

    `visit`: what the address must say on every page of this visit. The navigation comes with an empty address, for
    which the page's last one is restored; the addresses of Back and Forward are taken as they are.
    """
    query = st.query_params.to_dict()
    put_again(undrawn=True)
    if not HERE.there or HERE.get() != page:
        if not HERE.there:
            event("visitor_came", page=page or "start")
        for of_page in (TAKEN, CHANGES, DEFAULTS, SAID):
            of_page.put({})
        ECHOES.put([])
        HERE.put(page)  # last, because a rerun may interrupt
    KEPT.put({})
    RESTORED.put(not from_history() and (not query or query in ECHOES.get()))
    if RESTORED.get():
        query = _as_left(page) | dict(visit)
    _write(dict(visit) | query)


def resume() -> None:
    """Once per run of a fragment: restores the last address if the browser repeats an older one."""
    put_again()
    if _repeats():
        st.query_params.from_dict(_left())


def put(fields: Mapping[str, Any]) -> None:
    """Sets widgets, before they are drawn or in a callback."""
    put_again()
    known = PUT.mutable()
    for name, value in fields.items():
        if has_value(name):
            before = [widget_value(name), *(known[name][0] if name in known else ())]
            known[name] = [old for old in before if old != value], value, _left()
            if widget_value(name) != value:
                UNTOLD.put(True)
        set_widget(name, value)


def put_again(*, undrawn: bool = False) -> None:
    """Sets widgets again whose old values the browser has sent once more, before it knew of the last `put`.

    Streamlit takes these for a change by the visitor: the callback of a widget that is also `put` calls this first.
    `undrawn`: no widget of this run has been drawn yet. Then values that were `put`, but never drawn because the last
    run ended before, are set too: otherwise a widget would show what this page had when it was left. And those are
    forgotten of which the browser has heard.
    """
    known = PUT.mutable()
    unheard = UNTOLD.get() or _repeats()
    for name, (before, value, left) in list(known.items()):
        if unheard and widget_value(name) in (*before, *([value] if undrawn else ())):
            set_widget(name, value)
        elif undrawn and not unheard and (widget_value(name) != value or left != _left()):
            del known[name]


def change(changes: Mapping[str, str | None]) -> None:
    """Collects changes of the address until the end of this run; None removes a key."""
    CHANGES.mutable().update(changes)


def settle() -> None:
    """At the end of a run, or before a long part of it: writes the changes and the values of the kept widgets.

    However often, a click makes one history entry (`history.js`).
    """
    UNTOLD.put(False)
    for name, (key, default, text_of) in KEPT.get().items():
        value = widget_value(key, default)
        change({name: None if value == default else text_of(value)})
    changes = CHANGES.get()
    CHANGES.put({})
    query = {key: value for key, value in st.query_params.to_dict().items() if key not in changes}
    TAKEN.mutable().update(changes)
    _write(query | {key: value for key, value in changes.items() if value is not None})


@contextmanager
def adopting(*names: str) -> Iterator[bool]:
    """Whether the page has still to adopt these keys of its address; at the end of the block it has done so.

    Not before: a rerun may interrupt the block, and the next run would find nothing adopted and nothing to adopt.
    """
    says = {name: st.query_params.get(name) for name in names}
    yield not says.items() <= TAKEN.get().items()
    TAKEN.mutable().update(says)


def keep(widget: str, name: str, kinds: tuple[type, ...], knob: Knob, default: Any, *, near: Near = None) -> None:
    """Keeps a widget's value in the address under `name`, unless it is the default. Call it before the widget.

    A message about an illegal value, to which `near` adds what may have been meant, stays until the widget is moved. A
    default that has changed is adopted if the address is silent. What is no choice any more gives way to the default,
    and a number out of bounds to the nearest.
    """
    text, known, said = st.query_params.get(name), DEFAULTS.mutable(), SAID.mutable()
    default = list(default) if knob.many else default
    with adopting(name) as fresh:
        before = known.get(name)
        moved = text is None and before is not None and before[0] == widget and before[1] != default
        if fresh or moved or not has_value(widget):
            value, wrong = default, ""
            if fresh and text is not None:
                value, wrong = taken(name, text, kinds, knob, default, near=near)
            value = list(value) if knob.many else value
            set_widget(widget, value)
            said[name] = "" if RESTORED.get() else wrong, value
        elif knob.choices is not None and not knob.many and widget_value(widget) not in (default, *knob.choices):
            set_widget(widget, default)
        elif knob.choices is None and {int, float}.intersection(kinds) and not knob.holds(widget_value(widget)):
            set_widget(widget, kinds[0](knob.clamp(widget_value(widget))))
        known[name] = (widget, default)
    wrong, instead = said.get(name, ("", None))
    if wrong and widget_value(widget) == instead:
        st.info(wrong)
    KEPT.mutable()[name] = (widget, default, partial(written, knob=knob))


def base(page: str) -> str:
    """The app's address, which may have a path, as a visitor of this page has it; empty if unknown."""
    return (st.context.url or "").partition("?")[0].removesuffix("/").removesuffix(f"/{page}")


def _repeats() -> bool:
    """Whether the browser has not heard of the last address, and repeats an older one or an empty one."""
    query = st.query_params.to_dict()
    known = HERE.there and not from_history() and query != _left()
    return known and (not query or query in ECHOES.get())


def _left() -> dict[str, str]:
    """The address of the current page, as it was written last."""
    return LEFT.get().get(HERE.get(), {})


def _as_left(page: str) -> dict[str, str]:
    """The address that a page was left with; pages that show the same net show the one last set on any of them."""
    left = LEFT.get()
    own = left.get(page, {})
    if page not in ONE_NET:
        return own
    last = next((left[other] for other in reversed(left) if other in ONE_NET), {})
    aside = {key: value for key, value in own.items() if key in FOREIGN and key != "digest"}
    return aside | {key: value for key, value in last.items() if key not in FOREIGN}


def _write(query: dict[str, str]) -> None:
    """Makes this the address of the current page; noted before it is written, because a rerun may interrupt."""
    before, left = st.query_params.to_dict(), LEFT.mutable()
    left.pop(HERE.get(), None)
    left[HERE.get()] = query
    ECHOES.put([echo for echo in (*ECHOES.get(), before) if echo != query][-MAX_ECHOES:])
    if query != before:
        st.query_params.from_dict(query)
