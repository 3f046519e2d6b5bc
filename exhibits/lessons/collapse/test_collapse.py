"""Tests the lesson: Directions after 32 blocks."""

import numpy as np
import pytest

from tests.lessons.kit import before_training, shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("collapse", "above 0.95: nearly the same direction", "is 0.99")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("collapse", near_miss={"activation": "tanh"})


def test_only_batch_norm_keeps_samples_apart() -> None:
    ends = {}
    for norm in ("layer norm", "rms norm", "batch norm"):
        cosines = [before_training(residual=False, norm=norm, seed=seed).frames[0].sample_cosine for seed in range(3)]
        assert max(one[0] for one in cosines) < 0.1
        ends[norm] = float(np.mean([one[-1] for one in cosines]))
    assert min(ends["layer norm"], ends["rms norm"]) > 0.95
    assert ends["batch norm"] == pytest.approx(0.37, abs=0.05)
