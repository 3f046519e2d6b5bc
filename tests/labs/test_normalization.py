"""The normalisation lab: the worked examples with their right numbers, torch as the judge, and the page itself."""

import numpy as np
import pytest
import torch
from torch import nn

from components.labs.normalization.batches import lengths_sentence
from components.labs.normalization.parts import PARTS as CLOSER
from components.labs.normalization.parts import directions
from components.labs.normalization.picture import bands, cells_by_set, dot_chart
from components.labs.normalization.scale import error_shares_sentence
from components.labs.normalization.steps import cell_line, set_lines
from components.labs.normalization.table import set_statistics
from models.insight.gaussian import ACTIVATIONS
from models.insight.words import number
from models.labs.built_norm import NormLines
from models.labs.normalization import METHODS, initial_running, normalise, set_labels, updated_running
from models.labs.normalization_laws import (
    TINY_EPS,
    changes_by_token,
    curvatures,
    descent_steps,
    jacobian,
    range_of_others,
    robust_range_of_others,
    share_of_range,
    slopes_at_inputs,
    square_terms,
    unbiased_std_shortfall,
    unequal_features,
    with_outlier,
    with_spread,
    z_score_and_shares_below,
)
from models.labs.recurrent import recurrent_statistics
from models.labs.residual import run_sublayers
from models.labs.tables import TABLES, WILDNESS_FACTORS, wild_table
from models.service.questions import layer_norm
from models.spec import RunConfig
from tests.app_page import charts, press, sound, words
from tests.drawn import all_drawn, drawn
from tests.labs_page import lab

THREE = TABLES["three tokens, layer norm"].values
PADDED = TABLES["six tokens and two pads"]
SOME = np.random.default_rng(3).normal(1.5, 2.0, (5, 6))


def close(found, expected, digits=3):
    np.testing.assert_allclose(found, expected, atol=0.51 * 10**-digits)


# --- the worked examples ---


@pytest.mark.parametrize(("activation", "most"), [("tanh", 1.0), ("sigmoid", 0.25)])
@pytest.mark.parametrize("normed", [False, True])
def test_the_slopes_behind_a_table_are_torchs_and_a_norm_keeps_them_from_saturating(activation, most, normed):
    """By torch's layer norm and its derivative of the activation; saturated: below a tenth of the largest slope."""
    for times in (1.0, 10.0, 100.0):
        x = torch.tensor(times * SOME)
        z = (nn.functional.layer_norm(x, (6,), eps=1e-5) if normed else x).requires_grad_()
        (slope,) = torch.autograd.grad(getattr(torch, activation)(z).sum(), z)
        found = slopes_at_inputs(times * SOME, ACTIVATIONS[activation][1], normed=normed)
        assert found.rms == pytest.approx(slope.square().mean().sqrt().item(), rel=1e-5)
        assert found.least == pytest.approx(slope.min().item(), rel=1e-5, abs=1e-12)
        assert found.saturated == pytest.approx((slope < 0.1 * most).double().mean().item())
        assert found.largest_input == pytest.approx(z.abs().max().item())
        if normed:
            assert found.largest_input <= np.sqrt(5) * (1 + 1e-9)
            assert found.rms > 0.5 * most
    if not normed:
        assert found.rms < 0.2 * most
        assert found.saturated > 0.9


