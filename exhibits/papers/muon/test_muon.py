"""Tests the result: Orthogonal updates of the matrices learn in fewer steps than AdamW."""

import pytest

from models.papers.judging import HOLDS, NOT_HERE
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("muon", HOLDS)


def test_muon_is_judged_at_both_best_rates() -> None:
    def of_rates(*losses: float) -> str:
        return verdict("muon", dict(zip(PAPERS["muon"].sources, (ending(*[one] * 10) for one in losses), strict=True)))

    assert of_rates(2.5, 2.4, 2.6, 2.9, 2.3, 2.8) == HOLDS
    assert of_rates(2.5, 2.2, 2.6, 2.9, 2.3, 2.8) == NOT_HERE
