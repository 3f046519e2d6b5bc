"""The product against real nets, and what is said of both."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.charts.colour import SIGNAL
from exhibits.labs.gradients.net.page import anchored_lines, expectation_sentence, net_chart
from models.insight.theory import law
from models.spec import RunConfig
from models.training import SeedRuns, profile_at_init
from tests.app_page import charts, sound, words
from tests.labs_page import lab, said

DECADES = 0.35  # by which one seed of width 64 may miss the formula over 20 blocks


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
def test_growth_is_the_product_of_the_branches(activation, depth):
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


def figures():
    cfg = RunConfig(depth=3, width=16, batch=8)
    traces = [profile_at_init(cfg)]
    (title, (measured, formula)), *_ = anchored_lines(traces, law(cfg)).items()
    yield net_chart(title, SIGNAL, traces, measured, formula)
    yield net_chart(title, SIGNAL, traces * 2, np.concatenate([measured, 2 * measured]), formula)
    yield net_chart(title, SIGNAL, traces, np.full_like(measured, np.nan), formula)


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return lab("gradients")


def test_the_page_opens_with_chain_derivatives_and_a_measured_net(page):
    assert {"Gradient along the chain", "Derivative φ'(z)", "Gradient of the net"} <= set(charts(page))
    assert r"0.5^{10}=0.000977" in said(page)
    assert "Measured (one seed)" in words(page)


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
