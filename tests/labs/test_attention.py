"""The attention lab: every worked example as the page shows it, its sentences, its figures, its controls, bad input."""

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from addnorm.words import number
from components.labs.attention import positions
from components.labs.attention.head import arithmetic, attention_sentence, projected_mismatch
from components.labs.attention.positions import (
    ROUNDING,
    distance_chart,
    order_sentence,
    shuffling_differences,
    table_map,
)
from components.labs.attention.recurrence import waiting_graph
from components.labs.attention.rows import row_sentence, slip_sentence
from components.labs.attention.scaling import DIVISORS, KEY_SIZES, entropy_chart, experiment, variance_chart
from components.labs.attention.scaling import variance_sentence as of_variance
from components.labs.attention.trained import (
    NETS,
    beyond_chart,
    beyond_sentence,
    configuration,
    position_chart,
    position_sentence,
)
from components.labs.maps import signed_map
from components.shell.text import vector
from models.labs.attention import (
    KEYS,
    Sizes,
    attend,
    attention_mask,
    encoder_decoder_shapes,
    multi_head_shapes,
    sequential_steps,
)
from models.labs.attention_examples import PROJECTIONS, ROWS, WEIGHTS
from models.labs.positions import by_distance, full_turns, position_rows, scores, sinusoids
from models.spec import POSITIONS, RunConfig
from models.training import Run, snapshot_of
from tests import hand
from tests.app_page import charts, sound, words
from tests.drawn import all_drawn, drawn
from tests.labs_page import lab, until
from tests.player_page import declared, panels, rests, runs
from tests.tables import table_of

SOURCE = np.random.default_rng(11)
X = SOURCE.normal(size=(4, 3)).round(1)
W = SOURCE.normal(size=(3, 2)).round(1)


# --- widely copied slips, and the right values ---


def test_weights_that_a_softmax_could_have_given_are_told_from_others():
    assert "as the weights of a softmax do" in row_sentence(np.array([0.25, 0.75]), WEIGHTS, 1.0)
    assert "no negative weight" in row_sentence(np.array([-0.5, 1.5]), WEIGHTS, 1.0)
    assert "They sum to 0.00, so they cannot come" in row_sentence(np.zeros(2), WEIGHTS, 1.0)


def test_keeps_mean_and_variance_apart():
    found = experiment(0)
    at = KEY_SIZES.index(64)
    raw, scaled = found["as they are"][at], found["divided by √d_k"][at]
    for measured in (f"({raw.mean:.2g} in", f"({raw.variance:.3g})", "√64 = 8", f"({scaled.variance:.3g})"):
        assert measured in of_variance(raw, scaled)
    for row, scaling in zip(found.values(), (1, np.sqrt(KEY_SIZES), np.array(KEY_SIZES), np.sqrt(512)), strict=True):
        expected = np.array(KEY_SIZES) / np.square(scaling)
        np.testing.assert_allclose([one.variance for one in row], expected, rtol=0.25)


# --- shapes ---


def test_values_may_be_of_another_size_than_keys():
    shapes = dict(multi_head_shapes(Sizes(tokens=3, d_model=12, heads=4, d_v=5, others=2)))
    assert shapes["q and k of one head"] == (3, 3)
    assert shapes["v of one head"] == (3, 5)
    assert shapes["W_O"] == (20, 12)
    assert shapes["result, as X"] == (3, 12)


def test_cross_attention_asks_with_one_sequence_and_answers_with_the_other():
    found = encoder_decoder_shapes(Sizes(tokens=3, d_model=16, heads=2, d_v=6, others=5))
    cross = found["decoder, cross"]
    assert (cross["queries from"], cross["keys and values from"]) == ("decoder", "encoder")
    assert (cross["Q"], cross["K"], cross["V"]) == ((3, 8), (5, 8), (5, 6))
    assert (cross["weights"], cross["output"]) == ((3, 5), (3, 6))
    assert (found["encoder, self"]["weights"], found["decoder, self"]["weights"]) == ((5, 5), (3, 3))
    assert [name for name, rows in found.items() if rows["mask"] == "causal"] == ["decoder, self"]
    assert found["decoder, self"]["keys and values from"] == "decoder"


# --- one head in words ---


def test_the_way_of_a_token_ends_at_its_output_with_every_number_on_the_way():
    seen = attention_mask(4, 4, causal=True)
    head = attend(X @ W, X @ W, X @ W, divisor=2**0.5, mask=seen)
    text = arithmetic(head, X, W, 1)
    assert f"**[{number(head.q[1, 0], 4)}, {number(head.q[1, 1], 4)}]**" in text
    assert text.count("-∞") == 1 + 2
    assert f"**[{number(head.output[1, 0], 4)}, {number(head.output[1, 1], 4)}]**" in text
    assert "v3" not in text


def test_tables_that_do_not_fit_are_told_why():
    assert projected_mismatch((X, W, W, W)) == ""
    assert "needs 3 rows; it has 4" in projected_mismatch((X, W, X, W))
    assert "W_Q has 2 columns, W_K 3" in projected_mismatch((X, W, np.eye(3), W))
    assert "the limit here is 32" in projected_mismatch((np.ones((33, 3)), W, W, W))


