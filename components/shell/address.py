"""The address bar says what a page shows: taken over when it
comes from outside, written when something on the page moves.

Everything that stands in an address is *staged* while a page is drawn and written at its
end, so that one press makes one history entry. A page left through the navigation is found
again as it was: its address is restored, and the page takes it over as it would a link.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from components.shell.session import (
    DEFAULTS,
    ECHOES,
    HERE,
    KEPT,
    LEFT,
    PUT,
    RESTORED,
    SAID,
    STAGED,
    TAKEN,
    UNTOLD,
    drawn,
    held,
    hold,
)
from models.log import event
from models.spec.query import FOREIGN, LONGEST_VALUE, TRUTH, harmless

ONE_NET = ("playground", "anatomy")  # pages that show one and the same net
MOST_ECHOES = 8
NUMBERED = re.compile(r"^examples?-\d+(-and-\d+)?-")  # what options were called in addresses from before 2026-11-22

_history = st.components.v2.component("history", js=(Path(__file__).parent / "history.js").read_text())


def arrive(page: str, visit: Mapping[str, str]) -> None:
    """Once per script run, before the page: makes the address what the page is to show.

    `visit` is what the address must say on every page of this visit. A walk through the navigation comes with an empty
    address and finds the page as it was left; Back and Forward are taken at their word.
    """
    query = st.query_params.to_dict()
    put_again()
    if not HERE.there or HERE.get() != page:
        if not HERE.there:
            event("visitor_came", page=page or "start")
        HERE.put(page)
        for of_page in (TAKEN, STAGED, DEFAULTS, SAID):
            of_page.put({})
        ECHOES.put([])
    KEPT.put({})
    RESTORED.put(not _from_history() and (not query or query in ECHOES.get()))
    if RESTORED.get():
        query = _as_left(page)
    _write({key: value for key, value in visit.items() if key not in query} | query)
    _history(key="history", data={"page": page})


def resume() -> None:
    """Once per run of a fragment: a browser that has not heard of the last address yet repeats the one before."""
    put_again()
    if _repeats():
        st.query_params.from_dict(_left())


def put(fields: Mapping[str, Any]) -> None:
    """Sets widgets; to be called before these are drawn, or in a callback."""
    put_again()
    known = PUT.own()
    for name, value in fields.items():
        if drawn(name) and held(name) != value:
            before = [held(name), *(known[name][0] if name in known else ())]
            known[name] = [one for one in before if one != value], value, _left()
            UNTOLD.put(True)
        hold(name, value)


def put_again() -> None:
    """Sets widgets once more where a browser that has not heard of it yet repeats what they were before.

    Streamlit takes that for a change by the visitor, so a widget's callback calls this first if its widget is put, too.
    """
    known = PUT.own()
    unheard = UNTOLD.get() or _repeats()
    for name, (before, value, left) in list(known.items()):
        if unheard and held(name) in before:
            hold(name, value)
        elif not unheard and (held(name) != value or left != _left()):
            del known[name]


def stage(changes: Mapping[str, str | None]) -> None:
    """Notes what the address has to say from the end of this run on; None takes a key out of it."""
    STAGED.own().update(changes)


def settle() -> None:
    """At the end of a run: writes what was staged and what the widgets hold, as one history entry."""
    UNTOLD.put(False)
    for name, (key, default, written) in KEPT.get().items():
        value = held(key, default)
        stage({name: None if value == default else written(value)})
    staged = STAGED.get()
    STAGED.put({})
    query = {key: value for key, value in st.query_params.to_dict().items() if key not in staged}
    TAKEN.own().update(staged)
    _write(query | {key: value for key, value in staged.items() if value is not None})


def taken(*names: str) -> bool:
    """Whether the page that is shown already stands as these keys of its address say; from now on it does."""
    known = TAKEN.own()
    says = {name: st.query_params.get(name) for name in names}
    same = says.items() <= known.items()
    known.update(says)
    return same


def kept(
    key: str,
    default: Any,
    *,
    name: str,
    among: Iterable[Any] | None = None,
    bounds: tuple[float, float] | None = None,
    many: bool = False,
    exact: bool = False,
    near: Callable[[str], str] = lambda _: "",
) -> dict[str, Any]:
    """The keyword arguments that keep a widget's value in the address under `name` wherever it is not the default.

    `among` are the widget's options, of which it holds one, or with `many` a list; `bounds` are those of a number, or
    of the length of a text. `exact`: options that are names of others' stand in the address letter by letter. To be
    called before the widget. What an address says wrongly is said on the page for as long as what was taken instead
    stands; `near` adds what may have been meant. A default that has become another one, because an example was chosen,
    is taken over where the address is silent; so is one for what is no option any more.
    """
    text, options = st.query_params.get(name), None if among is None else list(among)
    known, said = DEFAULTS.own(), SAID.own()
    fresh, before = not taken(name), known.get(name)
    moved = text is None and before is not None and before[0] == key and before[1] != default
    known[name] = (key, default)
    if fresh or moved or not drawn(key):
        asked = text if fresh else None
        value, wrong = _adopted(name, asked, default, options, bounds, many=many, exact=exact, near=near)
        hold(key, value)
        said[name] = wrong, value
    elif options is not None and not many and held(key) not in (default, *options):
        hold(key, default)
    wrong, instead = said.get(name, ("", None))
    if wrong and held(key) == instead:
        st.info(wrong)
    plain = exact or (options is None and isinstance(default, str))
    KEPT.own()[name] = (key, default, str if plain else partial(_text, many=many))
    return {"key": key, "persist_state": "session"}


def slug(option: object) -> str:
    """An option as it stands in an address: a number, or small letters and digits with a dash between words."""
    if isinstance(option, int | float) and not isinstance(option, bool):
        return f"{option:.10g}"
    return re.sub(r"[^a-z0-9.]+", "-", str(option).casefold()).strip("-") or str(option)


def _from_history() -> bool:
    """Whether Back or Forward brought this run."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def _repeats() -> bool:
    """Whether the browser has not heard of the last address yet and repeats one from before, or none."""
    query = st.query_params.to_dict()
    known = HERE.there and not _from_history() and query != _left()
    return known and (not query or query in ECHOES.get())


