"""What a lab or a map of one's own shows stands in its address:
a shared link shows the same, and so does a walk and back.
"""

import json
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.labs.attention import positions as attention_positions
from components.labs.autoregression import text as autoregression_text
from components.maps.specification import FIRST
from models.insight.gaussian import ACTIVATIONS
from models.labs.attention_examples import PROJECTIONS, ROWS
from models.labs.chain import PRESETS
from models.labs.normalization import METHODS
from models.labs.residual import WALKED, WALKS
from models.labs.tables import TABLES
from models.maps import MapSpec
from models.maps.cells import Cell, cells
from models.maps.prepared import PREPARED
from models.spec import ARRANGEMENTS
from models.spec.query import slug
from tests.app_page import address, back, by_link, charts, sound, walk, words
from tests.labs_page import lab

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

GLOSSARY = "pages/learn/glossary.py"
Set = list[tuple[str, str, Any]]  # kind of the widget, its key and the value it gets; a table gets what is pasted

# What is set, a list of controls per run, and what the address then says.
VISITS: dict[str, tuple[str, list[Set], dict[str, str]]] = {
    "an example with a norm over tokens": (
        "normalization",
        [
            [("selectbox", "normalization_preset", "six tokens and two pads")],
            [
                ("number_input", "normalization_gain", 2.5),
                ("number_input", "normalization_bias", -1.0),
                ("select_slider", "normalization_eps", 1.0),
                ("multiselect", "normalization_padding", [2]),
                ("toggle", "normalization_left_out", True),
                ("toggle", "normalization_unbiased", True),
                ("selectbox", "normalization_row", 4),
                ("segmented_control", "normalization_mode", "eval"),
                ("segmented_control", "normalization_part", "What scale costs"),
            ],
            [("select_slider", "normalization_ratio", 10), ("number_input", "normalization_shift", 0.5)],
        ],
        {
            "example": "six-tokens-and-two-pads",
            "gain": "2.5",
            "bias": "-1",
            "eps": "1",
            "padding": "2",
            "leave": "true",
            "unbiased": "true",
            "token": "4",
            "mode": "eval",
            "shift": "0.5",
            "part": "what-scale-costs",
            "ratio": "10",
        },
    ),
    "an outlier": (
        "normalization",
        [
            [("segmented_control", "normalization_part", "An outlier")],
            [("selectbox", "normalization_outlier_feature", 1), ("number_input", "normalization_outlier_far", 30.0)],
        ],
        {"part": "an-outlier", "feature": "1", "far": "30"},
    ),
    "saturation": (
        "normalization",
        [
            [("segmented_control", "normalization_part", "tanh and sigmoid")],
            [("number_input", "normalization_times", 30.0)],
        ],
        {"part": "tanh-and-sigmoid", "times": "30"},
    ),
    "a recurrent net": (
        "normalization",
        [
            [("segmented_control", "normalization_part", "A recurrent net")],
            [("slider", "normalization_rnn_count", 3), ("number_input", "normalization_rnn_seed", 7)],
        ],
        {"part": "a-recurrent-net", "batch": "3", "seed": "7"},
    ),
    "overfitting": (
        "normalization",
        [
            [("segmented_control", "normalization_part", "Overfitting and landscape")],
            [
                ("select_slider", "normalization_few_samples", 50),
                ("number_input", "normalization_few_lr", 0.02),
                ("toggle", "normalization_few_level", False),
            ],
        ],
        {"part": "overfitting-and-landscape", "digits": "50", "rate": "0.02", "level": "false"},
    ),
    "an example with another method and a table": (
        "normalization",
        [
            [("selectbox", "normalization_preset", "salary and bonus")],
            [
                ("selectbox", "normalization_method", "group norm"),
                ("table", "normalization", "1 2 3 4\n-5 6 7.125 1e-7"),
            ],
            [("selectbox", "normalization_groups", 2)],
        ],
        {"example": "salary-and-bonus", "method": "group-norm", "table": "1,2,3,4;-5,6,7.125,1e-07", "groups": "2"},
    ),
    "sequences": (
        "normalization",
        [[("selectbox", "normalization_method", "instance norm")], [("selectbox", "normalization_sequences", 3)]],
        {"method": "instance-norm", "sequences": "3"},
    ),
    "no statistics": (
        "normalization",
        [[("selectbox", "normalization_method", "dynamic tanh")], [("slider", "normalization_alpha", 1.2)]],
        {"method": "dynamic-tanh", "alpha": "1.2"},
    ),
    "one head": (
        "attention",
        [
            [("selectbox", "attention_head_preset", "The same with a causal mask")],
            [("table", "attention_head_x", "1 0 0 0\n0 2 0 0\n1 1 1 1\n0 0 0 0.5")],
            [
                ("table", "attention_head_w_v", "1 0\n0 1\n1 1\n0 0"),
                ("toggle", "attention_head_causal", False),
                ("toggle", "attention_head_scaled", False),
                ("multiselect", "attention_head_pads", [1, 3]),
                ("selectbox", "attention_head_token", 2),
            ],
        ],
        {
            "example": "the-same-with-a-causal-mask",
            "x": "1,0,0,0;0,2,0,0;1,1,1,1;0,0,0,0.5",
            "wv": "1,0;0,1;1,1;0,0",
            "causal": "false",
            "scaled": "false",
            "padding": "1,3",
            "token": "2",
        },
    ),
    "how the head learns": (
        "attention",
        [
            [("selectbox", "attention_head_preset", "Five random tokens, d_k = 2")],
            [("segmented_control", "attention_head_closer", "How the matrices learn")],
            [
                ("selectbox", "attention_learning_target", 1),
                ("number_input", "attention_learning_lr", 0.25),
                ("number_input", "attention_learning_steps", 7),
            ],
        ],
        {
            "example": "five-random-tokens-d-k-2",
            "closer": "how-the-matrices-learn",
            "wish": "1",
            "step-size": "0.25",
            "steps-down": "7",
        },
    ),
    "one row of scores": (
        "attention",
        [
            [("segmented_control", "attention_part", "One row of scores")],
            [("selectbox", "attention_rows_preset", "The same over √4")],
            [("number_input", "attention_rows_by", 4.0), ("toggle", "attention_rows_weigh", True)],
            [("table", "attention_rows_row", "1 2"), ("segmented_control", "attention_rows_kind", "weights")],
            [("table", "attention_rows_values", "1 2\n3 4")],
        ],
        {
            "part": "one-row-of-scores",
            "row": "the-same-over-4",
            "scores": "1,2",
            "kind": "weights",
            "divisor": "4",
            "weigh": "true",
            "values": "1,2;3,4",
        },
    ),
    "scaling": (
        "attention",
        [
            [("segmented_control", "attention_part", "Why √d_k")],
            [("select_slider", "attention_scaling_size", 16), ("number_input", "attention_scaling_seed", 7)],
        ],
        {"part": "why-d-k", "d_k": "16", "draws": "7"},
    ),
    "shapes": (
        "attention",
        [
            [("segmented_control", "attention_part", "Shapes")],
            [
                ("number_input", f"attention_shapes_{name}", 4 + at * 4)
                for at, name in enumerate(("tokens", "d_model", "heads", "d_v", "others"))
            ],
        ],
        {"part": "shapes", "tokens": "4", "d_model": "8", "heads": "12", "d_v": "16", "others": "20"},
    ),
    "positions": (
        "attention",
        [
            [("segmented_control", "attention_part", "Positions")],
            [("selectbox", "attention_positions_preset", list(attention_positions.EXAMPLES)[1])],
            [
                ("slider", "attention_positions_count", 12),
                ("slider", "attention_positions_width", 6),
                ("number_input", "attention_positions_seed", 3),
                ("number_input", "attention_positions_place", 5),
                ("toggle", "attention_positions_projected", True),
            ],
            [("segmented_control", "attention_positions_kind", "learned")],
        ],
        {
            "part": "positions",
            "table": "four-features",
            "encoding": "learned",
            "positions": "12",
            "features": "6",
            "seed": "3",
            "place": "5",
            "projected": "true",
        },
    ),
    "trained attention": (
        "attention",
        [
            [("segmented_control", "attention_part", "Inside trained nets")],
            [
                ("slider", "attention_trained_depth", 1),
                ("number_input", "attention_trained_steps", 20),
                ("selectbox", "attention_trained_position", "learned"),
            ],
        ],
        {"part": "inside-trained-nets", "depth": "1", "steps": "20", "position": "learned"},
    ),
    "without feed-forward": (
        "attention",
        [
            [("segmented_control", "attention_part", "Without feed-forward")],
            [("selectbox", "attention_feed_forward_task", "book"), ("slider", "attention_feed_forward_depth", 1)],
            [("number_input", "attention_feed_forward_steps_book", 20)],
        ],
        {"part": "without-feed-forward", "task": "book", "blocks": "1", "updates-book": "20"},
    ),
    "encoder and decoder": (
        "attention",
        [
            [("segmented_control", "attention_part", "Encoder and decoder")],
            [
                ("selectbox", "attention_translation_task", "sort"),
                ("slider", "attention_translation_depth", 2),
                ("number_input", "attention_translation_steps", 40),
                ("number_input", "attention_translation_seed", 3),
            ],
        ],
        {"part": "encoder-and-decoder", "pair-task": "sort", "pair-blocks": "2", "pair-steps": "40", "pair-seed": "3"},
    ),
    "recurrence": (
        "attention",
        [
            [("segmented_control", "attention_part", "One by one or at once")],
            [("slider", "attention_recurrence_count", 3)],
        ],
        {"part": "one-by-one-or-at-once", "length": "3"},
    ),
    "gradients": (
        "gradients",
        [
            [("selectbox", "gradients_preset", "A factor above 1")],
            [
                ("number_input", "gradients_factor", -0.5),
                ("slider", "gradients_depth", 12),
                ("number_input", "gradients_input", 2.0),
                ("number_input", "gradients_target", -0.5),
                ("selectbox", "gradients_phi", "tanh"),
                ("selectbox", "gradients_layer", 3),
                ("number_input", "gradients_lr", 0.25),
                ("multiselect", "gradients_shown", ["sigmoid", "relu"]),
                ("slider", "gradients_z", -1.5),
                ("slider", "gradients_spread", 2.0),
                ("slider", "gradients_net_depth", 3),
                ("toggle", "gradients_net_residual", True),
                ("selectbox", "gradients_net_activation", "tanh"),
                ("selectbox", "gradients_net_init", "xavier"),
                ("selectbox", "gradients_net_norm", "post-norm"),
                ("segmented_control", "gradients_net_layers", 2),
                ("segmented_control", "gradients_net_seeds", 6),
            ],
        ],
        {
            "example": "a-factor-above-1",
            "factor": "-0.5",
            "length": "12",
            "input": "2",
            "target": "-0.5",
            "phi": "tanh",
            "layer": "3",
            "lr": "0.25",
            "activations": "sigmoid,relu",
            "z": "-1.5",
            "spread": "2",
            "depth": "3",
            "residual": "true",
            "activation": "tanh",
            "init": "xavier",
            "norm": "post-norm",
            "layers": "2",
            "seeds": "6",
        },
    ),
    "factors of one's own": (
        "gradients",
        [
            [("slider", "gradients_net_depth", 2), ("segmented_control", "gradients_mode", "factors of my own")],
            [("table", "gradients_own", "2 3 -4"), ("multiselect", "gradients_shown", [])],
        ],
        {"depth": "2", "mode": "factors-of-my-own", "factors": "2,3,-4", "activations": ""},
    ),
    "residual": (
        "residual",
        [
            [("selectbox", "residual_preset", "Pre-norm")],
            [
                ("table", "residual_token", "1 2\n3 5\n0 0.5\n1 1"),
                ("selectbox", "residual_placement", "sandwich"),
                ("number_input", "residual_skip", 1.5),
                ("toggle", "residual_relu", True),
                ("slider", "residual_memory_size", 0.5),
                ("number_input", "residual_memory_seed", 9),
                ("slider", "residual_variants_weight", 3.5),
                ("slider", "residual_variants_repeats", 3),
                ("slider", "residual_trained_depth", 2),
                ("selectbox", "residual_trained_net", "norm, no skip"),
            ],
            [("slider", "residual_variants_dlcl", 0.25)],
        ],
        {
            "example": "pre-norm",
            "table": "1,2;3,5;0,0.5;1,1",
            "placement": "sandwich",
            "skip": "1.5",
            "relu": "true",
            "size": "0.5",
            "seed": "9",
            "weight": "3.5",
            "repeats": "3",
            "dlcl": "0.25",
            "depth": "2",
            "net": "norm-no-skip",
        },
    ),
    "autoregression": (
        "autoregression",
        [
            [("selectbox", "autoregression_example", "Stop at a full stop or at the length")],
            [
                ("slider", "autoregression_depth_book", 1),
                ("number_input", "autoregression_steps_book", 50),
                ("selectbox", "autoregression_arrangement", "post-norm"),
                ("text_input", "autoregression_prompt_book", "A & <b>, é\u21b5 "),
                ("number_input", "autoregression_temperature", 0.5),
                ("number_input", "autoregression_seed", 7),
                ("number_input", "autoregression_length", 3),
                ("selectbox", "autoregression_end_book", "\n"),
            ],
            [
                ("selectbox", "autoregression_position", 1),
                ("selectbox", "autoregression_head", "head 2"),
                ("text_input", "autoregression_subword_text", "a whale"),
                ("slider", "autoregression_joins", 20),
            ],
        ],
        {
            "example": "stop-at-a-full-stop-or-at-the-length",
            "depth-book": "1",
            "steps-book": "50",
            "arrangement": "post-norm",
            "prompt-book": "A & <b>, é\u21b5 ",
            "temperature": "0.5",
            "seed": "7",
            "length": "3",
            "end-book": "\n",
            "place": "1",
            "head": "head-2",
            "pieces": "a whale",
            "joins": "20",
        },
    ),
    "another task": (
        "autoregression",
        [
            [("selectbox", "autoregression_task", "copy")],
            [("slider", "autoregression_depth_copy", 1), ("text_input", "autoregression_prompt_copy", "")],
        ],
        {"task": "copy", "depth-copy": "1", "prompt-copy": ""},
    ),
    "a cell": (
        "maps",
        [[("selectbox", "map_cell_arrangement", "pre-norm")]],
        {
            "cell": slug(
                Cell("pre-norm", *(getattr(cells(next(iter(PREPARED.values())).spec)[0], axis) for axis in "xy"))
            )
        },
    ),
    "a map of one's own": (
        "maps",
        [
            [("selectbox", "map_choice", "your own")],
            [
                ("selectbox", "map_y", "width"),
                ("text_input", "map_y_values", "16, 24"),
                ("multiselect", "map_arrangements", ["pre-norm", "plain"]),
                ("number_input", "map_seeds", 2),
                ("number_input", "map_target", 0.75),
                ("number_input", "map_base_steps", 50),
            ],
            [("selectbox", "map_cell_y", 24)],
        ],
        {
            "map": "your-own",
            "spec": '{"version":1,"x":{"field":"lr","values":[0.003,0.01,0.03,0.1]},"y":{"field":"width","values":[16,24]},'
            '"arrangements":["pre-norm","plain"],"base":{"batch":32,"steps":50},"seeds":2,"target":0.75}',
            "cell": "pre-norm-0.003-24",
        },
    ),
}


