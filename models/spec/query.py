"""Links: the fields of a run, and of every form, as text and back. Whatever a link holds, the result is legal."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from models.spec import overrides as overrides_text
from models.spec.arrangements import ARRANGEMENTS, arranged_fields
from models.spec.fields import Fields, knobs
from models.spec.knob import Knob
from models.spec.rules import repairs
from models.spec.vocabulary import NETS

BOOLEANS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
MAX_LINK_KEYS, MAX_VALUE_CHARS = 200, 20_000  # how much of a link is read: no honest one is longer
# Keys of other parts of a page, which say nothing about a run: kept in the address, never read as settings.
PAGE_KEYS = frozenset(
    {
        "block",
        "change",
        "class",
        "digest",
        "error",
        "hide",
        "instrument",
        "key",
        "lang",
        "lesson",
        "map",
        "panel",
        "recording",
        "plan",
        "scene",
        "spec",
        "view",
        "word",
    }
)
# Slugs of choices that have another name by now, and the prefix of choices in addresses from before 2026-11-22.
RENAMED = {
    "a-sequence-that-is-said-again": "a-repeated-sequence",
    "a-sequence-that-is-said-in-order": "a-sequence-in-order",
    "skip": "residual",  # a topic of the claims
    "one-head": "single-and-multi-head",
    "shapes": "single-and-multi-head",
    "several-heads": "multi-head-attention",
    "one-row-of-scores": "softmax-and-d-k",
    "why-d-k": "softmax-and-d-k",
    "inside-trained-nets": "positions-in-trained-nets",
    "one-by-one-or-at-once": "recurrence-or-attention",
    "a-memory": "memory-and-subspaces",
    # Parts of the Normalisation lab that stand in others by now.
    "what-it-swallows": "what-layer-norm-promises",
    "an-outlier": "what-scale-costs",
    "tanh-and-sigmoid": "what-scale-costs",
    "a-recurrent-net": "a-batch-s-statistics",
    "overfitting-and-landscape": "trained-nets",
}
NUMBERED = re.compile(r"^examples?-\d+(-and-\d+)?-")
PLAIN_CHARS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .+-/_=")


def to_query(cfg: Fields) -> dict[str, str]:
    """The fields that differ from the defaults, as text, in field order."""
    return {name: _text(getattr(cfg, name)) for name in knobs() if getattr(cfg, name) != getattr(Fields, name)}


def legal_fields(mapping: Mapping[str, str | Iterable[str]]) -> tuple[dict[str, Any], list[str]]:
    """Fields that make a legal configuration, and notes on what was changed or ignored.

    The key `arrangement` sets several fields before the others apply. FOREIGN keys are ignored without a note.
    """
    read = list(mapping.items())[:MAX_LINK_KEYS]
    texts = {key: (value if isinstance(value, str) else next(iter(value), ""))[:MAX_VALUE_CHARS] for key, value in read}
    notes = (
        [f"{len(mapping) - MAX_LINK_KEYS} settings after the first {MAX_LINK_KEYS}: ignored"]
        if len(mapping) > MAX_LINK_KEYS
        else []
    )
    values = _arrangement(texts, notes)
    for key, text in texts.items():
        if key in {"overrides", "arrangement"} | PAGE_KEYS:
            continue
        if key not in knobs():
            notes.append(f"there is no setting {sanitize(key)}: ignored")
            continue
        kinds, knob = knobs()[key]
        value, note = _parsed(key, text, kinds, knob, values[key])
        values[key] = value
        notes += [note] if note else []
    _repair(values, notes)
    arrangement = ARRANGEMENTS.get(texts.get("arrangement", ""))
    if arrangement is not None and arrangement.mixed:
        values["overrides"] = overrides_text.mix_ln_overrides(values["depth"])
    if "overrides" in texts:
        try:
            values["overrides"] = overrides_text.from_text(texts["overrides"], values["depth"])
            _repair(values, notes)  # a norm in a single block can clash too
        except ValueError as error:
            notes.append(f"{sanitized_error(error)}: overrides ignored")
    return values, notes


def parse_setting(text: str, kinds: tuple[type, ...], knob: Knob) -> Any:
    """The value of a text in an address: a choice, several, a truth value, words, or the nearest legal number.

    ValueError for anything else.
    """
    if knob.multiple:
        return tuple(_choice(word, knob) for word in text.split(",") if word)
    if knob.choices is not None:
        return _choice(text, knob)
    if kinds == (bool,):
        if text.lower() not in BOOLEANS:
            raise ValueError(text)
        return BOOLEANS[text.lower()]
    if knob.rules and text in knob.rules:
        return text
    if not {int, float}.intersection(kinds):
        return "".join(letter for letter in text[:MAX_VALUE_CHARS] if letter.isprintable())[: int(knob.high)]
    number = float(text[:40])
    if not math.isfinite(number):
        raise ValueError(text)
    return float(knob.clamp(number)) if float in kinds else int(knob.clamp(round(number)))


Suggestion = Callable[[str], str] | None  # given a text that is not legal, what may have been meant


def setting_from_link(
    name: str, text: str, kinds: tuple[type, ...], knob: Knob, default: Any, *, near: Suggestion = None
) -> tuple[Any, str]:
    """The value of a form's setting that an address asks for, or the default; and what is wrong with it, in words."""
    try:
        value = parse_setting(text, kinds, knob)
    except ValueError:
        return (
            default,
            f"There is no {name} with that name: {sanitize(text)}.{near(text) if near else ''}",
        )
    legal = f"legal is {knob.low:g} to {knob.high:g}"
    return value, f"From the link: {name} {sanitize(text)} became {value:g}; {legal}." if _moved(
        text, value, knob
    ) else ""


