"""Tests the lesson: After the plain sum."""

import numpy as np
import pytest

from models.lessons.judges import OTHERWISE
from models.lessons.lessons import LESSONS
from models.papers.judging import HOLDS, NOT_HERE, UNDECIDED
from models.papers.papers import PAPERS
from tests.lessons.kit import before_training, shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("streams", "in all but attention residuals", "3.98 (mHC), 0.121 (attention residuals)")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("streams", near_miss={"branch_scale": 0.1})
    solved_by("streams", {"sinkhorn": 1}, near_miss={"branch_scale": 0.01})


def test_sums_and_means_have_the_sizes_told() -> None:
    """32 branches of ReLU that read a unit vector, by hand."""
    source = np.random.default_rng(0)
    x = source.standard_normal((64, 256))
    stream, outputs = x, [x]
    for _ in range(32):
        w1, w2 = source.standard_normal((2, 256, 256)) / 16
        read = (stream - stream.mean(1, keepdims=True)) / stream.std(1, keepdims=True)
        outputs.append(np.maximum(read @ w1, 0) @ w2)
        stream = stream + outputs[-1]
    size = (x**2).mean() ** 0.5
    assert (stream**2).mean() ** 0.5 / size == pytest.approx(4.1, rel=0.05)
    assert (np.mean(outputs, 0) ** 2).mean() ** 0.5 / size == pytest.approx(0.12, rel=0.05)


def test_growth_is_judged_before_training() -> None:
    lesson = LESSONS["streams"]
    grown, level = (before_training(stack=stack, depth=16, width=16) for stack in ("single", "attention residuals"))
    nets = dict.fromkeys(lesson.nets, grown)
    assert lesson.finding(nets).answer == "in all four"
    assert lesson.finding(nets | {"attention residuals": level}).answer == "in all but attention residuals"
    assert lesson.finding(dict.fromkeys(nets, level)).answer == "in none"
    assert lesson.finding(nets | {"pre-norm": level}).answer == OTHERWISE


RECORDED = {  # by card, what it recorded of the statements that the lesson tells
    "hyper-connections": {0: HOLDS, 2: NOT_HERE},
    "attention-residuals": {2: NOT_HERE, 3: HOLDS},
    "learned-scalars": {0: HOLDS},
    "mhc": {0: HOLDS, 1: HOLDS, 2: UNDECIDED, 3: NOT_HERE},
}


@pytest.mark.parametrize("key", RECORDED)
def test_what_it_tells_of_cards_they_recorded(key: str) -> None:
    assert f"papers?paper={key}" in LESSONS["streams"].why
    rows = PAPERS[key].tested["one seed at a time"]
    assert {at: rows[at][-1] for at in RECORDED[key]} == RECORDED[key]
