"""Tables, examples and bad values in the addresses of labs and maps; `tests/spec/test_settings.py` has every control."""

import json
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.labs.prompts import END_CHARACTERS
from components.maps.specification import FIRST
from components.shell.compare_link import from_query
from components.shell.related import labs_of, lessons_of
from exhibits.labs.gradients.chain.numbers import PRESETS
from exhibits.labs.normalization.table.numbers import TABLES
from models.claims.claims import CLAIMS
from models.insight.gaussian import ACTIVATIONS
from models.labs.attention_examples import PROJECTIONS, ROWS
from models.labs.labs import LABS
from models.labs.normalization import METHODS
from models.labs.residual import WALKABLE_PLACEMENTS, WORKED_EXAMPLES
from models.lessons.lessons import LESSONS
from models.spec import ARRANGEMENTS
from models.spec.pairings import PAIRINGS, RESIDUALS
from models.spec.query import slug
from tests.app_page import address, back, by_link, charts, repeated, sound, walk, words
from tests.labs_page import lab

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

GLOSSARY = "glossary.py"
Set = list[tuple[str, str, Any]]  # kind of the widget, its key and the value it gets; a table gets what is pasted


def linked(name: str, **query: str) -> AppTest:
    """The page of that name as a new visitor finds it who comes by a link."""
    return by_link(f"{name}.py", **query)


def put(page: AppTest, controls: Set) -> AppTest:
    """The page after some controls were moved at once."""
    for kind, key, value in controls:
        if kind == "table":
            page.text_area(key=f"{key}_paste").set_value(value)
            page.button(key=f"{key}_use").click()
        else:
            getattr(page, kind)(key=key).set_value(value)
    return sound(page.run())


def seen(page: AppTest) -> tuple[Any, ...]:
    """Everything a visitor reads on the page: sentences, formulas, figures, code and tables."""
    tables = [(list(one.value.columns), np.asarray(one.value).tolist()) for one in page.dataframe]
    return words(page), [one.value for one in page.latex], charts(page), [one.value for one in page.code], str(tables)


@pytest.mark.parametrize("name", [*TABLES])
def test_a_links_example_brings_table_and_settings(name: str) -> None:
    page = linked("normalization", example=slug(name))
    np.testing.assert_array_equal(page.session_state["normalization_good"], TABLES[name].values)
    assert page.selectbox(key="normalization_method").value == TABLES[name].method
    other = next(method for method in METHODS if method != TABLES[name].method)
    page = linked("normalization", example=slug(name), method=slug(other), table="1,2;3,5")
    assert page.session_state["normalization_good"].tolist() == [[1, 2], [3, 5]]
    assert page.selectbox(key="normalization_method").value == other
    assert address(page)["example" if name != "three tokens, layer norm" else "method"]


def test_an_example_alone_is_its_whole_address() -> None:
    for page_name, key, examples in (
        ("normalization", "normalization_preset", TABLES),
        ("attention", "attention_head_preset", PROJECTIONS),
        ("residual", "residual_preset", WORKED_EXAMPLES),
    ):
        page = lab(page_name)
        for name in list(examples)[-2:]:
            page = put(page, [("selectbox", key, name)])
            assert address(page) == {"example": slug(name)}
        assert seen(linked(page_name, **address(page))) == seen(page)


def test_a_browser_that_repeats_old_controls_keeps_the_example() -> None:
    page = repeated(lab("normalization"), "selectbox", "normalization_preset", "four numbers")
    assert address(page) == {"example": "four-numbers"}
    assert page.selectbox(key="normalization_method").value == TABLES["four numbers"].method


