"""Tests the claim: Training at one shared learning rate shows which arrangement is better."""

import pytest

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS
from models.spec import RunConfig
from tests.claims.kit import judged, losses, rows_agree
from tests.experiments import TRAINED, last_loss


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("one-learning-rate", losses("one-learning-rate"), **TRAINED)


@pytest.mark.full
def test_what_the_claim_on_the_learning_rate_says_of_its_nets_and_of_plain_is_so() -> None:
    nets = CLAIMS["one-learning-rate"].sources
    ends = {name: last_loss(source.cfg) for name, source in nets.items()}
    plain = last_loss(RunConfig.from_query({"arrangement": "plain", **nets["pre-norm, 0.001"].cfg.to_query()})[0])
    assert ends["pre-norm, 0.001"] == pytest.approx(ends["post-norm, 0.001"], abs=0.03)
    assert ends["post-norm, 0.01"] > 5 * ends["pre-norm, 0.01"]
    assert plain > 5 * ends["pre-norm, 0.001"]


def test_one_learning_rate_is_judged_by_whether_the_order_stays() -> None:
    assert judged("one-learning-rate", 0.1, 0.12, 0.1, 2.3) == FAILS
    assert judged("one-learning-rate", 0.1, 2.3, 0.1, 2.3) == HOLDS
