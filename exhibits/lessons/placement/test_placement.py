"""Tests the lesson: Where the norm goes."""

import pytest

from tests.lessons.kit import shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("placement", "pre-norm and sandwich learn, post-norm does not", "held-out accuracy 9")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("placement", near_miss={"skip_scale": 1.5})
