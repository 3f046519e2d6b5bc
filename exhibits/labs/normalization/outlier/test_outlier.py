"""An outlier leaves the others what the formulas say."""

import numpy as np
import pytest
import torch

from exhibits.labs.normalization.outlier.numbers import (
    range_of_others,
    robust_range_of_others,
    share_of_range,
    with_outlier,
)


@pytest.mark.parametrize("far", [0.0, 1.0, 100.0])
def test_an_outlier_leaves_the_others_what_the_formulas_say(far):
    x = np.array([[1.0, 5.0, 2.0], [2.0, 3.0, 7.0], [4.0, 8.0, 1.0], [3.0, 1.0, 6.0]])
    moved = with_outlier(x, 0, 2, far)
    outlying = 7 + far * 6
    assert moved[0, 2] == outlying
    assert range_of_others(moved, 0, 2, "min-max") == pytest.approx((7 - 1) / (outlying - 1))
    spread = torch.tensor([outlying, 7.0, 1.0, 6.0], dtype=torch.float64).std(correction=0).item()
    assert range_of_others(moved, 0, 2, "z-score") == pytest.approx((7 - 1) / spread)
    normed = torch.nn.functional.layer_norm(torch.tensor(x), (3,))[1:, 2]
    assert range_of_others(moved, 0, 2, "layer norm") == pytest.approx((normed.max() - normed.min()).item())


@pytest.mark.parametrize(("far", "share"), [(1.0, 1 / 2), (10.0, 1 / 11), (100.0, 1 / 101)])
def test_min_max_and_z_score_leave_the_same_share_and_median_over_iqr_keeps_the_others(far, share):
    x = np.column_stack([[0.0, 1, 2, 3, 4, 5, 6], np.arange(7.0)])
    moved = with_outlier(x, 6, 0, far)  # 6 + 6 far: the others stay in 0 to 5
    expected = 5 / (6 + 6 * far)
    assert expected == pytest.approx(share, rel=0.2)
    for method in ("min-max", "z-score"):
        assert share_of_range(moved, 6, 0, method) == pytest.approx(expected, rel=1e-12)
    quartiles = torch.quantile(torch.tensor(moved[:, 0]), torch.tensor([0.25, 0.75], dtype=torch.float64))
    assert robust_range_of_others(moved, 6, 0) == pytest.approx(5 / (quartiles[1] - quartiles[0]).item())
    assert robust_range_of_others(moved, 6, 0) == robust_range_of_others(x, 6, 0)
    assert range_of_others(moved, 6, 0, "z-score") < range_of_others(x, 6, 0, "z-score")
    assert np.isnan(robust_range_of_others(np.ones((5, 2)), 0, 0))
    assert np.isnan(share_of_range(np.ones((5, 2)), 0, 0, "min-max"))