@pytest.mark.parametrize("seed", [0, 4])
def test_a_recurrent_cell_reads_with_batch_norm_over_the_sequences_that_are_left_and_with_layer_norm_over_features(
    seed,
):
    """By torch's layers, from the same draws: lengths, two matrices, inputs."""
    found = recurrent_statistics(6, seed)
    source = np.random.default_rng(seed)
    lengths = sorted(source.integers(2, 10, 6).tolist(), reverse=True)
    lengths[0] = 9
    assert found.lengths == lengths
    w_h, w_x = (torch.tensor(source.standard_normal((16, 16)) / 4) for _ in range(2))
    x = torch.tensor(source.standard_normal((6, 9, 16)))
    for over, by, sizes in (
        ("batch", found.batch_norm_feature, found.batch_norm_rms),
        ("layer", found.layer_norm_feature, found.layer_norm_rms),
    ):
        h = torch.zeros(6, 16, dtype=torch.float64)
        for step in range(9):
            left = sum(length > step for length in lengths)
            assert found.sequences_left[step] == left
            summed = h[:left] @ w_h + x[:left, step] @ w_x
            if over == "layer":
                normed = nn.functional.layer_norm(summed, (16,))
            else:
                assert found.mean[step] == pytest.approx(summed[:, 0].mean().item())
                assert found.variance[step] == pytest.approx(summed[:, 0].var(correction=0).item())
                train = nn.BatchNorm1d(16, dtype=torch.float64)
                normed = train(summed).detach() if left > 1 else torch.zeros_like(summed)  # which torch refuses
            assert by[step] == pytest.approx(normed[0, 0].item(), abs=1e-6)
            assert sizes[step] == pytest.approx(normed[0].square().mean().sqrt().item(), abs=1e-5)
            h = torch.cat([torch.tanh(normed), h[left:]])
    alone = found.sequences_left.count(1)
    assert found.batch_norm_rms[-1] == (0 if alone else pytest.approx(found.batch_norm_rms[-1]))
    assert found.layer_norm_rms == pytest.approx([1] * 9, abs=1e-4)
    assert f"step 9 over {found.sequences_left[-1]}." in lengths_sentence(found)
    assert ("turns it into zeros" in lengths_sentence(found)) == (alone > 0)


def test_batch_norm_of_the_same_and_what_was_printed():
    example = TABLES["three tokens, batch norm"]
    found = normalise(example.values, "batch norm")
    close(found.centre[0], [2, 0.667, 0.333])
    close(example.values.var(0), [0.667, 1.556, 1.056])
    close(found.values.T, [[-1.225, 1.225, 0], [1.069, 0.267, -1.336], [-1.298, 0.162, 1.136]])
    variance = torch.tensor(example.values).var(0, correction=0)[2].item()
    right = (example.values[:, 2] - example.values[:, 2].mean()) / variance**0.5
    assert f"gives 1.11 for the variance of the third feature, [-1, 0.5, 1.5]; it is {variance:.4f}." in example.note
    assert f"-1.26 and 1.10 should be {right[0]:.2f} and {right[2]:.2f}; {right[1]:.2f} is right." in example.note


def test_a_pad_of_zeros_comes_out_as_the_bias():
    norm = nn.LayerNorm(4)
    nn.init.constant_(norm.bias, 0.7)
    torch.testing.assert_close(norm(torch.zeros(4)), torch.full((4,), 0.7))
    norm.eps = 0.0
    assert norm(torch.zeros(4)).isnan().all()
    found = normalise(PADDED.values, "layer norm", bias=0.7).values
    np.testing.assert_array_equal(found[2:4], 0.7)
    assert "comes out as the bias" in PADDED.note


def test_the_add_alone_carries_a_shift_on():
    token, branch = np.array([1.0, 2, -1]), np.array([0.5, 1.5, -0.5])
    ends = [run_sublayers(token + shift, [branch], "none")[-1].after for shift in (0.0, 3.0)]
    np.testing.assert_allclose(ends[1] - ends[0], 3.0)


def test_z_score_and_min_max():
    four = TABLES["four numbers"]
    close(normalise(four.values, "z-score").values[3], [1.342, 1.342])
    assert "both at 1.342 with the variance over n" in four.note
    close(normalise(four.values, "z-score", unbiased=True).values[3], [1.162, 1.162])
    close(normalise(TABLES["salary and bonus"].values, "min-max").values.T, [[0, 0.5, 1], [1, 0.4, 0]])


def test_padding_spoils_batch_norm_and_not_layer_norm():
    counted = np.array([not name.startswith("pad") for name in PADDED.rows])
    close(normalise(PADDED.values, "batch norm").centre[0], [0.090, 0.311, -0.139, 0.035])
    close(normalise(PADDED.values, "batch norm", counted=counted).centre[0], [0.120, 0.415, -0.185, 0.047])
    alone, beside = (normalise(x, "layer norm").values for x in (PADDED.values[counted], PADDED.values))
    np.testing.assert_array_equal(beside[counted], alone)
    np.testing.assert_array_equal(beside[~counted], 0)


