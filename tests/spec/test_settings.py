"""The settings of every form, drawn at random: what an address says of them is read as it was meant, or not at all."""

import importlib
import pkgutil
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import components
from models import spec
from models.exhibits import listed, part
from models.spec import RunConfig
from models.spec.fields import Fields
from models.spec.knob import HELP, VOCABULARY, Knob, knobs_of
from models.spec.query import PAGE_KEYS, link_text, parse_setting, setting_from_link
from models.spec.settings import Settings
from tests.strategies import legal

for found in pkgutil.walk_packages(components.__path__, "components."):
    importlib.import_module(found.name)
for kind in ("instruments", "labs"):
    for exhibit in listed(kind, "page"):
        part(kind, exhibit, "page")

FORMS = {f"{form.__module__}.{form.__name__}": form for form in Settings.__subclasses__()}
FIELDS = [(form, name) for form, kind in FORMS.items() for name in kind.knobs()]
PLACES, WORDS = dict.fromkeys(range(9)), dict.fromkeys(["one", "One √two", "head 3", "a-b.c"])


def field(form: str, name: str) -> tuple[tuple[type, ...], Knob]:
    """The types and the knob of a setting; choices that a page computes are some that it may compute."""
    kinds, knob = FORMS[form].knobs()[name]
    return kinds, replace(knob, choices=PLACES if int in kinds else WORDS) if knob.choices == {} else knob


def test_every_form_has_legal_defaults_bounds_and_names_of_its_own_in_the_address() -> None:
    assert len(FORMS) > 40
    for form, kind in FORMS.items():
        links = [knob.link or name for name, (_, knob) in kind.knobs().items()]
        assert len(set(links)) == len(links), form
        for name, (kinds, knob) in kind.knobs().items():
            default = getattr(kind(), name)
            assert default is None or isinstance(default, (tuple, *kinds)), (form, name)
            if knob.choices is None and kinds != (bool,):
                assert knob.low < knob.high, (form, name)
            if knob.choices != {} and kinds != (bool,):
                assert default is None or knob.is_legal(default), (form, name)


@pytest.mark.parametrize("lab", ["attention", "autoregression", "gradients", "normalization", "residual"])
def test_no_two_settings_of_a_lab_have_the_same_name_in_its_address(lab: str) -> None:
    links = [
        knob.link or name
        for form, kind in FORMS.items()
        if form.startswith((f"components.labs.{lab}.", f"exhibits.labs.{lab}."))
        for name, (_, knob) in kind.knobs().items()
    ]
    assert sorted(set(links)) == sorted(links)


def test_every_help_is_that_of_a_field_and_every_run_s_field_has_one() -> None:
    forms = {kind.__name__: set(kind.knobs()) for kind in FORMS.values()} | {"Fields": set(knobs_of(Fields))}
    assert {name: set(said) - forms[name] for name, said in HELP.items() if set(said) - forms[name]} == {}
    assert set(HELP["Fields"]) == forms["Fields"]
    registries = {
        table: {entry.place for entry in getattr(spec, table.upper()).values()} for table in {*VOCABULARY} - {"used_by"}
    }
    assert registries == {table: {(table, key) for key in VOCABULARY[table]} for table in registries}
    assert set(VOCABULARY["used_by"]) == set(spec.ARRANGEMENTS)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=5)
@given(data=st.data())
def test_a_setting_comes_back_from_its_address(form: str, data: st.DataObject) -> None:
    for name in FORMS[form].knobs():
        kinds, knob = field(form, name)
        value = data.draw(legal(kinds, knob), label=name)
        assert setting_from_link(name, link_text(value, knob), kinds, knob, None) == (value, "")


@settings(max_examples=300)
@given(place=st.sampled_from(FIELDS), data=st.data())
def test_whatever_an_address_says_a_setting_is_legal_and_the_note_is_harmless(
    place: tuple[str, str], data: st.DataObject
) -> None:
    form, name = place
    kinds, knob = field(form, name)
    numbers = st.floats().map(repr) | st.integers().map(str) | st.sampled_from(["", "nan", "inf", "1e999", "-0", "0x1"])
    text = data.draw(st.text() | numbers | st.text("<>[]()!*_`$:#|~&;,.\n\x00", min_size=1))
    default = getattr(FORMS[form](), name)
    value, note = setting_from_link(name, text, kinds, knob, default)
    assert not set("<>[]!*`$#|~&\n\x00") & set(note.replace(knob.label, ""))
    assert value == default if "There is no" in note else kinds == (bool,) or knob.is_legal(value)
    if not note and isinstance(value, float):
        assert value == float(text)


@pytest.mark.parametrize(
    ("text", "kind", "knob", "value"),
    [
        ("Layer Norm", str, Knob("", choices=dict.fromkeys(["layer norm", "x"])), "layer norm"),
        ("layer-norm", str, Knob("", choices=dict.fromkeys(["layer norm", "x"])), "layer norm"),
        ("b,a", str, Knob("", choices=dict.fromkeys("ab"), multiple=True), ("b", "a")),
        ("", str, Knob("", choices=dict.fromkeys("ab"), multiple=True), ()),
        ("3", int, Knob("", choices=dict.fromkeys([1, 2, 3])), 3),
        ("true", bool, Knob(""), True),
        ("9", int, Knob("", low=1, high=5), 5),
        ("2.9", int, Knob("", low=1, high=5), 3),
        ("0.25", float, Knob("", low=0, high=2), 0.25),
        ("a\x00bc", str, Knob("", high=2), "ab"),
        ("A b", str, Knob("", choices=dict.fromkeys(["A b", "a-b"]), exact=True), "A b"),
    ],
)
def test_a_value_is_read_as_it_is_written(text: str, kind: type, knob: Knob, value: Any) -> None:
    found = parse_setting(text, (kind,), knob)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"), [("nan", float), ("1e999", int), ("x", int), ("maybe", bool), ("", float), ("inf", float)]
)
def test_what_is_no_value_is_refused(text: str, kind: type) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_setting(text, (kind,), Knob("", low=0, high=1))


def test_a_run_and_a_form_read_a_choice_and_a_number_alike() -> None:
    read_by_run, notes = RunConfig.from_query({"norm": "rms-norm", "depth": "2.9", "width": "9999"})
    assert (read_by_run.norm, read_by_run.depth, read_by_run.width) == ("rms norm", 3, 512)
    assert notes == [
        "Depth 2.9 is not a whole number: 3 instead",
        "Width 9999 is out of range (1 to 512): 512 instead",
    ]
    for name in ("norm", "depth", "width"):
        kinds, knob = knobs_of(Fields)[name]
        text = {"norm": "rms-norm", "depth": "2.9", "width": "9999"}[name]
        assert parse_setting(text, kinds, knob) == getattr(read_by_run, name)


def test_no_forms_name_is_a_setting() -> None:
    beside = ("components.playground", "components.anatomy", "components.instruments")
    names = {
        knob.link or name
        for form, kind in FORMS.items()
        if form.startswith(beside)
        for name, (_, knob) in kind.knobs().items()
    }
    assert {"instrument", "panel", "block"} <= names <= PAGE_KEYS
