"""The gradient lab: the chain by hand, the derivatives against
torch and the sheet's table, and the product against real nets.
"""

import re
from itertools import product

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from components.charts.colour import SIGNAL
from components.labs.gradients.chain import chain_chart, paths_sentence, updates_sentence
from components.labs.gradients.net import INITS, anchored_lines, expectation_sentence, net_chart
from components.labs.gradients.slopes import curve_chart
from models.insight.gaussian import ACTIVATIONS as FUNCTIONS
from models.insight.gaussian import moments, slope, steepest_point, value
from models.insight.theory import branch_gains, law, weight_variance
from models.labs.chain import (
    PRESETS,
    after_step,
    derivatives,
    path_contributions,
    random_residual_factors,
    residual_factors,
    unchanged_in_float32,
    upstream_gradients,
)
from models.nets.branches import ACTIVATIONS
from models.spec import RunConfig
from models.spec.vocabulary import ACTIVATIONS as NAMED
from models.training import SeedRuns, profile_at_init
from tests import hand
from tests.app_page import charts, sound, words
from tests.drawn import all_drawn
from tests.labs_page import lab
from tests.tables import table_of

DECADES = 0.35  # by which one seed of width 64 may miss the formula over 20 blocks


# --- the chain by hand ---


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


def test_the_update_is_the_weight_minus_rate_times_gradient():
    np.testing.assert_allclose(after_step(np.array([0.5, 1.0]), np.array([2.0, -4.0]), 0.1), [0.3, 1.4])


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


def test_a_weight_whose_update_is_below_its_last_digit_stands_still_in_float32():
    assert unchanged_in_float32(np.full(2, 0.5), np.array([1e-9, 1e-3]), 0.1).tolist() == [True, False]


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


def test_what_makes_a_gradient_explode_under_a_skip_needs_no_norm_to_be_cured():
    """The lab names a norm, small weights and a gate: with the last two the product stays near 1 at any depth."""
    factors = np.full(100, 0.5)
    assert upstream_gradients(residual_factors(factors))[0] > 100
    for small in (factors / 100, 0.0 * factors):
        assert upstream_gradients(residual_factors(small))[0] == pytest.approx(1, abs=1)


def test_the_product_with_a_skip_multiplied_out_is_a_sum_over_all_choices_of_skip_or_branch():
    factors = np.random.default_rng(5).normal(size=7)
    past = np.zeros(8)
    for chosen in product((False, True), repeat=7):
        past[sum(chosen)] += np.prod(factors[np.array(chosen)])
    np.testing.assert_allclose(path_contributions(factors), past, atol=1e-12)
    assert past.sum() == pytest.approx(upstream_gradients(residual_factors(factors))[0])
    assert "over $2^{10}$ paths" in paths_sentence(np.full(10, 0.5))
    assert "1 through no branch, 5 through one, 51.7 through two or more." in paths_sentence(np.full(10, 0.5))


# --- the derivatives ---


def test_every_activation_of_the_app_has_its_derivative():
    assert list(FUNCTIONS) == list(NAMED)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_derivative_are_torchs(name):
    z = torch.linspace(-5, 5, 201, dtype=torch.float64, requires_grad=True)
    phi = ACTIVATIONS[name]()(z)
    phi.sum().backward()
    assert z.grad is not None
    np.testing.assert_allclose(value(name, z.detach().numpy()), phi.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(slope(name, z.detach().numpy()), z.grad.numpy(), atol=1e-12)


def test_the_steepest_places_are_known():
    assert steepest_point("sigmoid") == (0.0, 0.25)
    assert steepest_point("tanh") == (0.0, 1.0)
    assert steepest_point("gelu")[0] == pytest.approx(2**0.5, abs=1e-3)
    assert steepest_point("relu")[1] == 1


# --- the product against real nets ---


@pytest.mark.parametrize("init", INITS)
def test_a_gain_is_the_variance_of_the_weights_times_their_inputs(init):
    from models.nets import build_model

    model = build_model(RunConfig(init=init, depth=4, width=64))
    drawn = torch.cat([w.flatten() for name, w in model.named_parameters() if ".function.w" in name and w.ndim == 2])
    assert 64 * weight_variance(init, 64, 64, last=False, sublayers=4) == pytest.approx(
        64 * drawn.var().item(), rel=0.04
    )


FOLLOWS = {
    "plain, one layer": {"residual": False, "norm": "none", "layers_per_branch": 1},
    "plain sigmoid": {"residual": False, "norm": "none", "layers_per_branch": 1, "activation": "sigmoid"},
    "plain, torch's default": {"residual": False, "norm": "none", "init": "torch"},
    "residual only": {"norm": "none"},
    "residual only, tanh of one layer": {"norm": "none", "activation": "tanh", "layers_per_branch": 1},
    "pre-norm": {},
    "pre-norm, one layer": {"layers_per_branch": 1, "activation": "gelu"},
    "post-norm, one layer": {"placement": "post-norm", "layers_per_branch": 1},
    "norm without skip": {"placement": "post-norm", "residual": False, "layers_per_branch": 1},
}


@pytest.mark.parametrize("case", FOLLOWS)
def test_the_formula_is_what_four_seeds_do_on_average(case):
    cfg = RunConfig(depth=20, **FOLLOWS[case])
    runs = SeedRuns(cfg, range(4), frames=False)
    runs.advance(1)
    act = np.mean([np.log10(trace.act_rms[0, -1] / trace.act_rms[0, 0]) for trace in runs.traces()])
    grad = np.mean([np.log10(trace.grad_rms[0, 0] / trace.grad_rms[0, -1]) for trace in runs.traces()])
    product = law(cfg)
    assert np.log10(product.mean_square[-1] ** 0.5) == pytest.approx(act, abs=DECADES)
    assert np.log10(product.product[0]) == pytest.approx(grad, abs=DECADES)


def test_the_formula_is_drawn_from_where_the_measurement_starts():
    cfg = RunConfig(depth=6, residual=False, norm="none")
    trace = profile_at_init(cfg)
    found = anchored_lines([trace, trace], law(cfg))
    measured, formula = found["Signal of the net"]
    assert formula[0] == pytest.approx(measured[0, 0])
    measured, formula = found["Gradient of the net"]
    assert formula[-1] == pytest.approx(measured[0, -1])
    assert formula[0] == pytest.approx(measured[0, -1] * 0.5**3)


# --- what is said ---


def test_the_laws_differ_by_arrangement():
    fields = [
        {"norm": "none", "placement": "none"},
        {"placement": "post-norm"},
        {},
        {"residual": False},
        {"residual": False, "norm": "none", "init": "he", "layers_per_branch": 1},
        {"residual": False, "norm": "none"},
    ]
    assert len({expectation_sentence(RunConfig(**one)) for one in fields}) == len(fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"placement": "post-norm"}, "does not vanish"),
        ({"placement": "post-norm", "activation": "sigmoid", "depth": 64}, "norms take more"),
        ({"placement": "post-norm", "activation": "tanh", "depth": 100}, "branches return more"),
        ({"norm": "none", "depth": 50}, "over 50 layers the gradient explodes"),
        ({"norm": "none", "depth": 50, "activation": "sigmoid"}, "over 50 layers the gradient grows only "),
        (
            {"norm": "none", "depth": 10, "layers_per_branch": 1},
            "over 10 layers the gradient grows more than the formula says",
        ),
        ({"norm": "none", "residual": False, "init": "he", "layers_per_branch": 1}, "try six seeds"),
        ({"norm": "none", "residual": False, "init": "he"}, "all layers multiply"),
    ],
)
def test_a_law_says_what_the_product_of_its_own_setting_does(fields, words):
    assert words in expectation_sentence(RunConfig(**fields))