# --- positions ---


@pytest.mark.parametrize("kind", POSITIONS)
def test_every_kind_is_drawn_and_scored(kind):
    for figure in all_drawn([table_map(kind, 5, 4, 0), distance_chart(scores(kind, 5, 4))]):
        table_of(figure)
    assert positions.longer_text_sentence(kind, 5, 4)


def test_a_learned_row_starts_as_large_as_sines_and_cosines():
    learned, table = position_rows("learned", 200, 64), position_rows("sinusoidal", 200, 64)
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
    assert expected in positions.distance_sentence(kind, by_distance(scores(kind, 32, 16, projected=projected)))


def test_a_longer_text_meets_no_row_or_angles_that_are_new():
    assert "none for position 32" in positions.longer_text_sentence("learned", 32, 16)
    gone = full_turns(16, 32)
    assert gone[0] == pytest.approx(32 / (2 * np.pi))
    circle = sinusoids(np.array([0.0, 1.0]) * 2 * np.pi, 16)[:, :2]
    np.testing.assert_allclose(circle[0], circle[1], atol=1e-12)
    assert (
        f"{int((gone >= 1).sum())} of the 8 pairs of features complete a full turn"
        in positions.longer_text_sentence("rotary", 32, 16)
    )


@pytest.mark.parametrize("count", [2, 8, 32, 100, 128])
def test_a_longer_text_meets_a_bucket_that_is_known_or_new(count):
    used = {hand.t5_bucket(ago, bidirectional=True) for ago in range(count)}
    new = hand.t5_bucket(count, bidirectional=True)
    said = positions.longer_text_sentence("relative bias", count, 8)
    assert f"falls into bucket {new}, which" in said
    assert ("never uses" in said) == (new not in used)
    both = {hand.t5_bucket(ago, bidirectional=True) for ago in range(1 - count, count)}
    assert f"{count} positions use {len(both)} of a head's 32" in positions.bias_sentence("relative bias", count)


@pytest.mark.parametrize(
    ("kind", "count", "width"), [("sinusoidal", 32, 16), ("learned", 8, 4), ("sinusoidal", 128, 2)]
)
def test_positions_have_rows_of_their_own_and_the_closest_are_found(kind, count, width):
    table = torch.tensor(position_rows(kind, count, width))
    apart = torch.pdist(table).min().item()
    sentence = positions.closest_rows_sentence(table.numpy())
    assert sentence.startswith("No two positions share a row")
    assert f"at a distance of {apart:.3g};" in sentence
    assert positions.closest_rows_sentence(np.ones((3, 2))).startswith("Two positions share a row")


def test_position_two_has_twice_the_angles_of_one():
    sine, cosine = np.sin([1, 0.01]), np.cos([1, 0.01])
    doubled = np.column_stack([2 * sine * cosine, cosine**2 - sine**2]).ravel()
    assert f"twice these angles: {vector(doubled.round(4))}." in positions.slip_sentence()


@pytest.mark.parametrize("width", [2, 16])
def test_pairs_repeat_and_rows_do_not(trainer_in_this_process, width):
    page = lab("attention")
    page.session_state["attention_part"] = "Positions"
    sound(page.run()).slider(key="attention_positions_width").set_value(width)
    said = words(sound(page.run()))
    first, last = (2 * np.pi * 10_000 ** (pair / width) for pair in (0, width - 2))
    assert f"repeats after 2π = {number(first)} positions, the last after {number(last)}." in said
    for pair, period in ((0, first), (width - 2, last)):
        again = sinusoids(np.array([3.0, 3.0 + period]), width)[:, pair : pair + 2]
        np.testing.assert_allclose(again[0], again[1], atol=1e-9)
    table = torch.tensor(sinusoids(np.arange(2000), width))
    assert torch.pdist(table).min() > 1e-6


def test_only_a_head_without_positions_and_without_a_mask_is_blind_to_the_order():
    for seed in range(20):
        rows = shuffling_differences(seed)
        assert rows.keys() == POSITIONS.keys()
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
        position_chart(("x0", "b01.attn", "b01.mlp"), accuracy, 1 / 32),
        beyond_chart(np.full(64, np.inf), 32),
        beyond_chart(np.linspace(4, 2, 64), 32),
        signed_map("t", rows=["0"], columns=["1", "2"], values=np.array([[np.nan, 0.0]]), unit="u", x="x", y="y"),
        *(
            waiting_graph(sequential_steps(count, recurrent=kind), recurrent=kind)
            for kind in (True, False)
            for count in (2, 12)
        ),
    ]
    for figure in all_drawn([*figures]):
        table_of(figure)


def test_the_entropy_stays_below_that_of_equal_weights():
    figure = drawn(entropy_chart(experiment(0)))
    assert figure["layout"]["shapes"][1]["y0"] == pytest.approx(np.log(KEYS))
    assert max(max(trace["y"]) for trace in figure["data"]) <= np.log(KEYS)


