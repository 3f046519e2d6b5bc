"""Links: every configuration survives the way there and back, and no foreign text does harm."""

import importlib
import math
import re
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from models.export import configuration_from, configuration_json
from models.spec import ARRANGEMENTS, NETS, RunConfig, arrangement_of, knobs, overrides
from models.spec.fields import Fields
from models.spec.overrides import describe_overrides, from_text, mix_ln_overrides, to_text
from models.spec.query import PAGE_KEYS, sanitize, sanitized_error, to_query
from tests.spec.test_spec import CLASHES
from tests.strategies import configs

# --- there and back ---


def test_exceptions_for_blocks_are_put_into_words():
    overrides = ((1, "norm", "none"), (2, "norm", "none"), (3, "residual", False), (4, "identity", True))
    assert describe_overrides(overrides) == "block 4: taken out, blocks 1 to 2: no norm, block 3: no residual"
    assert (
        describe_overrides(((1, "identity", "ffn"), (2, "identity", "ffn")))
        == "blocks 1 to 2: without its feed-forward net"
    )
    assert describe_overrides(mix_ln_overrides(8)) == "blocks 1 to 2: post-norm"
    assert describe_overrides(((1, "placement", "none"),)) == "block 1: no placement"


@given(configs())
def test_a_configuration_survives_a_real_address_bar(cfg):
    """As a browser writes it, and as Streamlit hands it over: lists of values."""
    in_the_bar = parse_qs(urlencode(cfg.to_query()), keep_blank_values=True)
    assert RunConfig.from_query(in_the_bar) == (cfg, [])


def test_the_default_needs_no_words_and_a_link_holds_only_what_differs():
    assert RunConfig().to_query() == {}
    cfg = RunConfig(depth=8, residual=False, lr=1e-4, skip_scale="deepnorm")
    assert cfg.to_query() == {"depth": "8", "residual": "false", "skip_scale": "deepnorm", "lr": "0.0001"}


@given(configs(), st.randoms())
def test_the_order_of_a_link_does_not_matter(cfg, random):
    pairs = list(cfg.to_query().items())
    random.shuffle(pairs)
    assert RunConfig.from_query(dict(pairs))[0] == cfg


# --- arrangements by name ---


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_an_arrangement_can_be_linked_by_its_name(name, net):
    cfg, notes = RunConfig.from_query({"arrangement": name, "net": net, "depth": "7", "seed": "3"})
    assert cfg == RunConfig.arranged(name, net=net, depth=7, seed=3)
    assert arrangement_of(cfg) == name
    assert notes == []


def test_other_keys_win_over_the_arrangement_wherever_they_stand():
    for link in ({"norm": "rms norm", "arrangement": "sandwich"}, {"arrangement": "sandwich", "norm": "rms norm"}):
        cfg, notes = RunConfig.from_query(link)
        assert cfg == RunConfig.arranged("sandwich", norm="rms norm")
        assert notes == []
    own = RunConfig.from_query({"arrangement": "Mix-LN", "overrides": "2.norm.none"})[0]
    assert own.overrides == ((2, "norm", "none"),)


def test_an_unknown_arrangement_is_ignored_with_a_note():
    assert RunConfig.from_query({"arrangement": "nonsense"}) == (
        RunConfig(),
        ["there is no arrangement nonsense: ignored"],
    )


# --- overrides ---


def test_neighbouring_blocks_are_written_as_one_range():
    overrides = (*mix_ln_overrides(32), (9, "identity", True), (20, "placement", "post-norm"))
    assert to_text(overrides) == "9.identity.true,1-8.placement.post-norm,20.placement.post-norm"
    assert from_text("1-3.norm.none,3.norm.rms norm", 4) == (
        (1, "norm", "none"),
        (2, "norm", "none"),
        (3, "norm", "rms norm"),
    )


@pytest.mark.parametrize(
    "text",
    [
        *(
            "5.norm.none",
            "0.norm.none",
            "3-9.norm.none",
            "3-2.norm.none",
            "-3.norm.none",
            "1-2-3.norm.none",
            "x.norm.none",
        ),
        *(
            "1.norm",
            "1.norm.",
            "1..none",
            "1",
            ".",
            "²",
            "1.width.8",
            "1.residual.maybe",
            "1.norm.none.x",
            "99999999.norm.none",
        ),
    ],
)
def test_overrides_that_make_no_sense_are_ignored_with_a_note(text):
    with pytest.raises(ValueError, match="overrides"):
        from_text(text, 4)
    cfg, notes = RunConfig.from_query({"depth": "4", "overrides": text})
    assert cfg == RunConfig(depth=4)
    assert len(notes) == 1
    assert notes[0].endswith("overrides ignored")


