"""The attention lab: every worked example as the page shows it, its sentences, its figures, its controls, bad input."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from addnorm.words import number
from components.labs.attention import position_words
from components.labs.attention import recurrence as attention_recurrence
from components.labs.attention import shapes as attention_shapes
from components.labs.attention.charts import waiting_graph
from components.labs.attention.head_words import arithmetic, fits, looks, slip
from components.labs.attention.positions import (
    EXAMPLES,
    ROUNDING,
    distance_chart,
    order_rows,
    order_sentence,
    table_map,
)
from components.labs.attention.rows import slip as row_slip
from components.labs.attention.rows import steps
from components.labs.attention.scaling import DIVIDED, SIZES, entropy_chart, experiment, said, variance_chart
from components.labs.attention.trained import NETS, configuration
from components.labs.attention.trained_words import beyond_chart, beyond_sentence, place_chart, place_sentence
from components.labs.maps import signed_map
from models.labs.attention import DRAWS, KEYS, attend, reach, visible
from models.labs.attention_examples import PROJECTIONS, ROWS, SCORES, WEIGHTS
from models.labs.attention_shapes import Sizes, many_heads, two_sequences
from models.labs.position_kinds import KINDS, added, scores, turns
from models.labs.positions import by_distance, sinusoids
from models.spec import RunConfig
from models.spec.vocabulary import POSITIONS
from models.training import Run, snapshot_of
from tests import hand
from tests.app_page import charts, press, sound, walk, words
from tests.drawn import all_drawn, drawn
from tests.labs_page import lab, until
from tests.stage_page import declared, panels, rests, runs
from tests.tables import table_of

SOURCE = np.random.default_rng(11)
X = SOURCE.normal(size=(4, 3)).round(1)
W = SOURCE.normal(size=(3, 2)).round(1)


# --- widely copied slips, and the right values ---


def test_examples_10_and_11_say_the_right_queries_weights_and_output():
    example = PROJECTIONS["X times W"]
    tables = (example.x, example.w_q, example.w_k, example.w_v)
    said = slip("X times W", tables, attend(*(example.x @ w for w in tables[1:]), by=2.0))
    assert said.startswith(
        "A widely copied worked example gives [0.3, 0.7, 1.1, 1.5] for the first row of Q; the right values are [0.9, "
        "1, 1.1,"
    )
    assert "the weights [0.02, 0.28, 0.7] and the output [1, 2, 3, 4]" in said
    assert "they are [0.0029, 0.0522, 0.9449] and [3.075, 3.486, 3.897, 4.307]" in said


def test_says_that_the_printed_weights_do_not_sum_to_1():
    said = row_slip(ROWS["Six scores"])
    assert "[0.217, 0.217, 0.217, 0.132, 0.217, 0.132], which sum to 1.13" in said
    assert "is [0.19183, 0.19183, 0.19183, 0.11635, 0.19183, 0.11635]." in said
    assert said.endswith(
        "It gives the output [0.391, 0.349, 0.499]; with the right values it is [0.346, 0.308, 0.442]."
    )
    row = ROWS["Six scores"]
    np.testing.assert_allclose(row.printed_weights @ np.array(row.values), row.printed_output, atol=1.1e-3)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("Three scores", "the softmax of [3.74, 8.74, 13.74] is [0.00005, 0.00669, 0.99326]."),
        ("The same over √4", "the softmax of [3.74, 8.74, 13.74] over 2 is [0.00619, 0.07539, 0.91842]."),
        (
            "Token 1 as it is, over √4",
            "[1, 2, 3, 4]; with the right values it is [3.075, 3.486, 3.897, 4.307].",
        ),
    ],
)
def test_says_what_the_softmax_is(name, right):
    assert right in row_slip(ROWS[name])
    assert "gives the weights [0.02, 0.28, 0.7]" in row_slip(ROWS[name])


def test_says_what_position_1_is():
    assert position_words.slip() == (
        "A widely copied worked example gives [0.0001, 0.9999, 0.0002, 0.9998] for position 1 with 4 features; the "
        "right values, sines and cosines of 1 and 1/100, are [0.841, 0.54, 0.01, 1]."
    )
    assert "row: **[0, 1, 0, 1]**" in position_words.row(0, 4)
    assert "sin(1/1) = 0.8415, cos(1/1) = 0.5403; sin(1/100) = 0.01, cos(1/100) = 1 " in position_words.row(1, 4)


def test_says_that_no_softmax_gave_these_weights():
    row = ROWS['Weights of "cat"']
    assert "They sum to 1.40; those of a softmax sum to 1." in row_slip(row)
    assert "They sum to 1.40, so they cannot come from a softmax" in steps(np.array(row.numbers), WEIGHTS, 1.0)


@pytest.mark.parametrize("begins", [0.03, 0.9])
def test_where_the_stream_begins_without_a_place_it_is_from_the_mask_or_from_the_scores(begins):
    """Rotary, ALiBi and T5's bias tell the scores of places and write none into the stream, nor does "none"."""
    rows = {name: np.array([begins, 0.9]) for name in ("with residuals", "without residuals")}
    said = place_sentence(rows, 1 / 32, 100)
    assert (
        "from the number of tokens that its causal mask shows or from what its scores are told of positions" in said
    ) == (begins < 0.1)
    written = {kind: len(added(kind, 8, 4, 0)) for kind in KINDS}
    assert {kind for kind, rows_ in written.items() if rows_} == {"sinusoidal", "learned"}