def test_back_finds_the_example_of_before_with_its_table_and_its_method() -> None:
    page = put(lab("normalization"), [("selectbox", "normalization_preset", "two tokens")])
    first, shown = address(page), seen(page)
    page = put(page, [("selectbox", "normalization_preset", "four numbers")])
    assert address(page).keys() == first.keys()
    assert seen(back(page, **first)) == shown
    page = put(page, [("selectbox", "normalization_preset", "four numbers")])
    page = put(page, [("table", "normalization", "1 2\n3 5"), ("selectbox", "normalization_method", "min-max")])
    second, later = address(page), seen(page)
    assert seen(back(page, **first)) == shown
    assert seen(back(page, **second)) == later
    assert seen(back(page, **second | {"example": "two-tokens"})) != later


def test_a_table_too_large_for_a_link_stays_for_the_visit_and_the_page_says_so() -> None:
    page = put(lab("normalization"), [("table", "normalization", "\n".join(["1.123456 2.123456 3.123456"] * 60))])
    assert "This table is too large for a link." in words(page)
    assert "table" not in address(page)
    before = seen(page)
    assert seen(walk(walk(page, GLOSSARY), "normalization.py")) == before
    page = put(page, [("table", "normalization", "1 2\n3 5")])
    assert "too large" not in words(page)
    assert address(page)["table"] == "1,2;3,5"


def test_choices_that_a_smaller_table_does_not_have_are_given_up_without_a_refusal() -> None:
    page = linked("normalization", example="six-tokens-and-two-pads", token="7", padding="1,7")
    page = put(page, [("table", "normalization", "1 2\n3 5")])
    assert "There is no" not in words(page)
    assert address(page)["padding"] == "1"
    assert page.selectbox(key="normalization_row").value == 0


def test_a_cell_that_another_map_does_not_have_is_given_up_without_a_refusal() -> None:
    page = linked("maps", map="your-own", cell="pre-norm-0.1-32")
    assert page.selectbox(key="map_cell_y").value == 32
    page = put(page, [("text_input", "map_y_values", "4, 8")])
    assert "There is no" not in words(page)
    assert page.selectbox(key="map_cell_y").value == 4
    assert "cell" not in address(page)


