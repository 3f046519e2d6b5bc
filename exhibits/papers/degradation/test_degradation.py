"""Tests the result: A deeper plain net has a higher training error; a deeper residual net does not."""

import pytest

from models.experiment import Finding
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending


def degraded(*losses: float) -> Finding:
    """The verdict on plain nets of 8, 16 and 32 blocks, then residual ones, with these losses in every seed."""
    return PAPERS["degradation"].finding(
        dict(zip(PAPERS["degradation"].sources, (ending(*[one] * 10) for one in losses), strict=True))
    )


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("degradation", HOLDS)


def test_degradation_is_judged_by_the_order_of_the_losses_in_every_seed() -> None:
    assert degraded(0.1, 0.5, 1.8, 0.02, 0.02, 0.02).answer == HOLDS
    assert degraded(0.1, 0.5, 1.8, 0.02, 0.5, 1.0).answer == PARTLY
    assert degraded(0.1, 0.1, 0.1, 0.1, 0.2, 0.3).answer == NOT_HERE
    said = degraded(0.1, 0.5, 1.8, 0.02, 0.5, 1.0)
    assert said.condition == PAPERS["degradation"].judge.function.keywords["statements"][1]["says"]  # type: ignore[attr-defined]
    values = dict(
        zip(PAPERS["degradation"].sources, (ending(*[one] * 10) for one in (0.1, 0.5, 1.8, 0, 0, 0)), strict=True)
    )
    values["plain, 32"] = ending(*[1.8, 0.1] * 5)
    assert PAPERS["degradation"].finding(values).answer == HOLDS, "half of the seeds are enough for the mean"
    values["plain, 32"] = ending(*[1.8, *[0.1] * 9])
    assert PAPERS["degradation"].finding(values).answer == PARTLY