def test_weights_that_a_softmax_could_have_given_are_told_from_others():
    assert "as the weights of a softmax do" in steps(np.array([0.25, 0.75]), WEIGHTS, 1.0)
    assert "no negative weight" in steps(np.array([-0.5, 1.5]), WEIGHTS, 1.0)
    assert "They sum to 0.00, so they cannot come" in steps(np.zeros(2), WEIGHTS, 1.0)


def test_keeps_mean_and_variance_apart():
    found = experiment(0)
    at = SIZES.index(64)
    raw, scaled = found["as they are"][at], found["divided by √d_k"][at]
    sentence = said(raw, scaled)
    assert f"its mean is 0 ({raw.mean:.2g} in {DRAWS:,} draws)" in sentence
    assert f"variance that is d_k = 64 ({raw.variance:.3g}), so a score is typically √64 = 8 away" in sentence
    for row, scaling in zip(found.values(), (1, np.sqrt(SIZES), np.sqrt(512)), strict=True):
        expected = np.array(SIZES) / np.square(scaling)
        np.testing.assert_allclose([one.variance for one in row], expected, rtol=0.25)


def test_a_recurrent_cell_and_attention_are_told_apart_by_the_steps_of_the_tables():
    sentence = attention_recurrence.said(reach(7, recurrent=True), reach(7, recurrent=False))
    assert sentence.startswith("A recurrent cell needs 7 steps for 7 tokens")
    assert f"all {7 * 8 // 2} pairs at once, in two matrix products with a softmax between them" in sentence
    frame = attention_recurrence.table(reach(3, recurrent=True))
    assert frame.iloc[:, 1:].to_numpy().tolist() == [["1", "-", "-"], ["2", "1", "-"], ["3", "2", "1"]]


# --- shapes ---


def test_five_tokens_through_eight_heads_of_64():
    sizes = Sizes(**asdict(attention_shapes.Given()))
    shapes = dict(many_heads(sizes))
    assert shapes["output of one head"] == (5, 64)
    assert shapes["heads side by side"] == shapes["result, as X"] == (5, 512)
    sentence = attention_shapes.said(sizes, shapes)
    assert "Each of the 8 heads gives (5, 64); side by side they are (5, 512)" in sentence
    assert f"{4 * 512**2:,} weights" in sentence


def test_values_may_be_of_another_size_than_keys():
    shapes = dict(many_heads(Sizes(tokens=3, d_model=12, heads=4, d_v=5, others=2)))
    assert shapes["q and k of one head"] == (3, 3)
    assert shapes["v of one head"] == (3, 5)
    assert shapes["W_O"] == (20, 12)
    assert shapes["result, as X"] == (3, 12)