@pytest.mark.parametrize(("width", "percent"), [(3, 18.4), (4, 13.4), (8, 6.5), (64, 0.78)])
def test_layer_norm_by_hand_comes_out_too_short(width, percent):
    x = np.random.default_rng(width).normal(size=width)
    shrunk = 1 - np.linalg.norm(NormLines(inside=False, eps=1e-9).apply(x)) / np.linalg.norm(
        normalise(x[None], "layer norm", eps=1e-9).values
    )
    assert 100 * shrunk == pytest.approx(percent, abs=0.051)
    assert unbiased_std_shortfall(width) == pytest.approx(shrunk, abs=1e-6)


def test_batch_norm_in_training_and_in_use():
    two = normalise(np.array([[1.0, 2.0], [3.0, -5.0]]), "batch norm", eps=0.0).values
    np.testing.assert_allclose(two, [[-1, 1], [1, -1]])
    with pytest.raises(ValueError, match="more than one token"):
        normalise(SOME[:1], "batch norm")
    assert np.isfinite(normalise(SOME[:1], "layer norm").values).all()
    used = normalise(SOME[:1], "batch norm", running=updated_running(initial_running(6), SOME, batches=3)).values
    assert np.isfinite(used).all()
    np.testing.assert_allclose(normalise(SOME, "batch norm", running=initial_running(6), eps=0.0).values, SOME)


def test_gain_and_bias_undo_the_norm():
    x = np.array([[1.5, 2.0, -0.5]])
    again = normalise(x, "layer norm", gain=np.sqrt(x.var() + 1e-5), bias=x.mean()).values
    np.testing.assert_allclose(again, x, atol=1e-12)


def test_scale_decides_descent():
    samples = unequal_features(100)
    np.testing.assert_allclose(curvatures(samples), [1, 1e4])
    steps = descent_steps(samples)
    assert steps == pytest.approx(
        np.log(1e-3 * np.sqrt(2)) / np.log(1 - 1e-4), abs=2
    )  # the flat direction, solved exactly
    assert descent_steps(normalise(samples, "z-score").values) == 1
    assert descent_steps(samples, max_steps=100) is None
    for times, diverges in ((1.99, False), (2.01, True)):
        step = np.eye(2) - times / 1e4 * samples.T @ samples / len(samples)
        away = np.linalg.matrix_power(step, 2000) @ np.ones(2)
        assert (abs(away[1]) > 1) == diverges


@pytest.mark.parametrize(("ratio", "share"), [(1, "50.00%"), (10, "99.01%"), (100, "99.99%")])
def test_in_a_square_the_large_feature_leaves_nothing_of_the_small_one(ratio, share):
    samples = unequal_features(ratio)
    np.testing.assert_allclose(square_terms(samples), [1, 0, ratio**2], atol=1e-12)
    assert square_terms(samples).sum() == pytest.approx((samples.sum(1) ** 2).mean())
    text = error_shares_sentence(samples, normalise(samples, "z-score").values)
    assert f"accounts for **{share}** of the loss; standardised, for 50%." in text


# --- the errors that notes often make ---


def test_small_inputs_part_layer_norm_and_rms_norm_with_torchs_defaults():
    x = with_spread(SOME[0], 1e-4)
    assert normalise(x[None], "layer norm").values.std() == pytest.approx(0.0316, abs=5e-5)
    single = torch.tensor(x, dtype=torch.float32)
    torchs = nn.functional.rms_norm(single, single.shape).std(correction=0).item()
    assert normalise(x[None], "rms norm", eps=TINY_EPS).values.std() == pytest.approx(torchs, rel=1e-5)
    large = with_spread(SOME[0], 1.0)[None]
    np.testing.assert_allclose(normalise(large, "layer norm").values, normalise(large, "rms norm").values, atol=1e-12)
    assert np.abs(normalise(large + 1, "layer norm").values - normalise(large + 1, "rms norm").values).max() > 0.1


