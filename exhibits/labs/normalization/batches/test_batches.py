"""A batch's statistics: by torch's batch norm, by all batches there are, and by the laws of sampling."""

from itertools import product

import numpy as np
import pytest
import torch
from torch.nn.functional import batch_norm, layer_norm

from exhibits.labs.normalization.batches.numbers import BATCHES, SIZES, estimates, expected_mean_errors, mean_errors
from tests.app_page import charts, sound, words
from tests.labs_page import lab

SOME = np.random.default_rng(9).normal(1.5, 2.0, (40, 5))
FEW = np.array([[1.0, -2.0], [4.0, 0.5], [-3.0, 7.0]])


@pytest.mark.parametrize("size", [2, 8, 64])
def test_each_batch_has_the_statistics_and_the_result_of_torch(size):
    found = estimates(SOME, 3, 2, size, 5, eps=1e-5)
    chosen = np.random.default_rng([5, size]).integers(0, len(SOME), (BATCHES, size))
    for at in range(0, BATCHES, 50):
        batch = torch.tensor(SOME[chosen[at]])
        variance, mean = torch.var_mean(batch[:, 2], correction=0)
        assert (found.means[at], found.variances[at]) == pytest.approx((mean.item(), variance.item()))
        batch[0] = torch.tensor(SOME[3])
        assert found.batch_norm_results[at] == pytest.approx(
            batch_norm(batch, None, None, training=True)[0, 2].item(), abs=1e-9
        )
    assert found.layer_norm_result == pytest.approx(layer_norm(torch.tensor(SOME[3]), (5,))[2].item())


@pytest.mark.parametrize("size", [2, 4])
def test_batches_scatter_as_all_possible_ones_do(size):
    every = np.array(list(product(FEW[:, 1], repeat=size)))
    found = estimates(FEW, 0, 1, size, 1, eps=1e-5)
    exact = np.sqrt(((every.mean(1) - FEW[:, 1].mean()) ** 2).mean())
    assert expected_mean_errors(FEW, 1)[SIZES.index(size)] == pytest.approx(exact)
    assert every.var(1).mean() == pytest.approx(FEW[:, 1].var() * (size - 1) / size)
    assert found.variances.mean() == pytest.approx(every.var(1).mean(), rel=0.15)
    assert found.variances.std() == pytest.approx(every.var(1).std(), rel=0.15)


def test_the_error_falls_with_the_root_of_the_batch():
    np.testing.assert_allclose(mean_errors(SOME, 2, 0), expected_mean_errors(SOME, 2), rtol=0.15)


def test_with_two_in_a_batch_only_the_order_is_left():
    found = estimates(SOME, 3, 2, 2, 0, eps=1e-12)
    assert set(np.round(found.batch_norm_results, 6)) <= {-1.0, 0.0, 1.0}


def test_the_page_draws_batches_and_says_what_one_token_cannot_have():
    page = lab("normalization")
    page.session_state["normalization_part"] = "A batch's statistics"
    sound(page.run())
    drawn = charts(page)
    assert {"Mean and variance of batches", "Error of the mean by batch size", "One token among its neighbours"} <= set(
        drawn
    )
    assert len(drawn["One token among its neighbours"]["data"][0]["y"]) == BATCHES
    page.session_state["normalization_batches_size"] = 2
    sound(page.run())
    assert "can only become -1, 0 or +1" in words(page)
    page.session_state["normalization_batches_size"] = 1
    sound(page.run())
    assert "torch refuses a batch of one" in words(page)
    page.text_area(key="normalization_paste").set_value("3 3 3")
    next(button for button in page.button if button.label.startswith("Use it")).click()
    sound(page.run())
    assert "All tokens have the same number in this feature" in words(page)
