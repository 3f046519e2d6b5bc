"""Links: the fields of a run or a form as text and back. Any text gives legal values."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from models.spec import overrides as overrides_text
from models.spec.arrangements import ARRANGEMENTS, arranged_fields
from models.spec.fields import Fields, knobs
from models.spec.knob import Knob, plain
from models.spec.rules import repairs
from models.spec.vocabulary import NETS

BOOLEANS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}
# The rest of a longer link is ignored.
MAX_LINK_KEYS = 200
MAX_VALUE_CHARS = 20_000
MAX_NUMBER_CHARS = 40
JOINER = "\u2060"  # invisible; no line breaks there
# Keys of other parts of a page: they stay in the address and are not settings of a run. Older links have `lang`.
PAGE_KEYS = frozenset({
    "block", "change", "class", "digest", "hide", "homework", "instrument", "key", "lang", "lesson", "map",
    "notes", "panel", "part", "plan", "q", "recording", "scene", "setting", "spec", "view", "word",
})  # fmt: skip
PLAIN_CHARS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .+-/_=")


def to_query(cfg: Fields) -> dict[str, str]:
    """The fields that differ from the defaults as text, in field order."""
    return {name: _text(getattr(cfg, name)) for name in knobs() if getattr(cfg, name) != getattr(Fields, name)}


def legal_fields(mapping: Mapping[str, str | Iterable[str]]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a legal configuration from a link, and notes on what was changed or ignored.

    The key `arrangement` sets its fields first. PAGE_KEYS are ignored without a note.
    """
    texts = {}
    for key, value in list(mapping.items())[:MAX_LINK_KEYS]:
        texts[key] = (value if isinstance(value, str) else next(iter(value), ""))[:MAX_VALUE_CHARS]
    notes = []
    if len(mapping) > MAX_LINK_KEYS:
        notes.append(f"{len(mapping) - MAX_LINK_KEYS} settings after the first {MAX_LINK_KEYS}: ignored")
    values = _arrangement_values(texts, notes)
    for key, text in texts.items():
        if key in {"overrides", "arrangement"} | PAGE_KEYS:
            continue
        if key not in knobs():
            notes.append(f"there is no setting {sanitize(key)}: ignored")
            continue
        types, knob = knobs()[key]
        values[key], note = _parse_field(text, types, knob, values[key])
        if note:
            notes.append(note)
    _repair(values, notes)
    arrangement = ARRANGEMENTS.get(texts.get("arrangement", ""))
    if arrangement is not None and arrangement.mixed:
        values["overrides"] = overrides_text.mix_ln_overrides(values["depth"])
    if "overrides" in texts:
        try:
            values["overrides"] = overrides_text.from_text(texts["overrides"], values["depth"])
            _repair(values, notes)  # an override can break a rule too
        except ValueError as error:
            notes.append(f"{sanitized_error(error)}: overrides ignored")
    return values, notes


def parse_setting(text: str, types: tuple[type, ...], knob: Knob) -> Any:
    """The value of a setting's text: one choice or several, a bool, a free text, or the nearest legal number.

    Raises ValueError for any other text.
    """
    if knob.multiple:
        return tuple(_choice(word, knob) for word in text.split(",") if word)
    if knob.choices is not None:
        return _choice(text, knob)
    if types == (bool,):
        if text.lower() not in BOOLEANS:
            raise ValueError(text)
        return BOOLEANS[text.lower()]
    if knob.rules and text in knob.rules:
        return text
    if not {int, float}.intersection(types):
        return "".join(letter for letter in text[:MAX_VALUE_CHARS] if letter.isprintable())[: int(knob.high)]
    number = float(text[:MAX_NUMBER_CHARS])
    if not math.isfinite(number):
        raise ValueError(text)
    return float(knob.clamp(number)) if float in types else int(knob.clamp(round(number)))


Suggestion = Callable[[str], str] | None  # illegal text -> a sentence with the nearest legal one


def setting_from_link(
    name: str, text: str, types: tuple[type, ...], knob: Knob, default: Any, *, suggest: Suggestion = None
) -> tuple[Any, str]:
    """The value of a form's setting in a link, or the default, and a sentence if it is not what the link says."""
    try:
        value = parse_setting(text, types, knob)
    except ValueError:
        if knob.choices is None and types != (bool,):
            return default, f"From the link: {_mended(text, default, knob)}."
        suggestion = suggest(text) if suggest else ""
        return default, f"There is no {name} with that name: {sanitize(text)}.{suggestion}"
    if not _was_clamped(text, value, knob):
        return value, ""
    return value, f"From the link: {_mended(text, value, knob)}."


