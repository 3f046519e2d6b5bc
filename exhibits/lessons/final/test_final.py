"""Tests the lesson: Why the final norm."""

import pytest

from tests.lessons.kit import shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("final", "more than three times as much", "the first loss is 5.")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("final", near_miss={"branch_scale": 0.5})