@pytest.mark.parametrize(
    ("method", "heard"),
    [
        ("layer norm", [0, 0, 0, 0, 1]),
        ("rms norm", [0, 0, 0, 0, 1]),
        ("batch norm", [1] * 5),
        ("joint layer norm", [1] * 5),
    ],
)
def test_norms_over_tokens_tell_the_past_of_the_future(method, heard):
    assert (changes_by_token(SOME, method, 4) > 0).tolist() == heard


# --- torch as the judge ---

JUDGES = {
    "layer norm": lambda x: nn.functional.layer_norm(x, x.shape[1:]),
    "rms norm": lambda x: nn.functional.rms_norm(x, x.shape[1:], eps=1e-5),
    "group norm": lambda x: nn.functional.group_norm(x, 3),
    "batch norm": lambda x: nn.functional.batch_norm(x, None, None, training=True),
    "instance norm": lambda x: nn.functional.instance_norm(x.T[None])[0].T,
    "joint layer norm": lambda x: nn.functional.layer_norm(x, x.shape),
    "dynamic tanh": lambda x: torch.tanh(0.5 * x),
    "z-score": lambda x: (x - x.mean(0)) / x.std(0, correction=0),
    "min-max": lambda x: (x - x.amin(0)) / (x.amax(0) - x.amin(0)),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_torchs(method):
    expected = JUDGES[method](torch.tensor(SOME)).numpy()
    np.testing.assert_allclose(normalise(SOME, method, groups=3).values, expected, rtol=1e-10, atol=1e-12)


def test_running_statistics_are_those_of_torch_after_so_many_batches():
    module = nn.BatchNorm1d(6).double()
    for _ in range(7):
        module(torch.tensor(SOME))
    found = updated_running(initial_running(6), SOME, batches=7)
    assert found.batches == 7
    np.testing.assert_allclose(found.mean, module.running_mean.numpy())
    np.testing.assert_allclose(found.variance, module.running_var.numpy())
    module.eval()
    used = normalise(SOME, "batch norm", running=found).values
    np.testing.assert_allclose(used, module(torch.tensor(SOME)).detach().numpy())


@pytest.mark.parametrize(("method", "lost"), [("layer norm", 2), ("rms norm", 1)])
def test_the_jacobian_is_autograds_and_swallows_its_directions(method, lost):
    x = SOME[0]
    expected = torch.autograd.functional.jacobian(lambda t: JUDGES[method](t[None])[0], torch.tensor(x)).numpy()
    found = jacobian(x, method)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    singular = np.linalg.svd(found, compute_uv=False)
    assert int((singular < 1e-4 * singular.max()).sum()) == lost
    swallowed = [np.linalg.norm(found @ vector) < 1e-4 * singular.max() for vector in directions(x, method).values()]
    assert swallowed == [method == "layer norm", True]


def test_groups_reach_from_layer_norm_to_all_zeros():
    np.testing.assert_allclose(normalise(SOME, "group norm", groups=1).values, normalise(SOME, "layer norm").values)
    np.testing.assert_array_equal(normalise(SOME, "group norm", groups=6).values, 0)


def test_a_batch_of_two_sequences_parts_instance_norm_from_batch_norm():
    x = np.random.default_rng(4).normal(size=(6, 4))
    expected = (
        nn.functional.instance_norm(torch.tensor(x).reshape(2, 3, 4).transpose(1, 2)).transpose(1, 2).reshape(6, 4)
    )
    np.testing.assert_allclose(normalise(x, "instance norm", sequences=2).values, expected.numpy(), atol=1e-12)
    one = normalise(x, "instance norm").values
    np.testing.assert_array_equal(one, normalise(x, "batch norm").values)
    with pytest.raises(ValueError, match="more than one token"):
        normalise(x, "instance norm", sequences=6)


@pytest.mark.parametrize("level", [1.0, 0.1, 1e8])
def test_where_the_formula_says_0_by_0_it_is_told_and_0_stands(level):
    flat = np.full((3, 3), level)
    for method in METHODS:
        found = normalise(flat, method, eps=0.0)
        assert found.undefined.all() == (method not in {"rms norm", "dynamic tanh"}), method
        assert np.isfinite(found.values).all()
        if found.undefined.all():
            np.testing.assert_array_equal(found.values, 0)
    assert not normalise(flat, "layer norm").undefined.any()


def test_a_spread_that_is_small_beside_another_feature_is_no_0_by_0():
    found = normalise(np.array([[1e9, 1e-6], [2e9, 3e-6]]), "z-score")
    assert not found.undefined.any()
    np.testing.assert_allclose(found.values, [[-1, -1], [1, 1]])


@pytest.mark.parametrize(
    ("method", "sets"), [("layer norm", 4), ("batch norm", 6), ("group norm", 8), ("joint layer norm", 1)]
)
def test_the_sets_that_are_coloured_are_those_that_share_statistics(method, sets):
    x = np.random.default_rng(5).normal(size=(4, 6))
    found = normalise(x, method, groups=2)
    np.testing.assert_array_equal(found.shared, set_labels(x.shape, method, groups=2))
    assert len(set_statistics(found, method)) == len(np.unique(found.shared)) == sets
    for at in np.unique(found.shared):
        assert np.ptp(found.centre[found.shared == at]) == 0
        assert found.values[found.shared == at].mean() == pytest.approx(0, abs=1e-12)


def test_an_unbiased_variance_makes_layer_norm_that_much_shorter():
    biased, unbiased = (normalise(SOME, "layer norm", eps=0.0, unbiased=on).values for on in (False, True))
    np.testing.assert_allclose(unbiased, biased * np.sqrt(5 / 6))


# --- the arithmetic as it is written ---


def test_the_steps_are_those_of_the_numbers():
    found = normalise(THREE, "layer norm")
    lines = set_lines(
        THREE[0], "layer norm", "a", (found.centre[0, 0], found.spread[0, 0], found.scale[0, 0]), {"eps": 1e-5}
    )
    assert lines == [
        r"\mu_{a} = \frac{1 + 2 - 1}{3} = 0.6667",
        r"\sigma^2_{a} = \frac{0.1111 + 1.778 + 2.778}{3} = 1.556",
        r"\sqrt{1.556 + 1 \cdot 10^{-5}} = 1.247",
    ]
    unbiased = set_lines(THREE[0], "layer norm", "a", (2 / 3, 7 / 3, 1.5275), {"eps": 1e-5, "unbiased": True})
    assert unbiased[1] == r"\sigma^2_{a} = \frac{0.1111 + 1.778 + 2.778}{2} = 2.333"
    line = cell_line(THREE, found, "layer norm", (0, 2), {"gain": 2.0, "bias": -1.0})
    assert line.startswith(r"y_{3} = 2 \cdot \frac{-1 - 0.6667}{1.247} - 1 = ")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"method": "group norm", "groups": 4}, "4 groups do not divide 6 features"),
        ({"method": "group norm", "groups": 6, "unbiased": True}, "no unbiased variance"),
        ({"method": "batch norm", "counted": np.zeros(5, bool)}, "Every token is padding"),
    ],
)
def test_statistics_that_do_not_exist_are_refused_in_words(args, words):
    with pytest.raises(ValueError, match=words):
        normalise(SOME, **args)