def _left() -> dict[str, str]:
    """The address of the page that is shown, as it was written last."""
    return LEFT.get().get(HERE.get(), {})


def _as_left(page: str) -> dict[str, str]:
    """The address that a page was left with. Pages that show one net show the one that was set last on any of them."""
    left = LEFT.get()
    own = left.get(page, {})
    if page not in ONE_NET:
        return own
    last = next((left[other] for other in reversed(left) if other in ONE_NET), {})
    aside = {key: value for key, value in own.items() if key in FOREIGN and key != "digest"}
    return aside | {key: value for key, value in last.items() if key not in FOREIGN}


def _write(query: dict[str, str]) -> None:
    """Makes this the address of the page that is shown. Noted before it is written: a rerun may cut in."""
    before, left = st.query_params.to_dict(), LEFT.own()
    left.pop(HERE.get(), None)
    left[HERE.get()] = query
    ECHOES.put([one for one in (*ECHOES.get(), before) if one != query][-MOST_ECHOES:])
    if query != before:
        st.query_params.from_dict(query)


def _adopted(
    name: str,
    text: str | None,
    default: Any,
    options: list[Any] | None,
    bounds: tuple[float, float] | None,
    *,
    many: bool,
    exact: bool,
    near: Callable[[str], str],
) -> tuple[Any, str]:
    """The value that an address asks for, and what is wrong with
    it in words; the default where it says nothing or nonsense.
    """
    if text is None:
        return default, ""
    try:
        value = _parsed(text, default, options, bounds, many=many, exact=exact)
    except ValueError:
        return default, f"There is no {name} of that name: {harmless(text)}.{near(text)}"
    number = bounds and isinstance(value, int | float)
    if bounds and number and float(text[:40]) != value and not RESTORED.get():
        return (
            value,
            f"From the link: {name} {harmless(text)} became {value:g}; legal is {bounds[0]:g} to {bounds[1]:g}.",
        )
    return value, ""


def _text(value: object, *, many: bool) -> str:
    return ",".join(slug(one) for one in value) if many and isinstance(value, Collection) else slug(value)


def _parsed(
    text: str,
    default: Any,
    options: list[Any] | None,
    bounds: tuple[float, float] | None,
    *,
    many: bool,
    exact: bool = False,
) -> Any:
    """The value of a text: an option by its slug, a list of them,
    a truth value, words, or the nearest number within bounds.

    ValueError where it is none of them.
    """
    low, high = bounds or (-math.inf, math.inf)
    if exact and options is not None:
        return options[options.index(text)]  # ValueError where it is none of them
    if options is not None:
        named = {slug(option): option for option in options}
        assert len(named) == len(options), "two options would be one in the address"
        asked = [slug(one) for one in (text.split(",") if many else [text]) if one]
        asked = [one if one in named else NUMBERED.sub("", one) for one in asked]
        if not set(asked) <= set(named) or not (asked or many):
            raise ValueError(text)
        found = [named[one] for one in asked]
        return found if many else found[0]
    if isinstance(default, bool):
        if text.lower() not in TRUTH:
            raise ValueError(text)
        return TRUTH[text.lower()]
    if isinstance(default, str):
        return "".join(one for one in text[:LONGEST_VALUE] if one.isprintable())[: int(min(high, LONGEST_VALUE))]
    number = float(text[:40])
    if not math.isfinite(number):
        raise ValueError(text)
    return type(default)(min(max(number, low), high))
