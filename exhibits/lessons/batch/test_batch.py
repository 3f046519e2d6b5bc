"""Tests the lesson: Layer norm vs. batch norm."""

import pytest

from tests.lessons.kit import shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("batch", "only layer norm", "Chance is 2.30")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("batch", near_miss={"batch": 4})