def link_text(value: Any, knob: Knob) -> str:
    """The value of a form's setting as text in a link."""
    if knob.multiple:
        return ",".join(map(slug, value))
    is_text = isinstance(value, str) and knob.choices is None
    return str(value) if knob.exact or is_text else slug(value)


def slug(option: object) -> str:
    """An option in a link: a number, or lower-case letters and digits with dashes between words."""
    if isinstance(option, int | float) and not isinstance(option, bool):
        return f"{option:.10g}"
    return re.sub(r"[^a-z0-9.]+", "-", str(option).casefold()).strip("-") or str(option)


def _choice(text: str, knob: Knob) -> Any:
    """The choice with that name or slug. Raises ValueError if there is none."""
    choices = knob.choices or {}
    by_name = {str(choice) if knob.exact else slug(choice): choice for choice in choices}
    assert len(by_name) == len(choices), "two options would be one in the address"
    name = text if knob.exact or not text else slug(text)
    if name not in by_name:
        raise ValueError(text)
    return by_name[name]


def sanitize(text: str, limit: int = 40, allowed: Set[str] = PLAIN_CHARS) -> str:
    """Untrusted text for a page: only `allowed` characters, at most `limit` of them, and dots only inside numbers."""
    letters = "".join(letter for letter in text[:MAX_VALUE_CHARS] if letter in allowed)
    plain = re.sub(r"(?<!\d)\.|\.(?!\d)", " ", letters)
    if not plain:
        return "(unreadable)"
    return f"{plain[:limit]}..." if len(plain) > limit else plain


def sanitized_error(error: Exception, limit: int = 200) -> str:
    """The message of a configuration's error, sanitized like `sanitize` except for its punctuation."""
    return sanitize(str(error), limit, PLAIN_CHARS | set(";,()'"))


def escape_markdown(text: str) -> str:
    """Untrusted text as Markdown that shows every character and makes no link, image, formula, icon or colour.

    Streamlit finds addresses and icons after it has resolved escapes, so an invisible joiner breaks them up.
    """
    escaped = re.sub(r"([\\\[\]<>$`*_~#|])", r"\\\1", text)
    return re.sub(r"(:|@|www)", f"\\1{JOINER}", escaped, flags=re.IGNORECASE)


def _arrangement_values(texts: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """The defaults of the arrangement that a link names, or of `Fields`; adds a note on an unknown name."""
    values = {key: getattr(Fields, key) for key in knobs()}
    name = texts.get("arrangement")
    if name in ARRANGEMENTS:
        net = texts.get("net", "mlp")
        return values | arranged_fields(name, {"net": net} if net in NETS else {})
    if name is not None:
        notes.append(f"there is no arrangement {sanitize(name)}: ignored")
    return values


def _text(value: object) -> str:
    """A field's value as text in a link."""
    if isinstance(value, tuple):
        return overrides_text.to_text(value)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def _parse_field(text: str, types: tuple[type, ...], knob: Knob, fallback: Any) -> tuple[Any, str]:
    """The value of a field's text, or the fallback, and a note if it is not what the text says."""
    try:
        value = parse_setting(text, types, knob)
    except ValueError:
        if types == (bool,):
            return fallback, f"{knob.label} {sanitize(text)} is not true or false: {_text(fallback)} instead"
        return fallback, _mended(text, fallback, knob)
    return value, _mended(text, value, knob) if _was_clamped(text, value, knob) else ""


def _mended(text: str, value: object, knob: Knob) -> str:
    """Why the text of a setting is not legal, and what was taken instead."""
    taken = plain(value) if isinstance(value, int | float) else _text(value)
    return f"{knob.refusal(sanitize(text))}: {taken} instead"


def _was_clamped(text: str, value: object, knob: Knob) -> bool:
    """Whether a number differs from its text."""
    is_number = knob.choices is None and isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and float(text[:MAX_NUMBER_CHARS]) != value


def _name(field: str) -> str:
    """The label of a field inside a sentence."""
    label = knobs()[field][1].label
    return label[0].lower() + label[1:]


def _repair(values: dict[str, Any], notes: list[str]) -> None:
    """Applies the repair of every broken rule and adds a note on each."""
    for sentence, change in repairs(values):
        values.update(change)
        changes = ", ".join(f"{_name(field)} became {_text(value)}" for field, value in change.items())
        notes.append(f"{sentence}; {changes}")
    values["overrides"] = tuple(override for override in values["overrides"] if override[0] <= values["depth"])
