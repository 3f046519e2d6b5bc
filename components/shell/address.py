"""The address bar says what a page shows: taken over when it comes from outside, written when something on the page moves.

Everything that stands in an address is *staged* while a page is drawn and written at its end, so that one press makes one
history entry. A page left through the navigation is found again as it was: its address is restored, and the page takes it
over as it would a link.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from models.log import event
from models.spec.query import FOREIGN, LONGEST_VALUE, TRUTH, shown

ONE_NET = ("playground", "anatomy")  # pages that show one and the same net
HERE = "address_here"  # which page is shown
TAKEN = "address_taken"  # what of the address the page that is shown has taken over or written itself, by key
LEFT = "address_left"  # by page, the address it has or was left with; the page that was shown last stands last
RESTORED = "address_restored"  # whether the address of this run is one that the visit has had before
ECHOES, MOST_ECHOES = "address_echoes", 8  # addresses that the page that is shown had before
STAGED = "address_staged"  # changes to be written; None takes a key out
KEPT = "address_kept"  # widgets drawn in this run whose values stand in the address
DEFAULTS = "address_defaults"  # by key of the address, the widget of the page that is shown and the default it had last
PUT = "address_put"  # by widget, the values before, the one put there and the address then: the browser may not have heard
UNTOLD = "address_untold"  # whether the run that put something has not come to its end
NUMBERED = re.compile(r"^examples?-\d+(-and-\d+)?-")  # what options were called in addresses from before 2026-11-22
SAID = "address_said"  # by key of the address, what was wrong with it, and the value that was taken instead

_history = st.components.v2.component("history", js=(Path(__file__).parent / "history.js").read_text())


def arrive(page: str, visit: Mapping[str, str]) -> None:
    """Once per script run, before the page: makes the address what the page is to show.

    `visit` is what the address must say on every page of this visit. A walk through the navigation comes with an empty
    address and finds the page as it was left; Back and Forward are taken at their word.
    """
    state, query = st.session_state, st.query_params.to_dict()
    put_again()
    if state.get(HERE) != page:
        if HERE not in state:
            event("visitor_came", page=page or "start")
        state[HERE], state[TAKEN], state[ECHOES], state[STAGED] = page, {}, [], {}
        state[DEFAULTS], state[SAID] = {}, {}
    state[KEPT] = {}
    state[RESTORED] = not _from_history() and (not query or query in state[ECHOES])
    if state[RESTORED]:
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
    state, known = st.session_state, st.session_state.setdefault(PUT, {})
    for name, value in fields.items():
        if name in state and state[name] != value:
            before = [state[name], *(known[name][0] if name in known else ())]
            known[name] = [one for one in before if one != value], value, _left()
            state[UNTOLD] = True
        state[name] = value


def put_again() -> None:
    """Sets widgets once more where a browser that has not heard of it yet repeats what they were before.

    Streamlit takes that for a change by the visitor, so a widget's callback calls this first if its widget is put, too.
    """
    state = st.session_state
    known: dict[str, tuple[list[Any], Any, dict[str, str]]] = state.get(PUT, {})
    unheard = state.get(UNTOLD) or _repeats()
    for name, (before, value, left) in list(known.items()):
        if unheard and state.get(name) in before:
            state[name] = value
        elif not unheard and (state.get(name) != value or left != _left()):
            del known[name]


def stage(changes: Mapping[str, str | None]) -> None:
    """Notes what the address has to say from the end of this run on; None takes a key out of it."""
    st.session_state.setdefault(STAGED, {}).update(changes)


def settle() -> None:
    """At the end of a run: writes what was staged and what the widgets hold, as one history entry."""
    state = st.session_state
    state[UNTOLD] = False
    for name, (key, default, written) in state.get(KEPT, {}).items():
        value = state.get(key, default)
        stage({name: None if value == default else written(value)})
    staged: dict[str, str | None] = state.get(STAGED, {})
    state[STAGED] = {}
    query = {key: value for key, value in st.query_params.to_dict().items() if key not in staged}
    state.setdefault(TAKEN, {}).update(staged)
    _write(query | {key: value for key, value in staged.items() if value is not None})


def taken(*names: str) -> bool:
    """Whether the page that is shown already stands as these keys of its address say; from now on it does."""
    known: dict[str, str | None] = st.session_state.setdefault(TAKEN, {})
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

    `among` are the widget's options, of which it holds one, or with `many` a list; `bounds` are those of a number, or of
    the length of a text. `exact`: options that are names of others' stand in the address letter by letter. To be called
    before the widget. What an address says wrongly is said on the page for as long as what was taken instead stands; `near`
    adds what may have been meant. A default that has become another one, because an example was chosen, is taken over where
    the address is silent; so is one for what is no option any more.
    """
    state, text = st.session_state, st.query_params.get(name)
    options = None if among is None else list(among)
    known, said = state.setdefault(DEFAULTS, {}), state.setdefault(SAID, {})
    fresh, before = not taken(name), known.get(name)
    moved = text is None and before is not None and before[0] == key and before[1] != default
    known[name] = (key, default)
    if fresh or moved or key not in state:
        state[key], wrong = _adopted(name, text if fresh else None, default, options, bounds, many=many, exact=exact, near=near)
        said[name] = wrong, state[key]
    elif options is not None and not many and state[key] not in (default, *options):
        state[key] = default
    wrong, instead = said.get(name, ("", None))
    if wrong and state[key] == instead:
        st.info(wrong)
    plain = exact or (options is None and isinstance(default, str))
    state.setdefault(KEPT, {})[name] = (key, default, str if plain else partial(_text, many=many))
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
    known = HERE in st.session_state and not _from_history() and query != _left()
    return known and (not query or query in st.session_state[ECHOES])


