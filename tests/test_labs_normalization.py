"""The normalisation lab: the worked examples of the notes with their right numbers, torch as the judge, and the page itself."""

import numpy as np
import pytest
import torch
from torch import nn

from models.labs.normalization import SHARED, by_hand, descent_steps, jacobian, normalised, remembered
from models.labs.notes import TABLES
from tests.app_page import sound, words
from tests.labs_page import lab

THREE = TABLES["three tokens, layer norm"].values
PADDED = TABLES["six tokens and two pads"]
SOME = np.random.default_rng(3).normal(1.5, 2.0, (5, 6))


def close(found, expected, digits=3):
    np.testing.assert_allclose(found, expected, atol=0.51 * 10**-digits)


# --- the worked examples ---


def test_example_1_layer_norm_of_one_token():
    x = TABLES["one token"].values
    close(x.mean(), 1.0)
    close(x.var(), 1.1667, 4)
    close(normalised(x, "layer norm").values, [[0.463, 0.926, -1.389]])


def test_example_5_layer_norm_of_three_tokens():
    close(
        normalised(THREE, "layer norm").values,
        [[0.267, 1.069, -1.336], [1.389, -0.463, -0.926], [0.889, -1.397, 0.508]],
    )


def test_example_6_batch_norm_of_the_same_and_what_was_printed():
    example = TABLES["three tokens, batch norm"]
    found = normalised(example.values, "batch norm")
    close(found.centre[0], [2, 0.667, 0.333])
    close(example.values.var(0), [0.667, 1.556, 1.056])
    close(found.values.T, [[-1.225, 1.225, 0], [1.069, 0.267, -1.336], [-1.298, 0.162, 1.136]])
    assert "1.11" in example.note
    assert "1.056" in example.note


def test_example_7_z_score_and_min_max():
    close(normalised(TABLES["four numbers"].values, "z-score").values[3, 0], 1.342)
    close(normalised(TABLES["salary and bonus"].values, "min-max").values.T, [[0, 0.5, 1], [1, 0.4, 0]])


def test_example_8_padding_spoils_batch_norm_and_not_layer_norm():
    counted = np.array([not name.startswith("pad") for name in PADDED.rows])
    close(normalised(PADDED.values, "batch norm").centre[0], [0.090, 0.311, -0.139, 0.035])
    close(normalised(PADDED.values, "batch norm", counted=counted).centre[0], [0.120, 0.415, -0.185, 0.047])
    alone, beside = (normalised(x, "layer norm").values for x in (PADDED.values[counted], PADDED.values))
    np.testing.assert_array_equal(beside[counted], alone)
    np.testing.assert_array_equal(beside[~counted], 0)


@pytest.mark.parametrize(("width", "percent"), [(3, 18.4), (4, 13.4), (8, 6.5), (64, 0.78)])
def test_example_15_layer_norm_by_hand_comes_out_too_short(width, percent):
    x = np.random.default_rng(width).normal(size=width)
    shrunk = 1 - np.linalg.norm(by_hand(x, 1e-9)) / np.linalg.norm(normalised(x[None], "layer norm", eps=1e-9).values)
    assert 100 * shrunk == pytest.approx(percent, abs=0.051)


def test_example_17_batch_norm_in_training_and_in_use():
    two = normalised(np.array([[1.0, 2.0], [3.0, -5.0]]), "batch norm", eps=0.0).values
    np.testing.assert_allclose(two, [[-1, 1], [1, -1]])
    with pytest.raises(ValueError, match="more than one token"):
        normalised(SOME[:1], "batch norm")
    assert np.isfinite(normalised(SOME[:1], "layer norm").values).all()
    used = normalised(SOME[:1], "batch norm", running=remembered(SOME, 3)).values
    assert np.isfinite(used).all()


def test_example_23_gain_and_bias_undo_the_norm():
    x = np.array([[1.5, 2.0, -0.5]])
    again = normalised(x, "layer norm", gain=np.sqrt(x.var() + 1e-5), bias=x.mean()).values
    np.testing.assert_allclose(again, x, atol=1e-12)


def test_example_28_scale_decides_descent():
    assert descent_steps((1.0, 1.0)) == 1
    plain = descent_steps((1.0, 1e4))
    assert plain == pytest.approx(np.log(1e-3 * np.sqrt(2)) / np.log(1 - 1e-4), abs=2)  # the flat direction, solved exactly
    assert descent_steps((1.0, 1e4), most=100) is None


# --- torch as the judge ---