def test_no_more_is_expanded_than_a_net_has_blocks_and_keys(monkeypatch):
    expanded = []
    monkeypatch.setattr(overrides, "legal_overrides", lambda found, depth: expanded.append(len(found)) or ())
    every = [f"1-128.{key}.{values[0]}".lower() for key, values in overrides.OVERRIDE_KEYS.items()]
    from_text(",".join(every), 128)
    assert expanded == [overrides.max_overrides(128)]
    with pytest.raises(ValueError, match="more than 640"):
        from_text(",".join(every * 400), 128)
    with pytest.raises(ValueError, match="block 9999"):
        from_text("1-9999.norm.none", 128)
    assert len(expanded) == 1


# --- what comes from outside ---


@pytest.mark.parametrize(
    ("link", "expected", "note"),
    [
        ({"depth": "1000"}, {"depth": 128}, "Depth 1000 is out of range (1 to 128): 128 instead"),
        ({"depth": "-3"}, {"depth": 1}, "Depth -3 is out of range (1 to 128): 1 instead"),
        ({"depth": "8.4"}, {"depth": 8}, "Depth 8.4 is not a whole number: 8 instead"),
        ({"lr": "99"}, {"lr": 10.0}, "Learning rate 99 is out of range (0.000001 to 10): 10 instead"),
        ({"skip_scale": "300"}, {"skip_scale": 256.0}, "Skip weight 300 is out of range (0 to 256, or one of deepnorm"),
        ({"depth": "nan"}, {}, "Depth nan is out of range (1 to 128): 32 instead"),
        ({"lr": "inf"}, {}, "Learning rate inf is out of range (0.000001 to 10): 0.01 instead"),
        ({"seed": "1e999"}, {}, "Seed 1e999 is out of range (0 to 2,147,483,647): 0 instead"),
        ({"residual": "maybe"}, {}, "Residual maybe is not true or false: true instead"),
        ({"norm": "<script>alert(1)</script>"}, {}, "Norm scriptalert1/script is not one of none, layer norm"),
        ({"colour": "red"}, {}, "there is no setting colour: ignored"),
        ({"<img src=x>": "1"}, {}, "there is no setting img src=x: ignored"),
        ({"": ""}, {}, "there is no setting (unreadable): ignored"),
        ({"depth": []}, {}, "Depth (unreadable) is not a number from 1 to 128: 32 instead"),
    ],
)
def test_what_a_link_gets_wrong_is_mended_and_said(link, expected, note):
    cfg, notes = RunConfig.from_query(link)
    assert cfg == RunConfig(**expected)
    assert len(notes) == 1
    assert notes[0].startswith(note)


@pytest.mark.parametrize(("fields", "sentence", "change"), CLASHES)
def test_every_clash_in_a_link_is_mended(fields, sentence, change):
    cfg, (note,) = RunConfig.from_query(to_query(Fields(**fields)))
    assert cfg == RunConfig(**fields | change)
    assert re.sub(r"[^\w ]", "", sentence) in re.sub(r"[^\w ]", "", note)
    assert all(f"; {knobs()[name][1].label.lower()} became " in note.lower() for name in change)


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("On", True), ("1", True), ("FALSE", False), ("no", False), ("0", False)]
)
def test_a_switch_may_be_written_in_several_ways(text, value):
    assert RunConfig.from_query({"residual": text})[0].residual is value


keys = st.sampled_from([*knobs(), "arrangement"]) | st.text(max_size=60)
numbers = st.floats().map(repr) | st.integers().map(str)
words = st.sampled_from(
    [*ARRANGEMENTS, *NETS, "deepnorm", "1-9.norm.batch norm", "1.identity.true,2-3.residual.false", "residual"]
)
values = st.text(max_size=60) | numbers | words | st.lists(st.text(max_size=8), max_size=2)


@settings(max_examples=300)
@given(st.dictionaries(keys, values, max_size=8))
@example({"overrides": "1.norm.batch norm", "batch": "1"})
@example({"net": "transformer", "depth": "128", "arrangement": "Mix-LN", "overrides": "100.norm.none"})
@example({"seed": "9" * 5000, "overrides": "," * 5000, "k" * 5000: "v"})
def test_whatever_a_link_holds_a_legal_configuration_results_and_its_notes_are_harmless(link):
    cfg, notes = RunConfig.from_query(link)
    assert cfg == RunConfig(**vars(cfg))
    assert RunConfig.from_query(cfg.to_query()) == (cfg, [])
    for note in notes:
        assert not set(note) & set('<>[]!`*#|\\\n\r\t&$"{}~'), note
        assert len(note) < 400


