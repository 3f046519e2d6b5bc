"""Tests the result: Orthogonal updates of the matrices learn in fewer steps than AdamW."""

import pytest

from models.papers.judging import HOLDS, NOT_HERE
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, learning, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("muon", NOT_HERE)


def test_muon_is_judged_at_both_best_rates() -> None:
    def of_rates(*late: int) -> str:
        return verdict("muon", dict(zip(PAPERS["muon"].sources, map(learning, late), strict=True)))

    assert of_rates(20, 8, 22, 24, 3, 23) == HOLDS
    assert of_rates(20, 3, 22, 24, 8, 23) == NOT_HERE
