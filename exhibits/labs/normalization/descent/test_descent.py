"""Descent on features of different scales: its steps and its errors by torch and by hand."""

import numpy as np
import pytest

from exhibits.labs.normalization.descent.numbers import curvatures, descent_steps, square_terms, unequal_features
from exhibits.labs.normalization.descent.page import error_shares_sentence
from models.labs.normalization import normalise


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
