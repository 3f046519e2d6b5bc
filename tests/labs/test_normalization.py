"""The normalisation lab: the worked examples with their right numbers, torch as the judge, and the page itself."""

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.labs.normalization.discarded.page import directions
from exhibits.labs.normalization.table.numbers import (
    TABLES,
)
from exhibits.labs.normalization.table.page import set_statistics
from models.labs.normalization import METHODS, initial_running, normalise, set_labels, updated_running
from models.labs.normalization_laws import TINY_EPS, changes_by_token, jacobian, with_spread

PADDED = TABLES["six tokens and two pads"]
SOME = np.random.default_rng(3).normal(1.5, 2.0, (5, 6))


def close(found, expected, digits=3):
    np.testing.assert_allclose(found, expected, atol=0.51 * 10**-digits)


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


def test_z_score_and_min_max():
    four = TABLES["four numbers"]
    close(normalise(four.values, "z-score").values[3], [1.342, 1.342])
    assert "both at 1.342 with the variance over n" in four.note
    close(normalise(four.values, "z-score", unbiased=True).values[3], [1.162, 1.162])
    close(normalise(TABLES["salary and bonus"].values, "min-max").values.T, [[0, 0.5, 1], [1, 0.4, 0]])


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


JUDGES = {
    "layer norm": lambda x: nn.functional.layer_norm(x, x.shape[1:]),
    "rms norm": lambda x: nn.functional.rms_norm(x, x.shape[1:], eps=1e-5),
    "group norm": lambda x: nn.functional.group_norm(x, 3),
    "batch norm": lambda x: nn.functional.batch_norm(x, None, None, training=True),
    "instance norm": lambda x: nn.functional.instance_norm(x.T[None])[0].T,
    "joint layer norm": lambda x: nn.functional.layer_norm(x, x.shape),
    "dynamic tanh": lambda x: torch.tanh(0.5 * x),
    "dynamic erf": lambda x: torch.erf(0.5 * x),
    "z-score": lambda x: (x - x.mean(0)) / x.std(0, correction=0),
    "min-max": lambda x: (x - x.amin(0)) / (x.amax(0) - x.amin(0)),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_torchs(method):
    expected = JUDGES[method](torch.tensor(SOME)).numpy()
    np.testing.assert_allclose(normalise(SOME, method, groups=3).values, expected, rtol=1e-10, atol=1e-12)


def test_dynamic_erf_takes_its_slope_and_shift():
    found = normalise(SOME, "dynamic erf", alpha=1.3, shift=-0.4, gain=2.0, bias=0.1).values
    np.testing.assert_allclose(found, 2 * torch.erf(1.3 * torch.tensor(SOME) - 0.4).numpy() + 0.1, rtol=1e-10)


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
        assert found.undefined.all() == (method not in {"rms norm", "dynamic tanh", "dynamic erf"}), method
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
