"""Tests the lesson: The residual."""

import pytest

from models.lessons.challenges import rule_violations
from models.lessons.lessons import LESSONS
from models.spec import RunConfig
from tests.lessons.kit import shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("skip", "only the net with residuals learns", "held-out accuracy 9")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("skip", near_miss={"skip_scale": 0.7})


def test_a_skip_beyond_the_limit_is_refused() -> None:
    challenge = LESSONS["skip"].challenge
    said = rule_violations(challenge, RunConfig(skip_scale=1.0, steps=challenge.base.steps))
    assert said == ("Skip weight is 1; this challenge allows 0 to 0.9.",)