def path(name: str) -> str:
    return f"pages/{'explore' if name == 'maps' else 'labs'}/{name}.py"


def linked(name: str, **query: str) -> AppTest:
    """The page of that name as a new visitor finds it who comes by a link."""
    return by_link(path(name), **query)


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


OF_EACH_LAB = ("an outlier", "one head", "gradients", "residual", "autoregression", "a map of one's own")


@pytest.mark.parametrize(
    "visit", [pytest.param(visit, marks=() if visit in OF_EACH_LAB else pytest.mark.full) for visit in VISITS]
)
def test_what_is_set_stands_in_the_address_and_is_found_by_it_and_after_a_walk(visit: str) -> None:
    name, runs, says = VISITS[visit]
    page = sound(lab(name, path(name).split("/")[1]))
    for controls in runs:
        page = put(page, controls)
    assert address(page) == says
    before, set_last = (
        seen(page),
        {key: (kind, value) for controls in runs for kind, key, value in controls if kind != "table"},
    )
    page = walk(walk(page, GLOSSARY), path(name))
    assert (address(page), seen(page)) == (says, before)
    other = linked(name, **says)
    assert (address(other), seen(other)) == (says, before)
    for key, (kind, value) in set_last.items():
        assert all(one.value == value for one in getattr(other, kind) if one.key == key), (
            key
        )  # some are drawn for others alone