# --- the picture ---


def drawn_sets(figure):
    """By row of a picture of dots: the values there, and least and greatest of the band."""
    (trace,) = figure["data"]
    rows = {row: [] for row in trace["y"]}
    for row, value in zip(trace["y"], trace["x"], strict=True):
        rows[row].append(value)
    bands = {(shape["y0"] + shape["y1"]) / 2: (shape["x0"], shape["x1"]) for shape in band_shapes(figure)}
    return {row: (sorted(values), bands.get(row)) for row, values in rows.items()}


def band_shapes(figure):
    return [shape for shape in figure["layout"]["shapes"] if shape["type"] == "rect"]


def seen_before_and_after(x, method, **settings):
    """What the two pictures of a table show, by `drawn_sets`."""
    settings = {"gain": 1.0, "bias": 0.0} | settings
    found = normalise(x, method, **settings)
    cells, ends = cells_by_set(found, method), bands(found, method, settings)
    names = ["set"] * len(cells)
    return [
        drawn_sets(dot_chart("t", values, cells, names, [end[at] for end in ends]))
        for at, values in enumerate((x, found.values))
    ]


def test_the_picture_has_a_row_per_token_for_layer_norm_and_per_feature_for_batch_norm():
    for method, sets in (("layer norm", THREE), ("batch norm", THREE.T)):
        before, after = seen_before_and_after(THREE, method, eps=1e-5)
        for row, cells in enumerate(sets, start=1):
            values, (least, most) = before[row]
            assert values == pytest.approx(sorted(cells), rel=1e-3)
            spread = np.sqrt(np.mean((cells - cells.mean()) ** 2) + 1e-5)
            assert (least, most) == pytest.approx((cells.mean() - spread, cells.mean() + spread))
            normed = torch.nn.functional.layer_norm(torch.tensor(cells), cells.shape).tolist()
            assert after[row][0] == pytest.approx(sorted(normed), rel=1e-3)
            assert after[row][1] == (-1, 1)


