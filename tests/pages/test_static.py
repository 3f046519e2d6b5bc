"""The static edition: its controls, presets and links are the app's, and its nets are drawn as the app draws them."""

import base64
import gzip
import json
import re
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
from models.service.recorded import RECORDED_CONFIGS, recorded_log
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.schema import browser_refusal, schema
from pages.static import CONTROLS, FOLDER, HERE, links, pages
from tests.drawn import NODE
from tests.spec.test_query import keys, numbers, words
from tests.strategies import configs

MAX_BYTES = 1.3e6
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
    {"residual": "constructor", "affine": "__proto__", "__proto__": "1", "arrangement": "toString", "constructor": "2"},
    {"batch": "1", "norm": "batch norm", "overrides": "1.norm.none"},
    {"batch": "1", "overrides": "1-3.norm.batch norm"},
    {"arrangement": "Mix-LN", "depth": "9"},
    {"arrangement": "what is that.", "hide": "depth", "view": "projector"},
    {"depth": "8", "overrides": "2-8.norm.rms norm,3.identity.true"},
    {f"x{number}": "1" for number in range(300)} | {"depth": "3", "arrangement": "what"},
    {"arrangement": "what"} | {f"x{number}": "1" for number in range(300)},
    {"overrides": "1.norm.none," * 2000, "x" * 50_000: "1", "norm": "-" * 50_000},
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


def is_taken(cfg: RunConfig) -> bool:
    """Whether the edition trains a net."""
    return cfg.net in HERE["net"] and cfg.task in HERE["task"] and not browser_refusal(cfg)


def same(answer: list[Any], link: dict[str, str]) -> None:
    """The settings and notes of a link are the app's, as far as a browser trains the net at all.

    That exceptions of single blocks are ignored is said in the engine's words.
    """
    cfg, notes = RunConfig.from_query(link)
    if not is_taken(cfg):
        return
    read, told = answer
    assert RunConfig.from_query(read) == (cfg, [])
    assert [note for note in told if "verrides" not in note] == [note for note in notes if "verrides" not in note]
    assert len(told) == len(notes)


@pytest.mark.parametrize("index", range(len(WRONG)))
def test_a_wrong_link_is_mended_as_in_the_app(index: int) -> None:
    link = WRONG[index]
    assert is_taken(RunConfig.from_query(link)[0])
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
    taken = [cfg for cfg in some if is_taken(cfg)]
    answers = asked(*(("blocks", cfg.to_query()) for cfg in taken))
    assert answers == [stack_blocks(cfg) for cfg in taken]


@pytest.mark.parametrize(
    "link",
    [
        {"a": "depth=3", "b": "depth=400&residual=false"},
        {"b": "depth=3"},
        {"a": "lr=what", "b": "x=1", "seeds": "1"},
        {"a": "&".join(f"x{number}=1" for number in range(70)), "b": f"norm={'x' * 5000}&depth=3"},
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


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """The pages, with the logs that the app has of their nets before training."""
    return pages([log for cfg in RECORDED_CONFIGS if (log := recorded_log(cfg)) is not None], "https://app.example")


def data_of(html: str) -> dict[str, Any]:
    """What a page's script is given."""
    compressed = re.findall(r'<script type="application/gzip">([^<]*)<', html)
    return dict(json.loads(gzip.decompress(base64.b64decode(compressed[0])))[0])


def test_every_control_is_made_of_the_apps_knob(written: dict[str, str]) -> None:
    made = {one["name"]: one for one in data_of(written["playground"])["controls"]}
    assert list(made) == list(CONTROLS)
    for name, one in made.items():
        types, knob = knobs()[name]
        assert (one["label"], one["help"], one["low"], one["high"]) == (knob.label, knob.help, knob.low, knob.high)
        assert (one["control"], tuple(one["stops"])) == (knob.control, knob.stops)
        assert one["types"] == [kind.__name__ for kind in types]
        if knob.choices is not None:
            assert one["choices"] == [choice for choice in knob.choices if choice in HERE.get(name, knob.choices)]
            assert len(one["choices"]) > 1
    assert data_of(written["compare"])["controls"][1:] == list(made.values())


def test_the_presets_and_the_nets_of_start_are_the_apps(written: dict[str, str]) -> None:
    offered = {name: cfg for name, cfg in PRESETS.items() if is_taken(cfg)}
    assert len(offered) > 3
    for name, cfg in offered.items():
        link = f'<a href="playground.html?{urlencode(cfg.to_query())}">{name}</a>'
        assert link in written["playground"].replace("&amp;", "&")
    assert data_of(written["index"])["nets"] == [urlencode(cell.cfg.to_query()) for cell in CELLS]


def test_a_preset_has_the_words_that_torch_recorded(written: dict[str, str]) -> None:
    told = data_of(written["playground"])["told"]
    for cfg in (cfg for cfg in PRESETS.values() if is_taken(cfg)):
        log = recorded_log(cfg)
        assert log is not None
        sentences = {kind: text for kind, ((_, text),) in log.sentences(0, 1).items()}
        assert told[urlencode(cfg.to_query())] == sentences
        assert sentences["brief"]


def test_a_page_is_small_and_its_policy_strict(written: dict[str, str]) -> None:
    for html in written.values():
        assert len(html.encode()) < MAX_BYTES
        scripts = html.partition("script-src")[2].partition(";")[0]
        assert "unsafe-inline" not in scripts
        assert "default-src 'none'" in html
        assert not re.search(r'\b(src|href)="(https?:)?//', html)
