"""The static edition: its controls, presets and links are the app's, and its nets are drawn as the app draws them."""

import json
import subprocess
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.player.panels import stack_blocks
from components.playground.presets import PRESETS
from components.shell import compare_link
from components.start.cells import CELLS
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.schema import TAKEN, browser_refusal, schema
from pages.static import CONTROLS, FOLDER, control, links, pages
from tests.drawn import NODE
from tests.spec.test_query import keys, numbers, words
from tests.strategies import configs

ASKED = """
import { columnsOf, linkOf, settingsOf } from "FOLDER/address.js"
import { blocksOf } from "FOLDER/nets.js"
import { configOf } from "FOLDER/../../addnorm/engine/config.js"
import { readFileSync } from "node:fs"
const { schema, links, asked } = JSON.parse(readFileSync(0))
const answer = {
  net: ({ link }) => {
    const { settings, notes } = settingsOf(link, schema, links)
    return [linkOf(settings, links), notes]
  },
  columns: ({ link }) => {
    const { columns, notes } = columnsOf(link, schema, links)
    return [columns.map((settings) => linkOf(settings, links)), notes]
  },
  blocks: ({ link }) => blocksOf(configOf(link, schema), schema),
}
console.log(JSON.stringify(asked.map(({ what, link }) => answer[what]({ link }))))
"""
WRONG = [
    {"depth": "999", "lr": "24", "width": "2.5", "batch": "1,000", "steps": "many", "seed": "inf", "eps": "1e-30"},
    {"residual": "perhaps", "norm": "Layer-Norm", "task": "SPIRAL", "activation": "gelu!", "init": "nothing", "x": "1"},
    {
        "residual": "OFF",
        "skip_scale": "1/sqrt(2)",
        "branch_scale": "-3",
        "warmup": "0.5",
        "clip": "1.5",
        "depth": "3.5",
    },
    {"batch": "1", "norm": "batch norm", "overrides": "1.norm.none"},
    {"batch": "1", "overrides": "1-3.norm.batch norm"},
    {"arrangement": "Mix-LN", "depth": "9"},
    {"arrangement": "what is that.", "hide": "depth", "view": "projector"},
    {"depth": "8", "overrides": "2-8.norm.rms norm,3.identity.true"},
]


def asked(*questions: tuple[str, dict[str, str]]) -> list[Any]:
    """What the edition's modules answer in Node."""
    if NODE is None:
        pytest.skip("no node on this machine")
    given = {"schema": schema(), "links": links(), "asked": [{"what": what, "link": link} for what, link in questions]}
    script = ASKED.replace("FOLDER", FOLDER.as_uri())
    node = subprocess.run(
        [NODE, "--input-type=module", "-e", script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert node.returncode == 0, node.stderr
    return list(json.loads(node.stdout))


def same(answer: list[Any], link: dict[str, str]) -> None:
    """The settings and notes of a link are the app's, as far as a browser trains the net at all.

    That exceptions of single blocks are ignored is said in the engine's words.
    """
    cfg, notes = RunConfig.from_query(link)
    if browser_refusal(cfg):
        return
    read, told = answer
    assert RunConfig.from_query(read) == (cfg, [])
    assert [note for note in told if "verrides" not in note] == [note for note in notes if "verrides" not in note]
    assert len(told) == len(notes)


@pytest.mark.parametrize("index", range(len(WRONG)))
def test_a_wrong_link_is_mended_as_in_the_app(index: int) -> None:
    link = WRONG[index]
    assert not browser_refusal(RunConfig.from_query(link)[0])
    same(asked(("net", link))[0], link)


def test_an_arrangement_is_the_apps() -> None:
    named = [{"arrangement": name, "depth": "12", "lr": "0.5"} for name in ARRANGEMENTS]
    for answer, link in zip(asked(*(("net", link) for link in named)), named, strict=True):
        same(answer, link)


# Without other scripts' digits and what only an escape shows, which Python reads and quotes in its own way.
LETTERS = st.text(st.characters(max_codepoint=0x24F).filter(str.isprintable), max_size=60)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.dictionaries(keys, LETTERS | numbers | words, max_size=5), min_size=8, max_size=8))
def test_whatever_a_link_holds_the_app_reads_the_same(some: list[dict[str, str]]) -> None:
    for answer, link in zip(asked(*(("net", link) for link in some)), some, strict=True):
        same(answer, link)


@settings(max_examples=3, deadline=None)
@given(st.lists(configs(net="mlp", task="digits", stack="single"), min_size=20, max_size=20))
def test_a_net_is_drawn_as_in_the_app(some: list[RunConfig]) -> None:
    taken = [cfg for cfg in some if not browser_refusal(cfg)]
    answers = asked(*(("blocks", cfg.to_query()) for cfg in taken))
    assert answers == [stack_blocks(cfg) for cfg in taken]


@pytest.mark.parametrize(
    "link",
    [
        {"a": "depth=3", "b": "depth=400&residual=false"},
        {"b": "depth=3"},
        {"a": "lr=what", "b": "x=1", "seeds": "1"},
    ],
)
def test_the_columns_of_a_link_are_the_apps(link: dict[str, str]) -> None:
    columns, _, notes = compare_link.from_query(link)
    assert asked(("columns", link)) == [[[cfg.to_query() for cfg in columns], notes]]


def test_more_than_a_comparison_has_here_is_said() -> None:
    for more in ({"c": ""}, {"seeds": "5"}):
        ((columns, notes),) = asked(("columns", {"a": "depth=3", "b": "depth=3"} | more))
        assert columns == [{"depth": "3"}] * 2
        assert "two columns and one seed" in notes[0]


@pytest.mark.parametrize(
    "text", ["9.norm.none", "0.norm.none", "3-2.norm.none", "1.what.none", "1.norm.what", "1", "1.identity.attn"]
)
def test_exceptions_that_make_no_sense_are_ignored(text: str) -> None:
    ((read, notes),) = asked(("net", {"depth": "8", "overrides": text}))
    assert read == {"depth": "8"}
    assert notes[0].endswith(": overrides ignored")


def test_every_control_is_made_of_the_apps_knob() -> None:
    for name in CONTROLS:
        types, knob = knobs()[name]
        one = control(name, types, knob)
        assert (one["label"], one["help"], one["low"], one["high"]) == (knob.label, knob.help, knob.low, knob.high)
        assert one["types"] == [kind.__name__ for kind in types]
        assert tuple(one["stops"]) == knob.stops
        if knob.choices is not None:
            taken = TAKEN.get(name, tuple(knob.choices))
            assert one["choices"] == [choice for choice in knob.choices if choice in taken]
            assert len(one["choices"]) > 1


def test_the_presets_and_the_nets_of_start_are_the_apps() -> None:
    html = pages([])
    offered = {name: cfg for name, cfg in PRESETS.items() if not browser_refusal(cfg)}
    assert len(offered) > 3
    for name, cfg in offered.items():
        assert f'<a href="playground.html?{urlencode(cfg.to_query())}">{name}</a>' in html["playground"].replace(
            "&amp;", "&"
        )
    assert {cell.cfg for cell in CELLS} == set(offered.values())