@pytest.mark.parametrize("method", METHODS)
def test_the_band_goes_wherever_the_norm_takes_its_cells(method):
    before, after = seen_before_and_after(THREE, method, gain=3.0, bias=2.0)
    for row, (values, band) in before.items():
        moved, onto = after[row]
        if method == "dynamic tanh":
            assert band is onto is None
            continue
        share = [(value - band[0]) / (band[1] - band[0]) for value in values]
        assert share == pytest.approx([(value - onto[0]) / (onto[1] - onto[0]) for value in moved], abs=2e-3)
        assert onto == ((2, 5) if method == "min-max" else (-1, 5))


def test_a_picture_of_many_sets_shows_the_first_and_plotly_accepts_it():
    x = np.arange(60.0).reshape(20, 3) ** 1.5
    found = normalise(x, "layer norm")
    figure = dot_chart("t", x, cells_by_set(found, "layer norm"), ["set"] * 20, [(0.0, 1.0, 2.0)] * 20)
    assert len(set(figure["data"][0]["y"])) == len(band_shapes(figure)) == 12
    drawn(figure)


# --- the page ---

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.fixture
def page():
    return lab("normalization")


def chosen(page, name, method=None):
    """The page with an example table, and with another method than its own."""
    page.selectbox(key="normalization_preset").set_value(name)
    sound(page.run())
    if method:
        page.selectbox(key="normalization_method").set_value(method)
        sound(page.run())
    return page


def table_named(page, alt):
    return next(frame.value for frame in page.dataframe if frame.proto.alt == alt + ", table")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_shown_with_its_steps(page, method):
    page.selectbox(key="normalization_method").set_value(method)
    sound(page.run())
    expected = normalise(THREE, method).values[0] + 0.0
    assert f"Out: **[{', '.join(f'{value:.4g}' for value in expected)}]**" in words(page)
    assert ("No statistics:" in words(page)) == (method == "dynamic tanh")
    assert METHODS[method].equation in [latex.value.strip("$\n ") for latex in page.latex]


def test_padding_is_left_out_at_a_toggle(page):
    chosen(page, "six tokens and two pads")
    assert page.multiselect(key="normalization_padding").value == [2, 3]
    close(table_named(page, "Statistics of every set")["mean"], [0.090, 0.311, -0.139, 0.035])
    page.toggle(key="normalization_left_out").set_value(True)
    sound(page.run())
    close(table_named(page, "Statistics of every set")["mean"], [0.120, 0.415, -0.185, 0.047])
    first = next(latex.value for latex in page.latex if r"\mu_{a}" in latex.value)
    assert r"{6} = 0.12" in first  # six tokens in the written sum too, not eight


def test_batch_norm_learns_and_is_used_on_data_that_moved(page):
    chosen(page, "three tokens, batch norm")
    press(page, "Train on this batch once")
    press(page, "Train on it 10 times")
    assert "Batches so far: 11" in words(page)
    learned = updated_running(initial_running(3), THREE, batches=11)
    np.testing.assert_allclose(
        table_named(page, "Statistics of the batch and running statistics").loc["running mean"], learned.mean
    )
    page.session_state["normalization_mode"] = "eval"
    sound(page.run())
    page.number_input(key="normalization_shift").set_value(2.0)
    sound(page.run())
    used = normalise(THREE + 2, "batch norm", running=learned).values[0]
    assert f"Out: **[{', '.join(f'{value:.4g}' for value in used)}]**" in words(page)
    press(page, "Reset the statistics")
    assert "Batches so far: 0" in words(page)