@pytest.mark.parametrize("name", [*TABLES])
def test_an_example_in_a_link_brings_its_table_and_its_settings_and_a_method_beside_it_goes_before(name: str) -> None:
    page = linked("normalization", example=slug(name))
    np.testing.assert_array_equal(page.session_state["normalization_good"], TABLES[name].values)
    assert page.selectbox(key="normalization_method").value == TABLES[name].method
    other = next(method for method in METHODS if method != TABLES[name].method)
    page = linked("normalization", example=slug(name), method=slug(other), table="1,2;3,5")
    assert page.session_state["normalization_good"].tolist() == [[1, 2], [3, 5]]
    assert page.selectbox(key="normalization_method").value == other
    assert address(page)["example" if name != "three tokens, layer norm" else "method"]


@pytest.mark.parametrize(
    ("lab_name", "query", "key", "name"),
    [
        (
            "attention",
            {"example": "example-24-the-same-with-a-causal-mask"},
            "attention_head_preset",
            "The same with a causal mask",
        ),
        ("attention", {"example": "examples-10-and-11-x-times-w"}, "attention_head_preset", "X times W"),
        ("residual", {"example": "example-18-no-norm"}, "residual_preset", "No norm"),
        ("gradients", {"example": "example-16-factors-below-1"}, "gradients_preset", "Factors below 1"),
    ],
)
def test_an_example_is_found_by_the_number_that_its_name_had(
    lab_name: str, query: dict[str, str], key: str, name: str
) -> None:
    page = linked(lab_name, **query)
    assert page.selectbox(key=key).value == name
    assert "There is no example" not in words(page)


