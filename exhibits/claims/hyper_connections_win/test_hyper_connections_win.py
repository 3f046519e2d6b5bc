"""Tests the claim: Hyper-connections are always better than one stream."""

import pytest

from models.claims.judging import FAILS, HOLDS, PARTLY
from tests.claims.kit import judged, losses, rows_agree
from tests.experiments import TRAINED


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("hyper-connections-win", losses("hyper-connections-win"), **TRAINED)


def test_hyper_connections_are_judged_by_the_losses() -> None:
    assert judged("hyper-connections-win", 0.2, 0.1, 0.3) == PARTLY
    assert judged("hyper-connections-win", 0.2, 0.3, 0.3) == FAILS
    assert judged("hyper-connections-win", 0.2, 0.1, 0.1) == HOLDS