def test_cross_attention_asks_with_one_sequence_and_answers_with_the_other():
    found = two_sequences(Sizes(tokens=3, d_model=16, heads=2, d_v=6, others=5))
    cross = found["decoder, cross"]
    assert (cross["queries from"], cross["keys and values from"]) == ("decoder", "encoder")
    assert (cross["Q"], cross["K"], cross["V"]) == ((3, 8), (5, 8), (5, 6))
    assert (cross["weights"], cross["output"]) == ((3, 5), (3, 6))
    assert (found["encoder, self"]["weights"], found["decoder, self"]["weights"]) == ((5, 5), (3, 3))
    assert [name for name, rows in found.items() if rows["mask"] == "causal"] == ["decoder, self"]
    assert found["decoder, self"]["keys and values from"] == "decoder"


# --- one head in words ---


def test_the_way_of_a_token_ends_at_its_output_with_every_number_on_the_way():
    seen = visible(4, 4, causal=True)
    head = attend(X @ W, X @ W, X @ W, by=2**0.5, seen=seen)
    text = arithmetic(head, X, W, 1)
    assert f"**[{number(head.q[1, 0], 4)}, {number(head.q[1, 1], 4)}]**" in text
    assert text.count("-∞") == 1 + 2
    assert f"**[{number(head.output[1, 0], 4)}, {number(head.output[1, 1], 4)}]**" in text
    assert "v3" not in text


def test_a_token_that_sees_nothing_is_told_so():
    head = attend(X @ W, X @ W, X @ W, by=1.0, seen=visible(4, 4, causal=True, pads=frozenset({0})))
    assert looks(head, 0) == "Token 1 sees nothing: every token it may attend to is padding. Its output is 0."
    assert "sum to 0" in arithmetic(head, X, W, 0)
    assert looks(head, 1) == "Token 2 attends most to token 2, with a weight of 100.00%."


def test_tables_that_do_not_fit_are_told_why():
    assert fits((X, W, W, W)) == ""
    assert "needs 3 rows; it has 4" in fits((X, W, X, W))
    assert "W_Q has 2 columns, W_K 3" in fits((X, W, np.eye(3), W))
    assert "the limit here is 32" in fits((np.ones((33, 3)), W, W, W))


# --- positions ---


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_and_scored(kind):
    for figure in all_drawn([*(table_map(kind, 5, 4, 0), distance_chart(scores(kind, 5, 4)))]):
        json.dumps(figure, allow_nan=False)
        table_of(figure)
    assert position_words.longer(kind, 5, 4)


def test_the_kinds_are_those_of_the_app():
    assert KINDS.keys() == POSITIONS.keys()


def test_a_learned_row_starts_as_large_as_sines_and_cosines():
    learned, table = added("learned", 200, 64), added("sinusoidal", 200, 64)
    assert np.square(learned).mean() == pytest.approx(np.square(table).mean(), rel=0.05)
    cfg = RunConfig.arranged("pre-norm", net="transformer", task="book", position="learned", width=64, depth=1)
    model = snapshot_of(Run(cfg, probe=False, frames=False)).model
    assert model.position.table_TD.square().mean().item() == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("kind", "projected", "expected"),
    [
        ("sinusoidal", False, "an earlier and a later position score the same"),
        ("sinusoidal", True, "Distance alone does not determine the score"),
        ("learned", False, "Distance alone does not determine the score"),
        ("rotary", True, "so the score shows the order"),
        ("relative bias", True, "so the score shows the order"),
        ("alibi", True, "an earlier and a later position score the same"),
        ("none", False, "Not even the distance matters"),
    ],
)
def test_the_claim_that_distance_alone_matters_is_checked(kind, projected, expected):
    assert expected in position_words.claim(kind, by_distance(scores(kind, 32, 16, projected=projected)))


def test_a_longer_text_meets_no_row_or_angles_that_are_new():
    assert "none for position 32" in position_words.longer("learned", 32, 16)
    gone = turns(16, 32)
    assert gone[0] == pytest.approx(32 / (2 * np.pi))
    circle = sinusoids(np.array([0.0, 1.0]) * 2 * np.pi, 16)[:, :2]
    np.testing.assert_allclose(circle[0], circle[1], atol=1e-12)
    assert f"{int((gone >= 1).sum())} of the 8 pairs of features complete a full turn" in position_words.longer(
        "rotary", 32, 16
    )


