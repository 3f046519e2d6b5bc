"""Tests the claim: Deep nets trained with Adam need a warm-up."""

import pytest

from models.claims.judging import FAILS, HOLDS, PARTLY
from tests.claims.kit import judged, losses, rows_agree
from tests.experiments import TRAINED


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("warm-up", losses("warm-up"), **TRAINED)


def test_warm_up_is_judged_by_who_learns_without_one() -> None:
    assert judged("warm-up", 0.1, 2.3, 0.1, 0.1) == PARTLY
    assert judged("warm-up", 2.3, 2.3, 0.1, 2.3) == HOLDS
    assert judged("warm-up", 0.1, 0.1, 2.3, 0.1) == FAILS
