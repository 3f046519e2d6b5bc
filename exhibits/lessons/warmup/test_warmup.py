"""Tests the lesson: Warm-up."""

import re

import pytest

from models.lessons.lessons import LESSONS
from tests.lessons.kit import shows, solved_by
from tests.traces import finished


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("warmup", "all but post-norm without a warm-up", "Chance is 2.30")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("warmup", near_miss={"warmup": 60})


@pytest.mark.full
def test_the_lesson_that_asks_for_the_lowest_mean_of_ten_says_it() -> None:
    lesson = LESSONS["warmup"]
    traces = {name: finished(cfg) for name, cfg in lesson.nets.items()}
    lowest = [min(sum(trace.loss[at : at + 10].tolist()) / 10 for at in range(141)) for trace in traces.values()]
    said = [float(one) for one in re.findall(r"\(lowest mean of 10: ([\d.]+)\)", lesson.finding(traces).sentence)]
    assert said == pytest.approx(lowest, rel=5e-3)
    assert [one < 1 for one in said] == [False, True, True]
