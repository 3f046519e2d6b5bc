"""Tests the result: An error function with a learned slope and shift beats the norms that it replaces."""

import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("derf", PARTLY)


def test_derf_is_judged_by_final_losses() -> None:
    def of_norms(*losses: float) -> str:
        return verdict("derf", dict(zip(PAPERS["derf"].sources, (ending(*[one] * 10) for one in losses), strict=True)))

    assert of_norms(2.4, 2.4, 2.5, 2.3) == HOLDS
    assert of_norms(2.2, 2.2, 2.5, 2.3) == PARTLY
    assert of_norms(2.2, 2.2, 2.2, 2.3) == NOT_HERE
