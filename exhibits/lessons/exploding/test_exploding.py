"""Tests the lesson: A sum of many branches."""

import pytest

from tests.lessons.kit import shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows(
        "exploding",
        "more than 100 times as large",
        "Before training the signal without a norm becomes 490 times larger",
    )


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("exploding", near_miss={"init_gain": 0.7})