@pytest.mark.parametrize("count", [2, 8, 32, 100, 128])
def test_a_longer_text_meets_a_bucket_that_is_known_or_new(count):
    used = {hand.t5_bucket(ago, both_ways=True) for ago in range(count)}
    new = hand.t5_bucket(count, both_ways=True)
    said = position_words.longer("relative bias", count, 8)
    assert f"falls into bucket {new}, which" in said
    assert ("already uses" in said) == (new in used)
    both = {hand.t5_bucket(ago, both_ways=True) for ago in range(1 - count, count)}
    assert f"{count} positions use {len(both)} of a head's 32" in position_words.of_scores("relative bias", count)


@pytest.mark.parametrize(
    ("kind", "count", "width"), [("sinusoidal", 32, 16), ("learned", 8, 4), ("sinusoidal", 128, 2)]
)
def test_positions_have_rows_of_their_own_and_the_closest_are_found(kind, count, width):
    table = torch.tensor(added(kind, count, width))
    apart = torch.pdist(table).min().item()
    said_of_it = position_words.unique(table.numpy())
    assert said_of_it.startswith("No two positions share a row")
    assert f"at a distance of {apart:.3g};" in said_of_it
    assert position_words.unique(np.ones((3, 2))).startswith(
        "Two positions share a row: the closest are 0 and 1, at a distance of 0;"
    )


def test_of_scores_says_what_alibi_leaves_of_a_far_token():
    assert "one 31 positions away keeps 3.06·10⁻⁷ of its weight" in position_words.of_scores("alibi", 32)
    assert np.exp(-31 / 2) / np.exp(-1 / 2) == pytest.approx(3.06e-7, rel=1e-3)
    assert "subtracts 16 from a score" in position_words.longer("alibi", 32, 8)


def test_only_a_head_without_positions_and_without_a_mask_is_blind_to_the_order():
    for seed in range(20):
        rows = order_rows(seed)
        assert rows.keys() == KINDS.keys()
        blind = {(kind, mask) for kind, found in rows.items() for mask, off in found.items() if off < ROUNDING}
        assert blind == {("none", "no mask")}
    assert "Blind to the order: “none” with no mask. All others" in order_sentence(rows)


# --- figures ---


def test_plotly_json_and_the_table_accept_every_chart():
    found = experiment(0)
    accuracy = {name: np.array([1.0, np.nan, 0.1]) for name in NETS}
    figures = [
        variance_chart(found),
        entropy_chart(found),
        place_chart(("x0", "b01.attn", "b01.mlp"), accuracy, 1 / 32),
        beyond_chart(np.full(64, np.inf), 32),
        beyond_chart(np.linspace(4, 2, 64), 32),
        signed_map("t", rows=["0"], columns=["1", "2"], values=np.array([[np.nan, 0.0]]), unit="u", x="x", y="y"),
        *(
            waiting_graph("t", reach(count, recurrent=kind), recurrent=kind)
            for kind in (True, False)
            for count in (2, 12)
        ),
    ]
    for figure in all_drawn([*figures]):
        json.dumps(figure, allow_nan=False)
        table_of(figure)


def test_the_entropy_stays_below_that_of_equal_weights():
    figure = drawn(entropy_chart(experiment(0)))
    assert figure["layout"]["shapes"][1]["y0"] == pytest.approx(np.log(KEYS))
    assert max(max(trace["y"]) for trace in figure["data"]) <= np.log(KEYS)


def test_the_graphs_have_a_line_for_everything_that_is_waited_for():
    chain, all_at_once = (waiting_graph("t", reach(6, recurrent=kind), recurrent=kind) for kind in (True, False))
    assert chain["data"][0]["x"].count(None) == 6 + 5
    assert all_at_once["data"][0]["x"].count(None) == 6 * 7 // 2
    assert chain["data"][1]["customdata"][6:] == [1, 2, 3, 4, 5, 6]
    assert all_at_once["data"][1]["customdata"][6:] == [1] * 6


# --- trained nets ---


def test_the_two_nets_are_alike_but_for_their_skips():
    kept, lost = (configuration(on, "rotary", 3, 40) for on in NETS.values())
    differing = {name for name in kept.__dataclass_fields__ if getattr(kept, name) != getattr(lost, name)}
    assert differing == {"residual"}