def test_an_example_whose_name_is_gone_is_said_to_be_gone() -> None:
    page = linked("residual", example="examples-2-and-3-in-a-row-post-norm")
    assert page.selectbox(key="residual_preset").value == next(iter(WALKS))
    assert "There is no example with that name" in words(page)


def test_an_example_alone_is_its_whole_address() -> None:
    for page_name, key, examples in (
        ("normalization", "normalization_preset", TABLES),
        ("attention", "attention_head_preset", PROJECTIONS),
        ("residual", "residual_preset", WALKS),
    ):
        page = lab(page_name)
        for name in list(examples)[-2:]:
            page = put(page, [("selectbox", key, name)])
            assert address(page) == {"example": slug(name)}
        assert seen(linked(page_name, **address(page))) == seen(page)


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
    assert seen(walk(walk(page, GLOSSARY), path("normalization"))) == before
    page = put(page, [("table", "normalization", "1 2\n3 5")])
    assert "too large" not in words(page)
    assert address(page)["table"] == "1,2;3,5"


def test_a_table_has_every_digit_after_a_walk() -> None:
    page = put(lab("normalization"), [("table", "normalization", "1.12345678901234 2\n3 5")])
    assert address(page)["table"] == "1.123456789,2;3,5"
    page = walk(walk(page, GLOSSARY), path("normalization"))
    assert page.session_state["normalization_good"][0, 0] == 1.12345678901234


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


