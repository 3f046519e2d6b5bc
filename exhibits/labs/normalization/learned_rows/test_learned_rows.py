"""Gain and bias as rows that learn, against autograd and least squares."""

import numpy as np
import pytest
import torch

from exhibits.labs.normalization.learned_rows.numbers import largest_rate, least_loss, train_rows
from models.labs.normalization import normalise
from tests.app_page import sound, words
from tests.labs_page import lab

SOURCE = np.random.default_rng(5)
TABLE = SOURCE.normal(1.5, 2, size=(4, 6))


@pytest.mark.parametrize("tokens", [[0], [0, 1], [0, 1, 2, 3]])
def test_rows_learn_as_autograd_has_it_down_to_the_least_squares_of_every_feature(tokens):
    normed = normalise(TABLE, "layer norm").values[tokens]
    target = TABLE[tokens]
    start = SOURCE.normal(size=(2, 6))
    rows = torch.tensor(start, requires_grad=True)
    walk = train_rows(normed, target, start, rate=0.2, steps=30)
    for step in range(30):
        error = rows[0] * torch.tensor(normed) + rows[1] - torch.tensor(target)
        assert walk.loss[step] == pytest.approx((error**2).mean().item() / 2)
        np.testing.assert_allclose([walk.gain[step], walk.bias[step]], rows.detach().numpy(), atol=1e-12)
        (gradient,) = torch.autograd.grad((error**2).mean(0).sum() / 2, rows)
        rows = (rows - 0.2 * gradient).detach().requires_grad_()
    residuals = [
        np.sum((np.c_[x, np.ones(len(x))] @ np.linalg.lstsq(np.c_[x, np.ones(len(x))], y, rcond=None)[0] - y) ** 2)
        for x, y in zip(normed.T, target.T, strict=True)
    ]
    assert least_loss(normed, target) == pytest.approx(np.sum(residuals) / target.size / 2, abs=1e-12)
    long = train_rows(normed, target, start, rate=0.2, steps=20_000).loss[-1]
    assert long == pytest.approx(least_loss(normed, target), abs=1e-6)
    assert (least_loss(normed, target) < 1e-12) == (len(tokens) < 3)


def test_the_rate_from_which_descent_diverges_is_two_over_the_largest_eigenvalue():
    normed = normalise(TABLE, "layer norm").values
    largest = max(np.linalg.eigvalsh(np.c_[x, np.ones(4)].T @ np.c_[x, np.ones(4)] / 4)[-1] for x in normed.T)
    assert largest_rate(normed) == pytest.approx(2 / largest)
    start = np.array([np.ones(6), np.zeros(6)])
    below, above = (train_rows(normed, TABLE, start, rate=f * largest_rate(normed)).loss for f in (0.95, 1.1))
    assert below[-1] < below[0] < above[-1]
    assert len(train_rows(normed, 1e9 * TABLE, start, rate=1e4).loss) < 101


@pytest.fixture
def page(trainer_in_this_process):
    return lab("normalization")


def test_one_token_is_undone_and_three_are_not_and_wrong_rows_get_one_sentence(page):
    page.session_state["normalization_part"] = "Gain and bias"
    assert "not for all" in words(sound(page.run()))
    page.selectbox(key="normalization_rows_fit").set_value("this token")
    assert "that undoes the norm" in words(sound(page.run()))
    page.number_input(key="normalization_rows_rate").set_value(3.0)
    assert "the loss grows" in words(sound(page.run()))
    page.text_area(key="normalization_rows_start_paste").set_value("1 2\n3 4")
    page.button(key="normalization_rows_start_use").click()
    assert "gamma and beta need two rows" in words(sound(page.run())) + str([one.value for one in page.error])
