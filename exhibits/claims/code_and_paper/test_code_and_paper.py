"""Tests the claim: It makes no difference that the transformer's code has its norm elsewhere than the paper."""

import pytest

from models.claims.judging import FAILS, HOLDS, PARTLY
from tests.claims.kit import judged, losses, rows_agree
from tests.experiments import TRAINED


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("code-and-paper", losses("code-and-paper"), **TRAINED)


def test_it_is_judged_by_who_learns_at_each_depth() -> None:
    assert judged("code-and-paper", 0.1, 0.1, 2.3, 0.1) == PARTLY
    assert judged("code-and-paper", 0.1, 0.1, 0.1, 0.1) == HOLDS
    assert judged("code-and-paper", 2.3, 0.1, 2.3, 0.1) == FAILS
