"""Tests the lesson: Initialisation vs. norm."""

import numpy as np
import pytest

from models.lessons.lessons import LESSONS
from tests.lessons.kit import shows, solved_by
from tests.traces import finished


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("init", "only the net with residual and norm", "“with a residual” diverged at step")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("init", near_miss={"init": "orthogonal"})


@pytest.mark.full
def test_the_slow_plain_net_keeps_samples_less_alike() -> None:
    plain, _, normed = (finished(cfg) for cfg in LESSONS["init"].nets.values())
    start, end = (float(plain.frames[at].sample_cosine[-1]) for at in (0, -1))
    assert f"{start:.2f}" in LESSONS["init"].why
    assert end < 0.7
    assert min(float(frame.sample_cosine[-1]) for frame in normed.frames) > 0.9
    assert normed.loss[-20:].mean() < 0.1
    assert plain.loss[-20:].mean() > np.log(10) / 2