def test_one_token_in_training_is_an_error_in_words_and_in_use_it_is_none(page):
    chosen(page, "three tokens, batch norm")
    press(page, "Train on it 10 times")
    chosen(page, "one token", "batch norm")
    assert "needs more than one token" in words(page)
    press(page, "Train on this batch once")
    assert "Batches so far: 10" in words(page)
    page.session_state["normalization_mode"] = "eval"
    sound(page.run())
    assert not page.error


PARTS = {
    "By hand against torch": ["= 18.35% with 3 features"],
    "What layer norm promises": ["at most sqrt(3 - 1) = 1.4142", "2 of 3 directions are discarded"],
    "Gain and bias": ["the norm can be undone for one token, not for all"],
    "Who sees whom": ["**batch norm** moves 3 of 3 tokens"],
    "What scale costs": [
        "must stay below 2 / 10,000, or the steepest direction diverges; here it is half of that, and the flat "
        f"direction takes **{descent_steps(unequal_features(100)):,} steps**",
        "All other tokens together get",
        "With numbers 10 times larger tanh has a slope of",
    ],
    "A batch's statistics": [
        "The mean of a batch of 8 is off by",
        "step 1 takes its statistics over 6 of them",
    ],
    "Trained nets": ["to reduce overfitting", "Batch norm was proposed against this"],
}


def test_the_lab_has_seven_parts_at_most():
    assert set(PARTS) == set(CLOSER)
    assert len(CLOSER) <= 7


@pytest.mark.parametrize("part", PARTS)
def test_every_closer_look_says_what_it_shows(page, part):
    page.session_state["normalization_part"] = part
    sound(page.run())
    for sentence in PARTS[part]:
        assert sentence in words(page)
    all_drawn([*charts(page).values()])


@pytest.mark.parametrize("far", [0.0, 1.0, 100.0])
def test_an_outlier_leaves_the_others_what_the_formulas_say(far):
    x = np.array([[1.0, 5.0, 2.0], [2.0, 3.0, 7.0], [4.0, 8.0, 1.0], [3.0, 1.0, 6.0]])
    moved = with_outlier(x, 0, 2, far)
    outlying = 7 + far * 6
    assert moved[0, 2] == outlying
    assert range_of_others(moved, 0, 2, "min-max") == pytest.approx((7 - 1) / (outlying - 1))
    spread = torch.tensor([outlying, 7.0, 1.0, 6.0], dtype=torch.float64).std(correction=0).item()
    assert range_of_others(moved, 0, 2, "z-score") == pytest.approx((7 - 1) / spread)
    normed = torch.nn.functional.layer_norm(torch.tensor(x), (3,))[1:, 2]
    assert range_of_others(moved, 0, 2, "layer norm") == pytest.approx((normed.max() - normed.min()).item())


def test_what_a_z_score_says_is_a_reading_of_its_own(page):
    chosen(page, "four numbers")
    page.session_state["normalization_part"] = "What scale costs"
    sound(page.run())
    (shown,) = [one.value for one in page.dataframe if "of a Gaussian below" in one.value.columns]
    assert list(shown["value"]) == ["10", "12", "14", "16"]
    below = torch.distributions.Normal(0, 1).cdf(torch.tensor([-3, -1, 1, 3]) / 5**0.5)
    assert list(shown["of a Gaussian below"]) == [f"{share:.1%}" for share in below.tolist()]
    assert shown["of a Gaussian below"].iloc[-1] == "91.0%"
    assert "above 50% of a Gaussian; a z of 1 is above 84%, a z of 2 above 98%" in words(page)


def test_a_pasted_table_is_used_and_a_wrong_one_leaves_the_last(page):
    page.text_area(key="normalization_paste").set_value("1 2 3 4\n5 6 7 9")
    press(page, "Use it")
    assert page.session_state["normalization_good"].shape == (2, 4)
    page.text_area(key="normalization_paste").set_value("1 2 x")
    press(page, "Use it")
    assert "'x' is not a number. The table is unchanged." in words(page)
    assert page.session_state["normalization_good"].shape == (2, 4)
    press(page, "Reset to the example")
    np.testing.assert_array_equal(page.session_state["normalization_good"], THREE)


