"""The bowl of least squares: path, steps and contours by autograd on the loss itself."""

import numpy as np
import pytest
import torch

from exhibits.labs.normalization.bowl.numbers import (
    CONVERGED_SHARE,
    contour,
    correlation,
    descent_path,
    steps_to_converge,
)
from exhibits.labs.normalization.bowl.page import steps_text
from exhibits.labs.normalization.table.numbers import TABLES
from models.labs.normalization import normalise
from tests.app_page import charts, sound, words
from tests.labs_page import lab

SOME = np.random.default_rng(5).normal((1.0, -0.5), (2.0, 0.6), (7, 2))
SALARY = TABLES["salary and bonus"].values


def loss(x, w):
    return 0.5 * ((x @ w) ** 2).mean()


def by_autograd(x, times, steps):
    """Descent on the loss of (N, 2) features; the largest curvature is autograd's too."""
    x, w = torch.tensor(x), torch.ones(2, dtype=torch.float64)
    curvature = torch.linalg.eigvalsh(torch.autograd.functional.hessian(lambda w: loss(x, w), w))[-1]
    places = [w.numpy()]
    for _ in range(steps):
        w = w.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(x, w), w)
        w = (w - times / curvature * gradient).detach()
        places.append(w.numpy())
    return np.array(places)


@pytest.mark.parametrize("times", [0.3, 1.0, 1.9, 2.1])
@pytest.mark.parametrize("x", [SOME, SALARY, normalise(SALARY, "z-score").values])
def test_the_path_and_its_steps_are_those_of_autograd(x, times):
    np.testing.assert_allclose(descent_path(x, times, 20), by_autograd(x, times, 20), rtol=1e-6, atol=1e-9)
    steps = steps_to_converge(x, times)
    away = np.linalg.norm(by_autograd(x, times, 2000), axis=1) / np.sqrt(2)
    arrived = np.flatnonzero(away <= CONVERGED_SHARE)
    if len(arrived):
        assert steps == arrived[0]
    else:
        assert steps is None or steps > 2000
    if times > 2:
        assert steps is None


def test_a_contour_has_one_loss():
    losses = [loss(SOME, w) for w in contour(SOME, 0.36)]
    np.testing.assert_allclose(losses, 0.36 * loss(SOME, np.ones(2)))


def test_the_page_draws_both_bowls_and_says_where_none_is():
    page = lab("normalization")
    page.session_state["normalization_part"] = "What scale costs"
    sound(page.run())
    assert {"Raw", "Standardised"} <= set(charts(page))
    assert "On these two features, descent takes" in words(page)
    page.session_state["normalization_bowl_times"] = 2.2
    sound(page.run())
    assert "On these two features, descent diverges raw and diverges standardised" in words(page)


def test_descent_beyond_its_bound_diverges():
    assert steps_text(None, 2.05) == "diverges"
    assert steps_text(None, 2.0) == "does not arrive in 100,000 steps"
    assert np.abs(descent_path(SALARY, 2.05, 200)[-1]).max() > 100


def test_standardising_leaves_the_correlation():
    r = correlation(SALARY)
    assert r == pytest.approx(np.corrcoef(SALARY.T)[0, 1])
    assert r == pytest.approx(correlation((SALARY - SALARY.mean(0)) / SALARY.std(0)))
    assert correlation(np.array([[1.0, 2], [1, 3]])) == 0
