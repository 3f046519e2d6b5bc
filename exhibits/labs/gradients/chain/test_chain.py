"""The chain by hand: products, derivatives and updates against torch, and what the page says of them."""

from itertools import product

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from exhibits.labs.gradients.chain.numbers import (
    PRESETS,
    derivatives,
    path_contributions,
    random_residual_factors,
    residual_factors,
    upstream_gradients,
)
from exhibits.labs.gradients.chain.page import chain_chart, paths_sentence, updates_sentence
from models.insight.gaussian import ACTIVATIONS as FUNCTIONS
from models.insight.gaussian import moments, steepest_point
from models.insight.theory import branch_gains
from models.spec import RunConfig
from tests import hand
from tests.app_page import sound, words
from tests.labs_page import lab, said

HEADINGS = {"exhibits.labs.gradients.chain.numbers: example": {*PRESETS}}


def test_a_product_of_factors_below_1_vanishes_and_the_skip_adds_1_to_each():
    """By torch: x_l = f_l x_{l-1}, with and without the skip."""
    factors = np.array(PRESETS["Factors below 1"])
    assert (np.abs(factors) < 1).all()
    for skip, own in ((0.0, factors), (1.0, residual_factors(factors))):
        points = [torch.ones((), dtype=torch.float64, requires_grad=True)]
        for factor in factors:
            points.append(skip * points[-1] + factor * points[-1])
        found = torch.autograd.grad(points[-1], points)
        np.testing.assert_allclose(upstream_gradients(own), [float(g) for g in found])
    assert abs(upstream_gradients(factors)[0]) < 0.01
    assert upstream_gradients(residual_factors(factors))[0] > 100


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("activation", hand.ACTIVATIONS)
def test_the_derivative_by_one_weight_is_error_times_later_layers_times_slope_times_input(activation, skip):
    """By torch's autograd of half the squared error of the chain."""
    weights = np.array([0.9, -0.5, 1.8, 0.3, -1.2, 0.7])
    leaves = [torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in weights]
    x = torch.tensor(1.5, dtype=torch.float64)
    for leaf in leaves:
        x = skip * x + hand.ACTIVATIONS[activation](leaf * x)
    expected = torch.autograd.grad((x - 0.25) ** 2 / 2, leaves)
    found = derivatives(weights, 1.5, 0.25, FUNCTIONS[activation], skip=skip)
    assert found.prediction == pytest.approx(x.item())
    np.testing.assert_allclose(found.by_weight, [one.item() for one in expected], rtol=1e-9)
    at = 2
    assert found.by_weight[at] == found.error * found.later_factors[at] * found.slopes[at] * found.inputs[at]
    assert found.error == found.prediction - 0.25


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (
            (-1.0,) * 11,
            "In float32 0 of 11 weights stay as they are without a residual, 11 with one: their update is 0",
        ),
        ((0.5,) * 60, "In float32 60 of 60 weights stay as they are without a residual, 0 with one"),
        ((0.5, 0.5), "All 2 weights change, the first by 0.0375 without a residual and by -0.188 with one."),
    ],
)
def test_weights_that_stay_are_counted_without_and_with_a_skip(factors, said):
    weights = np.array(factors)
    bare, skipped = (derivatives(weights, 1, 1, FUNCTIONS["identity"], skip=skip).by_weight for skip in (False, True))
    assert said in updates_sentence(weights, 0.1, bare, skipped)


def test_random_factors_add_in_squares_as_a_random_matrix_does():
    g = np.random.default_rng(0).normal(size=400)
    jacobian = 0.5 * np.random.default_rng(1).normal(size=(400, 400)) / 20
    measured = np.linalg.norm(g + jacobian.T @ g) / np.linalg.norm(g)
    assert random_residual_factors(np.array([0.5]))[0] == pytest.approx(measured, rel=0.03)


def test_the_presets_hold_what_the_derivatives_say():
    assert PRESETS["Sigmoid at Xavier"][0] == pytest.approx(moments("sigmoid").slope ** 0.5, abs=5e-5)
    assert PRESETS["Sigmoid, its bound 1/4"][0] == steepest_point("sigmoid")[1]
    torchs = RunConfig(layers_per_branch=1, init="torch", depth=1)
    assert PRESETS["ReLU at PyTorch's default"][0] == pytest.approx(branch_gains(torchs, "mlp")[1] ** 0.5, abs=5e-5)
    xavier = RunConfig(layers_per_branch=1, init="xavier", depth=1)
    assert PRESETS["ReLU at Xavier"][0] == pytest.approx(branch_gains(xavier, "mlp")[1] ** 0.5, abs=5e-5)
    assert branch_gains(RunConfig(layers_per_branch=1, init="he", depth=1), "mlp")[1] == pytest.approx(1.0)
    assert upstream_gradients(residual_factors(np.array(PRESETS["A branch that cancels its skip"])))[0] == 0


def test_the_product_expands_into_all_paths():
    factors = np.random.default_rng(5).normal(size=7)
    past = np.zeros(8)
    for chosen in product((False, True), repeat=7):
        past[sum(chosen)] += np.prod(factors[np.array(chosen)])
    np.testing.assert_allclose(path_contributions(factors), past, atol=1e-12)
    assert past.sum() == pytest.approx(upstream_gradients(residual_factors(factors))[0])
    assert "over $2^{10}$ paths" in paths_sentence(np.full(10, 0.5))
    assert "1 through no branch, 5 through one, 51.7 through two or more." in paths_sentence(np.full(10, 0.5))


def figures():
    yield chain_chart(np.array([0.5, 0.0, -1.0, 3.0]))
    yield chain_chart(np.full(100, 1e-9))


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return lab("gradients")


def test_the_depth_goes_to_100_and_the_weights_stand_still(page):
    page.slider(key="gradients_depth").set_value(100)
    sound(page.run())
    assert r"0.5^{100}" in said(page)
    # Each derivative is (0.5^100 - 1) * 0.5^99, whose update is far below half of float32's last digit of 0.5.
    assert "In float32 100 of 100 weights stay as they are without a residual, 0 with one" in words(page)


def test_factors_of_ones_own_are_multiplied_and_bad_ones_leave_the_last_good(page):
    page.session_state["gradients_mode"] = "factors of my own"
    sound(page.run())
    page.text_area(key="gradients_own_paste").set_value("2, 3, -4")
    page.button(key="gradients_own_use").click()
    sound(page.run())
    assert r"2\cdot 3\cdot (-4)=-24" in said(page)
    for bad in ("2 nan", "two", "", "1 2\n3"):
        page.text_area(key="gradients_own_paste").set_value(bad)
        page.button(key="gradients_own_use").click()
        sound(page.run())
        assert r"2\cdot 3\cdot (-4)=-24" in said(page)
        assert page.error