@pytest.mark.parametrize(
    ("kept", "lost", "expected"),
    [
        ([0.98, 0.4], [0.97, 0.05], "it is 98% and 97%: the residual keeps the position"),
        ([0.98, 0.05], [0.98, 0.4], "the net without residuals keeps more"),
        ([0.98, 0.41], [0.98, 0.4], "no clear difference"),
        ([0.03, 0.2], [0.03, 0.1], "The stream begins without it (3%)"),
        ([0.9, np.nan], [0.9, 0.1], "no position can be read"),
    ],
)
def test_the_sentence_on_places_says_what_was_read(kept, lost, expected):
    found = {"with residuals": np.array(kept), "without residuals": np.array(lost)}
    assert expected in place_sentence(found, 1 / 32, 7)


@pytest.mark.parametrize(
    ("outside", "step", "expected"),
    [
        (2.6, 9, "does not generalise"),
        (2.0, 9, ": it generalises"),
        (1.5, 9, "even gets better"),
        (2.6, 0, "learned nothing yet"),
        (np.nan, 9, "not finite"),
    ],
)
def test_the_sentence_on_longer_texts_compares_like_with_like(outside, step, expected):
    loss = np.repeat([3.0, 2.0, outside], [16, 16, 32])
    assert expected in beyond_sentence(loss, 32, step)


# --- the page ---


def opened(page: AppTest, part: str) -> AppTest:
    page.segmented_control(key="attention_part").set_value(part)
    return sound(page.run())


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    page = lab("attention")
    page.selectbox(key="attention_head_preset").select("X times W")
    return sound(page.run())


def test_the_page_opens_on_a_sentence_whose_map_names_its_words_and_on_no_slip(trainer_in_this_process):
    page = lab("attention")
    assert "“it” attends most to “cat”, with a weight of 87.57%" in words(page)
    assert not page.info
    (shade,) = drawn(charts(page)["Attention weights"])["data"]
    assert shade["hovertext"][4][1] == "“it” looks at “cat”"


def put(page: AppTest, key: str, text: str) -> AppTest:
    page.text_area(key=f"{key}_paste").set_value(text)
    page.button(key=f"{key}_use").click()
    return sound(page.run())


def test_a_widely_copied_example_has_its_right_numbers(page):
    said = words(page)
    assert "q = x W_Q = **[0.9, 1, 1.1, 1.2]**" in said
    assert "q·k2 = 0.9·2.02 + 1·2.28 + 1.1·2.54 + 1.2·2.8 = **10.252**" in said
    assert "weights: **[0.00288, 0.0522, 0.94492]**" in said
    assert "**[3.075, 3.486, 3.897, 4.307]**" in said
    assert "Attention weights" in charts(page)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_every_example_of_a_head_sets_its_tables_and_its_mask(page, name):
    page.selectbox(key="attention_head_preset").select(name)
    sound(page.run())
    example = PROJECTIONS[name]
    q, k, v = (example.x @ w for w in (example.w_q, example.w_k, example.w_v))
    by = q.shape[1] ** 0.5 if example.scaling == "√d_k" else 1.0
    head = attend(q, k, v, by=by, seen=visible(len(q), len(q), causal=example.causal))
    assert looks(head, example.query, example.words) in words(page)
    assert arithmetic(head, example.x, example.w_q, example.query) in words(page)


def test_gives_the_first_token_itself_alone(page):
    page.selectbox(key="attention_head_preset").select("The same with a causal mask")
    sound(page.run())
    assert "weights: **[1, 0, 0]**, which sum to 1" in words(page)
    assert "each row of weights sums to 1 over the tokens up to its own" in words(page)
    grid = drawn(charts(page)["Attention weights"])["data"][0]["z"]
    assert [[cell is None for cell in row] for row in grid] == np.triu(np.ones((3, 3), bool), 1).tolist()


@pytest.mark.parametrize(
    ("name", "note"), [("X times W", "from this X and W"), ("The same with a causal mask", "Under")]
)
@pytest.mark.full
def test_the_note_of_an_example_goes_as_soon_as_anything_is_set_otherwise_and_comes_back(page, name, note):
    page.selectbox(key="attention_head_preset").select(name)
    sound(page.run())

    def noted() -> bool:
        return any(note in info.value for info in page.info)

    assert noted()
    for switch in ("causal", "scaled"):
        before = page.toggle(key=f"attention_head_{switch}").value
        for value in (not before, before):
            page.toggle(key=f"attention_head_{switch}").set_value(value)
            sound(page.run())
            assert noted() == (value == before), switch
    page.multiselect(key="attention_head_pads").set_value([2])
    sound(page.run())
    assert not noted()
    page.multiselect(key="attention_head_pads").set_value([])
    for part in ("x", "w_q", "w_k", "w_v"):
        put(page, f"attention_head_{part}", "1 2 3 4\n4 3 2 1\n0 1 0 1\n1 1 0 0")
        assert not noted(), part
        page.button(key="attention_head_again").click()
        sound(page.run())
        assert noted()


