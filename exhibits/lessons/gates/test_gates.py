"""Tests the lesson: Depth without norm."""

import pytest

from tests.lessons.kit import shows, solved_by


@pytest.mark.full
def test_the_nets_bear_out_what_is_told() -> None:
    shows("gates", "ReZero and DeepNorm", "“residual only” diverged at step")


@pytest.mark.full
def test_a_solution_passes_and_a_near_miss_does_not() -> None:
    solved_by("gates", near_miss={"branch_scale": 0.5})