@given(st.text())
def test_foreign_text_is_shown_in_plain_characters_and_cut_short(text):
    found = sanitize(text)
    assert len(found) <= 43
    if found != "(unreadable)":
        assert not set(found) & set("<>[]()!`*#|\\\"'&$:;{}")
        assert all(character.isascii() and character.isprintable() for character in found)


@given(configs(), st.sampled_from(list(knobs())), st.text(max_size=30))
def test_one_bad_key_does_not_spoil_the_others(cfg, name, text):
    """The rest of the link stays what it says, unless a clash has to be ended, which a note says."""
    cfg = replace(cfg, overrides=(), net="mlp", stack="single", norm="layer norm", heads=1)
    link = cfg.to_query() | {name: text}
    back, notes = RunConfig.from_query(link)
    others = [other for other in knobs() if other != name]
    changed = [other for other in others if getattr(back, other) != getattr(cfg, other)]
    assert changed == [] or any("became" in note for note in notes)


def test_a_number_keeps_its_last_digit():
    for lr in (0.1 + 0.2, 1 / 3, math.nextafter(1e-6, 1)):
        assert RunConfig.from_query(RunConfig(lr=lr).to_query())[0].lr == lr


# --- refusals ---

REFUSED = [
    *({name: "<b>"} for name in knobs() if name != "overrides"),
    *(
        {name: 1e9}
        for name, (kinds, _) in knobs().items()
        if kinds != (bool,) and str not in kinds and name != "overrides"
    ),
    *(
        {"overrides": (override,)}
        for override in [(99, "norm", "none"), (1, "colour", "red"), (1, "norm", "loud"), (1,)]
    ),
    {"net": "transformer", "depth": 100},
    {"net": "transformer", "heads": 5},
    {"net": "transformer", "position": "rotary", "width": 12, "heads": 4},
    {"norm": "batch norm", "batch": 1, "task": "circles"},
    {"stack": "residual", "residual": False},
    {"stack": "residual", "skip_repeats": 2},
    {"stack": "mHC", "placement": "post-norm"},
]


@pytest.mark.parametrize("fields", REFUSED, ids=str)
def test_a_refusal_keeps_its_separators_and_loses_what_is_foreign(fields):
    with pytest.raises((ValueError, TypeError)) as caught:
        RunConfig(**fields)
    sentence = str(caught.value)
    assert sanitized_error(caught.value, 1000) == sentence.replace("<", "").replace(">", "")


def test_an_exception_for_a_missing_block_is_explained():
    assert RunConfig.from_query({"depth": "8", "overrides": "12.norm.none"})[1] == [
        "overrides names block 12; legal is 1 to 8: overrides ignored"
    ]
    pasted = configuration_json(RunConfig(depth=8)).replace('"depth": 8', '"depth": 999')
    with pytest.raises(ValueError, match=r"Depth 999 is out of range \(1 to 128\)"):
        configuration_from(pasted)


# --- keys of other parts of a page ---


def keys_in_addresses() -> set[str]:
    """Every key that a component reads from a page's address by its name, or keeps there beside a configuration."""
    components = Path(__file__).parents[2] / "components"
    found = set()
    for path in components.rglob("*.py"):
        module = ".".join(path.relative_to(components.parent).with_suffix("").parts)
        text = path.read_text(encoding="utf-8")
        for key in re.findall(r"\bst\.query_params\.get\(([A-Z][\w.]+|[a-z_]+\.[A-Z]+|\"\w+\")", text):
            found.add(key.strip('"') if key.startswith('"') else attrgetter(key)(importlib.import_module(module)))
    return found


def test_no_pages_key_is_a_setting():
    assert {"digest", "hide", "view", "class"} <= keys_in_addresses() <= PAGE_KEYS


def test_keys_of_other_parts_are_passed_over_in_silence_and_no_setting_is_among_them():
    assert RunConfig.from_query(dict.fromkeys(PAGE_KEYS, "1") | {"depth": "7"}) == (RunConfig(depth=7), [])
    assert not PAGE_KEYS & {*knobs(), "arrangement"}