def link_text(value: Any, knob: Knob) -> str:
    """The value of a form's setting as text in an address."""
    if knob.multiple:
        return ",".join(map(slug, value))
    return str(value) if knob.exact or (isinstance(value, str) and knob.choices is None) else slug(value)


def slug(option: object) -> str:
    """An option as written in an address: a number, or lower-case letters and digits with dashes between words."""
    if isinstance(option, int | float) and not isinstance(option, bool):
        return f"{option:.10g}"
    return re.sub(r"[^a-z0-9.]+", "-", str(option).casefold()).strip("-") or str(option)


def _choice(text: str, knob: Knob) -> Any:
    """The choice that a text names, by itself or by its slug. ValueError for none."""
    choices = knob.choices or {}
    named = {str(choice) if knob.exact else slug(choice): choice for choice in choices}
    assert len(named) == len(choices), "two options would be one in the address"
    asked = text if knob.exact or not text else slug(text)
    asked = asked if asked in named else RENAMED.get(asked, NUMBERED.sub("", asked))
    if asked not in named:
        raise ValueError(text)
    return named[asked]


JOINER = "\u2060"


def sanitize(text: str, limit: int = 40, allowed: Set[str] = PLAIN_CHARS) -> str:
    """Foreign text made harmless for a page: plain characters only, cut short, with dots only inside numbers."""
    plain = re.sub(r"(?<!\d)\.|\.(?!\d)", " ", "".join(c for c in text[:MAX_VALUE_CHARS] if c in allowed))
    return (plain[:limit] + "...") if len(plain) > limit else (plain or "(unreadable)")


def sanitized_error(error: Exception, limit: int = 200) -> str:
    """The message of a configuration's error, with the foreign text in it made harmless; its punctuation stays."""
    return sanitize(str(error), limit, PLAIN_CHARS | set(";,()'"))


def escape_markdown(text: str) -> str:
    """Foreign text as Markdown that shows every character and becomes no link, picture, formula, icon or colour.

    Streamlit looks for addresses and icons after it has resolved escapes, so an invisible joiner breaks them up.
    """
    return re.sub(r"(:|@|www)", f"\\1{JOINER}", re.sub(r"([\\\[\]<>$`*_~#|])", r"\\\1", text), flags=re.IGNORECASE)


def _arrangement(texts: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    values = {key: getattr(Fields, key) for key in knobs()}
    name = texts.get("arrangement")
    if name in ARRANGEMENTS:
        net = texts.get("net", "mlp")
        return values | arranged_fields(name, {"net": net} if net in NETS else {})
    if name is not None:
        notes.append(f"there is no arrangement {sanitize(name)}: ignored")
    return values


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return overrides_text.to_text(value)
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)


def _parsed(key: str, text: str, kinds: tuple[type, ...], knob: Knob, fallback: Any) -> tuple[Any, str]:
    """The value of a text, or the fallback; and a note if it is not what the text says, else an empty one."""
    try:
        value = parse_setting(text, kinds, knob)
    except ValueError:
        legal = knob.legal_values() if kinds != (bool,) else "true or false"
        return fallback, f"{key} {sanitize(text)} is not {legal}: {_text(fallback)} instead"
    return value, f"{key} {sanitize(text)} became {value:g}" if _moved(text, value, knob) else ""


def _moved(text: str, value: object, knob: Knob) -> bool:
    """Whether a number within bounds is not the one that its text says."""
    number = knob.choices is None and isinstance(value, int | float) and not isinstance(value, bool)
    return number and float(text[:40]) != value


def _repair(values: dict[str, Any], notes: list[str]) -> None:
    """Resolves every clash by the repair of its rule, with a note for each."""
    for sentence, change in repairs(values):
        values.update(change)
        notes.append(sentence + "; " + ", ".join(f"{field} became {_text(value)}" for field, value in change.items()))
    values["overrides"] = tuple(o for o in values["overrides"] if o[0] <= values["depth"])