def test_the_place_that_is_looked_at_follows_the_end_of_the_text() -> None:
    page = linked("autoregression", **{"depth-book": "1", "steps-book": "50", "prompt-book": "Call me"})
    assert page.selectbox(key="autoregression_position").value == 6
    page = put(page, [("text_input", "autoregression_prompt_book", "Call")])
    assert page.selectbox(key="autoregression_position").value == 3
    assert "place" not in address(page)


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
            "bias 1e9 became 100",
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
            "no z with that name: inf",
            "no activations with that name",
            "depth 0 became 1; legal is 1 to 100",
        ],
        {"mode": "factors-of-my-own", "depth": "1"},
    ),
    "residual": (
        {"table": ";,;", "skip": "abc", "repeats": "1e30", "placement": "", "net": "x", "dlcl": "2", "depth": "2.9"},
        [
            "It contains no numbers.",
            "repeats 1e30 became 4; legal is 1 to 4",
            "no skip with that name",
            "depth 2.9 became 3",
        ],
        {"repeats": "4", "dlcl": "1", "depth": "3"},
    ),
    "autoregression": (
        {"task": "digits", "depth-book": "1", "steps-book": "50", "temperature": "-1", "end-book": "ab", "place": "99"},
        [
            "There is no task with that name: digits",
            "temperature -1 became 0; legal is 0 to 5",
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
        assert "became 4" not in words(put(page, [("slider", "residual_variants_repeats", 3)]))


@pytest.mark.parametrize(
    "base", [{"net": "foo"}, {"clip": "abc"}, {"width": 10**9}, {"steps": 2.5}, {"task": "![](https://x.org/a.png)"}]
)
def test_a_map_whose_base_is_not_legal_gets_a_sentence_in_which_nothing_is_markdown(base: dict[str, Any]) -> None:
    spec = json.loads(FIRST.to_json()) | {"base": base, "y": {"field": "init_gain", "values": [1.0]}}
    page = linked("maps", map="your-own", spec=json.dumps(spec))
    assert f"{next(iter(base)).capitalize()} is " in words(page)
    assert "![" not in words(page).replace("\\[", "")
    assert address(page) == {"map": "your-own"}


def test_a_specification_on_one_line_is_the_same_map() -> None:
    for spec in (FIRST, *(prepared.spec for prepared in PREPARED.values())):
        assert MapSpec.from_json(spec.to_json(compact=True)).digest == spec.digest


@pytest.mark.parametrize(
    "options",
    [TABLES, METHODS, PROJECTIONS, ROWS, WALKS, WALKED, PRESETS, ACTIVATIONS, ARRANGEMENTS, autoregression_text.ENDS],
)
def test_no_two_options_of_a_control_are_one_in_the_address(options: Any) -> None:
    assert len({slug(one) for one in options}) == len(options)