def test_scaling_masks_and_padding_follow_their_controls(page):
    page.toggle(key="attention_head_scaled").set_value(False)
    sound(page.run())
    assert "divided by 1, and -∞ where masked: [4.46, 10.252, 16.044]" in words(page)
    page.multiselect(key="attention_head_pads").set_value([2])
    sound(page.run())
    assert "Token 1 attends most to token 2" in words(page)
    page.multiselect(key="attention_head_pads").set_value([0, 1, 2])
    sound(page.run())
    assert "Token 1 sees nothing" in words(page)
    assert "No token sees anything" in words(page)
    page.button(key="attention_head_again").click()
    sound(page.run())
    assert "divided by √4 = 2" in words(page)


def test_a_bad_table_gets_a_sentence_and_the_last_good_one_stays(page):
    for bad in ("1 nan 2 3", "x", "", "1 2 3\n4 5", "1 inf 2 3", "1 2 3 4\n" * 2500):
        put(page, "attention_head_x", bad)
        assert page.error, bad
        assert "**[3.075, 3.486, 3.897, 4.307]**" in words(page)


def test_one_row_is_a_text_of_one_token_that_looks_at_itself(page):
    put(page, "attention_head_x", "1 2 3 4")
    assert "Token 1 attends most to token 1, with a weight of 100.00%" in words(page)


def test_tables_that_do_not_fit_together_leave_the_last_that_did(page):
    put(page, "attention_head_x", "1 2\n3 4")
    assert any("W_Q needs 2 rows; it has 4. Below are still the results" in error.value for error in page.error)
    assert "**[3.075, 3.486, 3.897, 4.307]**" in words(page)
    for part in ("w_q", "w_k", "w_v"):
        put(page, f"attention_head_{part}", "1 0\n0 1")
    assert not page.error
    assert "**Token 1, x = [1, 2]**" in words(page)


@pytest.mark.parametrize("name", ROWS)
def test_every_example_says_what_it_is(page, name):
    opened(page, "One row of scores")
    page.selectbox(key="attention_rows_preset").select(name)
    sound(page.run())
    example = ROWS[name]
    assert row_slip(example) in words(page)
    assert steps(np.array(example.numbers), example.kind, example.by) in words(page)
    assert ("Weighted sum" in words(page)) == bool(example.values)


def test_is_weighed_with_its_values(page):
    opened(page, "One row of scores")
    assert "**[0.3459, 0.3082, 0.4418]**" in words(page)


def test_a_row_of_another_length_is_told_that_its_values_are_missing(page):
    opened(page, "One row of scores")
    put(page, "attention_rows_row", "1 2 3\n4 5 6")
    assert "Only the first of these 2 rows is used" in words(page)
    assert "There are 3 numbers and 6 rows of values" in words(page)
    page.segmented_control(key="attention_rows_kind").set_value(WEIGHTS)
    sound(page.run())
    assert "They sum to 6.00" in words(page)
    assert SCORES != WEIGHTS


def test_the_size_of_the_keys_is_chosen_and_the_draws_are_drawn_anew(page):
    opened(page, "Why √d_k")
    before = charts(page)["Variance of the scores"]
    page.select_slider(key="attention_scaling_size").set_value(256)
    page.number_input(key="attention_scaling_seed").set_value(5)
    sound(page.run())
    assert "variance that is d_k = 256" in words(page)
    assert charts(page)["Variance of the scores"] != before
    assert len(charts(page)["Variance of the scores"]["data"]) == len(DIVIDED) + 1