def test_the_graphs_have_a_line_for_everything_that_is_waited_for():
    chain, all_at_once = (waiting_graph(sequential_steps(6, recurrent=kind), recurrent=kind) for kind in (True, False))
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
    assert expected in position_sentence(found, 1 / 32, 7)


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


@pytest.mark.parametrize("name", PROJECTIONS)
def test_every_example_of_a_head_sets_its_tables_and_its_mask(page, name):
    page.selectbox(key="attention_head_preset").select(name)
    sound(page.run())
    example = PROJECTIONS[name]
    q, k, v = (example.x @ w for w in (example.w_q, example.w_k, example.w_v))
    by = q.shape[1] ** 0.5 if example.scaled else 1.0
    head = attend(q, k, v, divisor=by, mask=attention_mask(len(q), len(q), causal=example.causal))
    assert attention_sentence(head, example.query, example.words) in words(page)
    assert arithmetic(head, example.x, example.w_q, example.query, direct=example.direct_qkv) in words(page)


def test_given_vectors_begin_at_their_dot_products_with_words_on_the_axes(page):
    page.selectbox(key="attention_head_preset").select("Q, K and V given")
    sound(page.run())
    scores = np.array([1, 1, 1, 0.5, 1, 0.5])  # of "cat", as in the row of six scores
    expected = torch.softmax(torch.tensor(scores), 0).numpy() @ np.array(ROWS["Six scores"].values)
    np.testing.assert_allclose(expected, [0.346, 0.308, 0.442], atol=5e-4)
    assert (
        f"output: {' + '.join(f'{w:.3g}·v{at + 1}' for at, w in enumerate(np.exp(scores) / np.exp(scores).sum()))}"
        in words(page)
    )
    assert "x W_Q" not in words(page)
    (shade,) = drawn(charts(page)["Attention weights"])["data"]
    assert shade["hovertext"][1][2] == "“cat” looks at “sat”"
    assert "attends to “The”, “cat”, “sat” and “the” alike, with a weight of 19.18% each" in words(page)
    assert "they sum to 1.13" in words(page)
    put(page, "attention_head_w_k_given", "1 2 3")
    assert "here they have 6, 1 and 6" in words(page)
    put(page, "attention_head_w_k_given", "1 2\n3 4\n1 2\n3 4\n1 2\n3 4")
    assert "a query has 3 entries, a key 2" in words(page)
    page.toggle(key="attention_head_direct").set_value(False)
    sound(page.run())
    assert "x W_Q" in words(page)


def test_columns_of_the_sentence_say_what_they_mean_and_the_slip_has_the_right_dot_products(page):
    keys = np.array(ROWS["Three scores"].printed_vectors)
    np.testing.assert_allclose(keys @ keys[0], [4.04, 8.44, 12.84])
    assert "the right ones are [4.04, 8.44, 12.84]" in slip_sentence(ROWS["Three scores"])
    own = sum(weight * row for weight, row in zip((0.02, 0.28, 0.7), keys, strict=True))
    assert f"gives the output {vector([1, 2, 3, 4])}; " in slip_sentence(ROWS["Token 1 as it is, over √4"])
    assert f"Its own weights and values give {vector(own)}." in slip_sentence(ROWS["Token 1 as it is, over √4"])
    np.testing.assert_allclose(own, [0.972, 2.044, 3.116, 4.188])
    page.selectbox(key="attention_head_preset").select("A sentence")
    sound(page.run())
    assert ["noun", "verb", "pronoun", "small word"] in [[*table.value.columns] for table in page.dataframe]


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


def test_the_size_of_the_keys_is_chosen_and_the_draws_are_drawn_anew(page):
    opened(page, "Softmax and √d_k")
    before = charts(page)["Variance of the scores"]
    page.select_slider(key="attention_scaling_size").set_value(256)
    page.number_input(key="attention_scaling_seed").set_value(5)
    sound(page.run())
    assert "variance that is d_k = 256" in words(page)
    assert charts(page)["Variance of the scores"] != before
    assert len(charts(page)["Variance of the scores"]["data"]) == len(DIVISORS) + 1


@pytest.mark.full
def test_nets_are_trained_by_one_button_and_places_are_read_from_them(page):
    opened(page, "Positions in trained nets")
    page.slider(key="attention_trained_depth").set_value(2)
    page.number_input(key="attention_trained_steps").set_value(20)
    sound(page.run())
    assert "At step 0 a token's position is read correctly" in words(page)
    assert [cfg.residual for cfg in runs(page)] == list(NETS.values())
    assert declared(page)["scope"] == " both"
    (both,) = panels(page, "chart").values()
    lines = [trace["name"] for trace in both["figure"]["data"] if trace["bind"]["kind"] == "past"]
    assert (both["title"], lines) == ("Loss", list(NETS))
    rests(page)
    until(page, lambda: "At step 20 the loss" in words(page) and "At step 20 a token" in words(page))
    assert "At step 20 a token's position is read correctly" in words(page)
    assert {"Position read from the stream", "Loss by position"} <= set(charts(page))
