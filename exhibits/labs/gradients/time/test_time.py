"""A gradient through time: every Jacobian by autograd, the linear cell by its closed form, and the page."""

import numpy as np
import pytest
import torch

from exhibits.labs.gradients.time.numbers import CELLS, FEATURES, attention_gradient_by_distance, gradient_by_distance
from tests.app_page import charts, sound, words
from tests.labs_page import lab


def drawn(tokens, seed):
    source = np.random.default_rng(seed)
    matrices = [source.standard_normal((FEATURES, FEATURES)) / 4 for _ in range(3)]
    x = source.standard_normal((tokens, FEATURES))
    return [torch.tensor(one) for one in (*matrices, x, source.standard_normal((FEATURES, FEATURES)) / 4)]


def sizes(function, x):
    jacobian = torch.autograd.functional.jacobian(function, x)  # (D, T, D)
    return (jacobian.square().sum((0, 2)).sqrt() / 4).flip(0).numpy()


@pytest.mark.parametrize("bent", [True, False])
@pytest.mark.parametrize("cell", CELLS)
def test_the_gradient_of_each_cell_is_that_of_autograd(cell, bent):
    w, u, v, x, _ = drawn(7, 3)

    def last(x):
        h = torch.zeros(FEATURES, dtype=x.dtype)
        for one in x:
            new = 0.9 * w @ h + u @ one
            new = torch.tanh(new) if bent else new
            gate = torch.sigmoid(v @ h + 2)
            h = {"plain": new, "residual": h + new, "gate": gate * h + (1 - gate) * new}[cell]
        return h

    np.testing.assert_allclose(gradient_by_distance(7, 0.9, cell, 3, bent=bent), sizes(last, x), rtol=1e-9)


def test_the_gradient_past_attention_is_that_of_autograd():
    _, w_v, w_k, x, w_q = drawn(7, 3)

    def last(x):
        scores = (x @ w_k.T) @ (w_q @ x[-1]) / 4
        return torch.softmax(scores, 0) @ (x @ w_v.T)

    np.testing.assert_allclose(attention_gradient_by_distance(7, 3), sizes(last, x), rtol=1e-9)


def test_without_tanh_the_gradient_is_a_power_of_the_matrix():
    w, u, _, _, _ = (one.numpy() for one in drawn(20, 0))
    power = np.linalg.matrix_power(0.5 * w, 19)
    assert gradient_by_distance(20, 0.5, "plain", 0, bent=False)[-1] == pytest.approx(np.linalg.norm(power @ u) / 4)


def test_another_cell_is_refused_and_a_long_linear_one_stays_a_number():
    with pytest.raises(ValueError, match="legal is one of"):
        gradient_by_distance(4, 1.0, "x", 0, bent=True)
    assert np.isfinite(gradient_by_distance(64, 2.0, "residual", 0, bent=False)).all()


def test_the_page_says_what_comes_back_and_follows_its_settings():
    page = lab("gradients")
    assert len(charts(page)["Gradient by distance in time"]["data"]) == 4
    assert "vanishes with the distance" in words(page)
    page.session_state["gradients_time_size"] = 2.0
    page.session_state["gradients_time_bent"] = False
    sound(page.run())
    assert "explodes with the distance" in words(page)
