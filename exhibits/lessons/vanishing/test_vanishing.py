"""Tests the lesson: The gradient on its way back."""

from dataclasses import replace

import numpy as np

from models.lessons.challenges import check
from models.lessons.lessons import LESSONS
from tests.lessons.kit import before_training, shows, solved_by
from tests.traces import finished


def test_the_nets_bear_out_what_is_told() -> None:
    shows(
        "vanishing",
        "more than 1,000 times smaller",
        "Before training the gradient of 32 blocks becomes 64,000 times smaller",
    )


def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("vanishing", near_miss={"init_gain": 1.05})


def test_in_a_plain_net_the_updates_of_all_blocks_are_equally_tiny() -> None:
    """Beside the law: a weight's gradient goes as what is read times what is told, v^(l/2) v^((L-l)/2) for every l."""
    deep, shallow = (before_training(residual=False, norm="none", depth=depth).weight_grad_rms[0] for depth in (32, 4))
    assert np.ptp(np.log10(deep)) < 1.2
    assert np.median(deep) < 1e-3 * np.median(shallow)


def test_the_right_gain_levels_a_larger_one_explodes() -> None:
    lesson = LESSONS["vanishing"]
    level, wild = (replace(lesson.challenge.base, init_gain=gain) for gain in (1.19, 2**0.5))
    assert 1 / 1.5 < np.divide(*finished(level).act_rms[0, [-1, 0]]) < 1.5
    assert check(lesson.challenge, level, finished(level)).passed
    found = check(lesson.challenge, wild, finished(wild))
    assert not found.passed
    assert found.missing[0].startswith("Diverged at step 11")
    assert (
        2**4 / 2 < np.divide(*finished(wild).act_rms[0, [-1, 0]]) < 2**4 * 2
    )  # the mean square doubles in each of 8 blocks
    assert found.hint.startswith("What happened: before training the signal becomes 15 times larger over depth, ")