def test_heads_that_do_not_divide_the_features_are_refused_in_words(page):
    opened(page, "Shapes")
    assert "(5, 64); side by side they are (5, 512)" in words(page)
    page.number_input(key="attention_shapes_heads").set_value(5)
    sound(page.run())
    assert "512 columns cannot be divided among 5 heads" in words(page)
    press(page, "Load example: 5 tokens")
    assert not page.error


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_position_is_shown_and_checked(page, kind):
    opened(page, "Positions")
    page.segmented_control(key="attention_positions_kind").set_value(kind)
    sound(page.run())
    assert position_words.longer(kind, 32, 16) in words(page)
    assert position_words.claim(kind, by_distance(scores(kind, 32, 16))) in words(page)
    assert "Score by distance" in charts(page)


def test_sets_four_features_and_says_the_right_row(page):
    opened(page, "Positions")
    page.selectbox(key="attention_positions_preset").select(list(EXAMPLES)[1])
    sound(page.run())
    assert position_words.slip() in words(page)
    assert "row: **[0.841, 0.54, 0.01, 1]**" in words(page)


def test_between_random_matrices_the_claim_fails_for_sinusoids(page):
    opened(page, "Positions")
    page.toggle(key="attention_positions_projected").set_value(True)
    sound(page.run())
    assert "Distance alone does not determine the score" in words(page)


def test_the_graphs_follow_the_number_of_tokens(page):
    opened(page, "One by one or at once")
    assert "A recurrent cell needs 7 steps" in words(page)
    page.slider(key="attention_recurrence_count").set_value(12)
    sound(page.run())
    assert "A recurrent cell needs 12 steps" in words(page)


@pytest.mark.full
def test_nets_are_trained_by_one_button_and_places_are_read_from_them(page):
    opened(page, "Inside trained nets")
    page.slider(key="attention_trained_depth").set_value(2)
    page.number_input(key="attention_trained_steps").set_value(20)
    sound(page.run())
    assert "At step 0 a token's position is read correctly" in words(page)
    assert [cfg.residual for cfg in runs(page)] == list(NETS.values())
    assert declared(page)["shared"] == " both"
    (both,) = panels(page, "chart").values()
    lines = [trace["name"] for trace in both["figure"]["data"] if trace["bind"]["of"] == "past"]
    assert (both["title"], lines) == ("Loss", list(NETS))
    rests(page)
    until(page, lambda: "At step 20 the loss" in words(page) and "At step 20 a token" in words(page))
    assert "At step 20 a token's position is read correctly" in words(page)
    assert {"Position read from the stream", "Loss by position"} <= set(charts(page))


@pytest.mark.full
def test_a_learned_table_is_shown_and_refuses_longer_texts(page):
    opened(page, "Inside trained nets")
    page.slider(key="attention_trained_depth").set_value(1)
    page.selectbox(key="attention_trained_position").select("learned")
    sound(page.run())
    assert "and none for token 33" in words(page)
    assert {"Learned table", "Score by distance of the learned table"} <= set(charts(page))


def test_a_walk_to_another_page_loses_nothing(page):
    put(page, "attention_head_x", "1 0 0 0\n0 2 0 0")
    page.toggle(key="attention_head_causal").set_value(True)
    sound(page.run())
    before = words(page)
    opened(page, "Shapes")
    page.number_input(key="attention_shapes_heads").set_value(4)
    sound(page.run())
    page = walk(walk(page, "pages/explore/anatomy.py"), "pages/labs/attention.py")
    assert "Each of the 4 heads gives (5, 64)" in words(page)
    opened(page, "One head")
    assert words(page) == before


@pytest.mark.full
def test_while_the_nets_train_what_was_measured_stays_and_says_of_which_step_it_is(page):
    opened(page, "Inside trained nets")
    for name, value in (("depth", 1), ("steps", 20)):
        page.session_state[f"attention_trained_{name}"] = value
    sound(page.run())
    rests(page, 12, playing=True)
    assert "At step 12 the loss is" in words(page)
    assert words(page).count("); pause to measure the step shown.") == 3
    rests(page, 12)
    assert words(page).count("Measured at step 12 (with residuals).") == 2  # its places, and longer texts
    assert words(page).count("Measured at step 12 (without residuals).") == 1


@pytest.mark.parametrize("part", ["One head", "Shapes"])
def test_only_the_part_with_a_map_speaks_of_it(part):
    page = lab("attention")
    page.session_state["attention_part"] = part
    assert ("Read it off the map" in words(sound(page.run()))) == (part == "One head")