# What a link says wrongly, sentences that the page then has, and what its address says afterwards.
BAD: dict[str, tuple[dict[str, str], list[str], dict[str, str]]] = {
    "normalization": (
        {
            "example": "x",
            "method": "<b>",
            "gain": "nan",
            "bias": "1e9",
            "eps": "2",
            "part": "x",
            "token": "9",
            "table": "1,o;3,4",
        },
        [
            "The table table from the link was not used. 'o' is not a number.",
            "There is no method with that name: b.",
            " 1e9 is out of range (-100 to 100): 100 instead",
        ],
        {"bias": "100"},
    ),
    "attention": (
        {"x": "1,2;3", "wq": "1,1e99", "wk": "", "wv": "1," * 900, "padding": "0,9", "d_model": "1"},
        [
            "here they have 1 to 2 cells",
            "up to 1,000,000,000",
            "The table wk",
            "1,800 characters; a link holds at most 1,500",
            "There is no padding with that name",
        ],
        {"d_model": "1"},
    ),
    "gradients": (
        {
            "mode": "factors-of-my-own",
            "factors": "1",
            "z": "inf",
            "seeds": "3",
            "activations": "relu,x",
            "depth": "0",
            "lr": "",
        },
        [
            "two columns or more",
            "z inf is out of range",
            "no activations with that name",
            "Depth of the net 0 is out of range (1 to 100): 1 instead",
        ],
        {"mode": "factors-of-my-own", "depth": "1"},
    ),
    "residual": (
        {"table": ";,;", "skip": "abc", "repeats": "1e30", "placement": "", "net": "x", "dlcl": "2", "depth": "2.9"},
        [
            "It contains no numbers.",
            " 1e30 is out of range (1 to 4): 4 instead",
            "abc is not a number from",
            "2.9 is not a whole number: 3 instead",
        ],
        {"repeats": "4", "dlcl": "1", "depth": "3"},
    ),
    "autoregression": (
        {"task": "digits", "depth-book": "1", "steps-book": "50", "temperature": "-1", "end-book": "ab", "place": "99"},
        [
            "There is no task with that name: digits",
            "Temperature -1 is out of range (0 to 5): 0 instead",
            "no place with that name: 99",
        ],
        {"depth-book": "1", "steps-book": "50"},
    ),
    "maps": (
        {"map": "your-own", "spec": "{}", "cell": "plain-1-1"},
        ["The link's map could not be used. This specification has version None", "no cell with that name"],
        {"map": "your-own"},
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_gets_its_sentence_for_as_long_as_what_was_taken_instead_stands(name: str) -> None:
    query, sentences, after = BAD[name]
    page = linked(name, **query)
    assert address(page) == after
    for said in (words(page), words(sound(page.run()))):
        assert [sentence for sentence in sentences if sentence not in said] == []
    assert not linked(name, **after).exception
    if name == "residual":
        assert "4 instead" not in words(put(page, [("slider", "residual_variants_repeats", 3)]))


@pytest.mark.parametrize(
    "base", [{"net": "foo"}, {"clip": "abc"}, {"width": 10**9}, {"steps": 2.5}, {"task": "![](https://x.org/a.png)"}]
)
def test_a_map_whose_base_is_not_legal_gets_a_sentence_in_which_nothing_is_markdown(base: dict[str, Any]) -> None:
    spec = json.loads(FIRST.to_json()) | {"base": base, "y": {"field": "init_gain", "values": [1.0]}}
    page = linked("maps", map="your-own", spec=json.dumps(spec))
    assert f"could not be used. {next(iter(base)).capitalize()} " in words(page)
    assert "![" not in words(page).replace("\\[", "")
    assert address(page) == {"map": "your-own"}


@pytest.mark.parametrize(
    "options",
    [
        TABLES,
        METHODS,
        PROJECTIONS,
        ROWS,
        WORKED_EXAMPLES,
        WALKABLE_PLACEMENTS,
        PRESETS,
        ACTIVATIONS,
        ARRANGEMENTS,
        END_CHARACTERS,
    ],
)
def test_no_two_options_of_a_control_are_one_in_the_address(options: Any) -> None:
    assert len({slug(one) for one in options}) == len(options)


@pytest.mark.parametrize("name", LABS)
def test_labs_lead_to_lessons_and_claims_and_back(name: str) -> None:
    assert LABS[name].topics
    assert set(LABS[name].topics) <= {claim.topic for claim in CLAIMS.values()}
    shown = {one.proto.label for one in walk(by_link("claims.py"), f"{name}.py").get("page_link")}
    lessons = [f"Lesson {at}: {lesson.title}" for at, lesson in enumerate(LESSONS.values(), 1) if name in lesson.see]
    assert {*lessons, *(f"Common claims: {topic}" for topic in LABS[name].topics)} <= shown
    claim = next(one for one in CLAIMS.values() if one.topic == LABS[name].topics[0])
    back_again = f"Try it by hand: {LABS[name].title}"
    assert back_again in {one.proto.label for one in by_link("claims.py", claim=claim.key).get("page_link")}
    for lesson in lessons_of(name):
        assert back_again in {one.proto.label for one in by_link("lessons.py", lesson=lesson.key).get("page_link")}


@pytest.mark.parametrize(("page", "query"), [("residual.py", {}), ("labs.py", {"box": "residual"})])
def test_labs_lead_to_five_residuals(page: str, query: dict[str, str]) -> None:
    links = [one.proto for one in by_link(page, **query).get("page_link")]
    (compared,) = [link.query_string for link in links if link.label == f"Compare: {RESIDUALS}"]
    assert from_query(dict(parse_qsl(compared)))[0] == list(PAIRINGS[RESIDUALS].make())


def test_every_claim_and_lesson_leads_to_a_lab() -> None:
    for experiment in (*CLAIMS.values(), *LESSONS.values()):
        assert labs_of(experiment)
        assert {*labs_of(experiment)} <= {*LABS}