def _left() -> dict[str, str]:
    """The address of the page that is shown, as it was written last."""
    found: dict[str, str] = st.session_state.get(LEFT, {}).get(st.session_state.get(HERE), {})
    return found


def _as_left(page: str) -> dict[str, str]:
    """The address that a page was left with. Pages that show one net show the one that was set last on any of them."""
    left: dict[str, dict[str, str]] = st.session_state.get(LEFT, {})
    own = left.get(page, {})
    if page not in ONE_NET:
        return own
    last = next((left[other] for other in reversed(left) if other in ONE_NET), {})
    aside = {key: value for key, value in own.items() if key in FOREIGN and key != "digest"}
    return aside | {key: value for key, value in last.items() if key not in FOREIGN}


def _write(query: dict[str, str]) -> None:
    """Makes this the address of the page that is shown. Noted before it is written: a rerun may cut in."""
    state, before = st.session_state, st.query_params.to_dict()
    left: dict[str, dict[str, str]] = state.setdefault(LEFT, {})
    left.pop(state[HERE], None)
    left[state[HERE]] = query
    echoes: list[dict[str, str]] = [one for one in (*state[ECHOES], before) if one != query]
    state[ECHOES] = echoes[-MOST_ECHOES:]
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
    """The value that an address asks for, and what is wrong with it in words; the default where it says nothing or nonsense."""
    if text is None:
        return default, ""
    try:
        value = _parsed(text, default, options, bounds, many=many, exact=exact)
    except ValueError:
        return default, f"There is no {name} of that name: {shown(text)}.{near(text)}"
    number = bounds and isinstance(value, int | float)
    if bounds and number and float(text[:40]) != value and not st.session_state.get(RESTORED):
        return value, f"From the link: {name} {shown(text)} became {value:g}; legal is {bounds[0]:g} to {bounds[1]:g}."
    return value, ""


def _text(value: object, *, many: bool) -> str:
    return ",".join(slug(one) for one in value) if many and isinstance(value, Collection) else slug(value)


def _parsed(
    text: str, default: Any, options: list[Any] | None, bounds: tuple[float, float] | None, *, many: bool, exact: bool = False
) -> Any:
    """The value of a text: an option by its slug, a list of them, a truth value, words, or the nearest number within bounds.

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