JUDGES = {
    "layer norm": lambda x: nn.functional.layer_norm(x, x.shape[1:]),
    "rms norm": lambda x: nn.functional.rms_norm(x, x.shape[1:], eps=1e-5),
    "group norm": lambda x: nn.functional.group_norm(x, 3),
    "batch norm": lambda x: nn.functional.batch_norm(x, None, None, training=True),
    "instance norm": lambda x: nn.functional.instance_norm(x.T[None])[0].T,
    "dynamic tanh": lambda x: torch.tanh(0.5 * x),
    "z-score": lambda x: (x - x.mean(0)) / x.std(0, correction=0),
    "min-max": lambda x: (x - x.amin(0)) / (x.amax(0) - x.amin(0)),
}


@pytest.mark.parametrize("method", SHARED)
def test_every_method_is_torchs(method):
    expected = JUDGES[method](torch.tensor(SOME)).numpy()
    np.testing.assert_allclose(normalised(SOME, method, groups=3).values, expected, rtol=1e-10, atol=1e-12)


def test_running_statistics_are_those_of_torch_after_so_many_batches():
    module = nn.BatchNorm1d(6).double()
    for _ in range(7):
        module(torch.tensor(SOME))
    found = remembered(SOME, 7)
    np.testing.assert_allclose(found.mean, module.running_mean.numpy())
    np.testing.assert_allclose(found.variance, module.running_var.numpy())
    module.eval()
    used = normalised(SOME, "batch norm", running=found).values
    np.testing.assert_allclose(used, module(torch.tensor(SOME)).detach().numpy())


@pytest.mark.parametrize(("method", "lost"), [("layer norm", 2), ("rms norm", 1)])
def test_the_jacobian_is_autograds_and_swallows_its_directions(method, lost):
    x = SOME[0]
    expected = torch.autograd.functional.jacobian(lambda t: JUDGES[method](t[None])[0], torch.tensor(x)).numpy()
    found = jacobian(x, method)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    singular = np.linalg.svd(found, compute_uv=False)
    assert int((singular < 1e-4 * singular.max()).sum()) == lost


def test_groups_reach_from_layer_norm_to_all_zeros():
    np.testing.assert_allclose(normalised(SOME, "group norm", groups=1).values, normalised(SOME, "layer norm").values)
    np.testing.assert_array_equal(normalised(SOME, "group norm", groups=6).values, 0)


def test_a_constant_token_or_feature_is_not_divided_by_zero():
    flat = np.ones((3, 4))
    for method in SHARED:
        assert np.isfinite(normalised(flat, method, eps=0.0).values).all(), method


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
        normalised(SOME, **args)


# --- the page ---

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.fixture
def page():
    return lab("normalization")


@pytest.mark.parametrize("method", SHARED)
def test_every_method_is_shown_with_its_steps(page, method):
    page.selectbox(key="normalization_method").set_value(method)
    sound(page.run())
    assert "times gain 1, plus bias 0" in words(page)
    assert ("No statistics at all" in words(page)) == (method == "dynamic tanh")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_the_notes_can_be_chosen(page, name):
    page.selectbox(key="normalization_preset").set_value(name)
    sound(page.run())
    assert page.selectbox(key="normalization_method").value == TABLES[name].method
    assert TABLES[name].note in words(page)
    assert not page.error


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("By hand against torch", "18.4% shorter"),
        ("What the norm swallows", "2 of 3 directions are swallowed"),
        ("Gain and bias", "comes out as it went in"),
        ("What scale costs", f"takes **{descent_steps((1.0, 1e4)):,} steps**"),
    ],
)
def test_every_closer_look_says_what_it_shows(page, part, sentence):
    page.session_state["normalization_part"] = part
    sound(page.run())
    assert sentence in words(page)


def test_torch_is_asked_and_agrees(page):
    page.session_state["normalization_part"] = "By hand against torch"
    sound(page.run())
    rows = page.dataframe[-1].value
    assert np.abs(rows.loc["torch - formula"].to_numpy(float)).max() < 1e-12
    assert np.abs(rows.loc["torch - by hand"].to_numpy(float)).max() > 0.1


def test_a_pasted_table_is_used_and_a_wrong_one_leaves_the_last(page):
    page.text_area(key="normalization_paste").set_value("1 2 3 4\n5 6 7 9")
    page.button(key="normalization_use").click()
    sound(page.run())
    assert page.session_state["normalization_good"].shape == (2, 4)
    page.text_area(key="normalization_paste").set_value("1 2 x")
    page.button(key="normalization_use").click()
    sound(page.run())
    assert "'x' is not a number. The table is as it was." in words(page)
    assert page.session_state["normalization_good"].shape == (2, 4)


def test_one_token_in_training_is_an_error_in_words_and_in_use_it_is_none(page):
    page.selectbox(key="normalization_preset").set_value("one token")
    sound(page.run())
    page.selectbox(key="normalization_method").set_value("batch norm")
    sound(page.run())
    assert "needs more than one token" in words(page)
    page.selectbox(key="normalization_method").set_value("layer norm")
    sound(page.run())
    assert not page.error