@pytest.mark.parametrize(("activation", "depth"), [("identity", 6), ("relu", 8), ("sigmoid", 50)])
def test_a_gradient_that_does_not_explode_is_said_to_grow_as_often_as_the_product_of_its_branches(activation, depth):
    """The product of √(1 + E φ'²) over the stream's sizes, from 40,000 draws: (1 + v)^(L/2) where v stays."""
    curves = {
        "identity": (lambda z: z, np.ones_like),
        "relu": (lambda z: np.maximum(z, 0), lambda z: z > 0),
        "sigmoid": (sig, lambda z: sig(z) * sig(-z)),
    }
    curve, slope = curves[activation]
    z, square, grown = np.random.default_rng(3).standard_normal(40_000), 1.0, 1.0
    for _ in range(depth):
        grown *= np.sqrt(1 + np.mean(slope(np.sqrt(square) * z) ** 2.0))
        square += np.mean(curve(np.sqrt(square) * z) ** 2)
    said = expectation_sentence(RunConfig(norm="none", activation=activation, depth=depth))
    found = re.search(rf"over {depth} layers the gradient grows only ([\d.]+) times", said)
    assert found is not None
    assert float(found[1]) == pytest.approx(grown, rel=0.08)
    assert "bounded" not in said


def sig(z):
    return 1 / (1 + np.exp(-z))


# --- figures ---


def figures():
    cfg = RunConfig(depth=3, width=16, batch=8)
    traces = [profile_at_init(cfg)]
    (title, (measured, formula)), *_ = anchored_lines(traces, law(cfg)).items()
    yield chain_chart(np.array([0.5, 0.0, -1.0, 3.0]))
    yield chain_chart(np.full(100, 1e-9))
    yield curve_chart("φ", list(FUNCTIONS), False, 0.0)
    yield curve_chart("φ'", [], True, 0.0)
    yield net_chart(title, SIGNAL, traces, measured, formula)
    yield net_chart(title, SIGNAL, traces * 2, np.concatenate([measured, 2 * measured]), formula)
    yield net_chart(title, SIGNAL, traces, np.full_like(measured, np.nan), formula)


def test_plotly_json_and_the_table_accept_every_chart():
    for figure in all_drawn([*figures()]):
        table_of(figure)


# --- the page ---


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return lab("gradients")


def said(page: AppTest) -> str:
    return words(page) + "\n".join(part.value for part in page.latex)


def test_the_page_opens_with_chain_derivatives_and_a_measured_net(page):
    assert {"Gradient along the chain", "Derivative φ'(z)", "Gradient of the net"} <= set(charts(page))
    assert r"0.5^{10}=0.000977" in said(page)
    assert "Measured (one seed)" in words(page)


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


def test_a_switched_net_is_measured_anew(page):
    before = charts(page)["Gradient of the net"]
    page.toggle(key="gradients_net_residual").set_value(True)
    page.selectbox(key="gradients_net_norm").select("post-norm")
    page.session_state["gradients_net_seeds"] = 6
    page.session_state["gradients_net_layers"] = 2
    page.slider(key="gradients_net_depth").set_value(12)
    sound(page.run())
    assert charts(page)["Gradient of the net"] != before
    assert "6 seeds, geometric mean" in words(page)
    assert "before training the gradient does not vanish" in words(page)