@pytest.mark.parametrize("row", [[], [1.0], [0.0] * 401, [[1.0, 2.0]]])
def test_torch_is_asked_for_rows_only(row):
    with pytest.raises(ValueError, match="2 to 400 numbers"):
        layer_norm(RunConfig(), {"row": row, "eps": 1e-5})


# --- wild values ---


@pytest.mark.parametrize("wilder", WILDNESS_FACTORS)
def test_wild_values_are_tamed_and_only_eps_keeps_the_tiny_token_small(wilder):
    x = wild_table(wilder)
    np.testing.assert_allclose(x.std(1), [0.01 / wilder, 1, 100 * wilder, 1], rtol=1e-2)
    assert x[3].mean() == pytest.approx(1000)
    judge = nn.functional.layer_norm(torch.tensor(x), (8,)).numpy()
    np.testing.assert_allclose(normalise(x, "layer norm").values, judge, atol=1e-9)
    assert np.abs(judge).max() <= np.sqrt(7)
    spread = judge.std(1)
    np.testing.assert_allclose(spread[1:], 1, atol=1e-5)
    assert spread[0] == pytest.approx(1 / np.sqrt(1 + 1e-5 * (100 * wilder) ** 2), rel=1e-4)


def test_the_slider_makes_the_table_wilder_and_says_what_became_of_it(trainer_in_this_process):
    page = lab("normalization")
    page.selectbox(key="normalization_preset").set_value("wild values")
    sound(page.run())
    assert "stays small" not in words(page)
    page.select_slider(key="normalization_wilder").set_value(1000)
    sound(page.run())
    np.testing.assert_array_equal(page.session_state["normalization_good"], wild_table(1000))
    most = np.abs(wild_table(1000)).max()
    assert f"Largest |value|: {number(float(most), 3)} before, 2." in words(page)
    assert "Only “tiny” stays small: beside √eps = 0.0032" in words(page)
    assert "comes out with a spread of 0.0032, not 1" in words(page)


@pytest.mark.parametrize(("far", "share"), [(1.0, 1 / 2), (10.0, 1 / 11), (100.0, 1 / 101)])
def test_min_max_and_z_score_leave_the_same_share_and_median_over_iqr_keeps_the_others(far, share):
    x = np.column_stack([[0.0, 1, 2, 3, 4, 5, 6], np.arange(7.0)])
    moved = with_outlier(x, 6, 0, far)  # 6 + 6 far: the others stay in 0 to 5
    expected = 5 / (6 + 6 * far)
    assert expected == pytest.approx(share, rel=0.2)
    for method in ("min-max", "z-score"):
        assert share_of_range(moved, 6, 0, method) == pytest.approx(expected, rel=1e-12)
    quartiles = torch.quantile(torch.tensor(moved[:, 0]), torch.tensor([0.25, 0.75], dtype=torch.float64))
    assert robust_range_of_others(moved, 6, 0) == pytest.approx(5 / (quartiles[1] - quartiles[0]).item())
    assert robust_range_of_others(moved, 6, 0) == robust_range_of_others(x, 6, 0)
    assert range_of_others(moved, 6, 0, "z-score") < range_of_others(x, 6, 0, "z-score")
    assert np.isnan(robust_range_of_others(np.ones((5, 2)), 0, 0))
    assert np.isnan(share_of_range(np.ones((5, 2)), 0, 0, "min-max"))


def test_a_z_score_stands_beside_the_shares_of_a_gaussian_and_of_the_table():
    x = np.array([1.0, 2.0, 2.0, 3.0, 40.0])
    for at in range(5):
        z, gaussian, table = z_score_and_shares_below(x, at)
        assert z == pytest.approx((x[at] - x.mean()) / x.std())
        assert gaussian == pytest.approx(
            torch.distributions.Normal(0, 1).cdf(torch.tensor(z).double()).item(), abs=1e-6
        )
        assert table == sum(one < x[at] for one in x) / 5
