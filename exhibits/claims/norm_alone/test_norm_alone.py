"""Tests the claim: Normalisation alone lets you train deep nets."""

import numpy as np
import pytest

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS, PARTLY
from tests.claims.kit import judged, losses, rows_agree
from tests.experiments import TRAINED, value


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("norm-alone", losses("norm-alone"), **TRAINED)


@pytest.mark.full
def test_batch_norm_without_a_residual_learns_where_layer_norm_and_no_norm_do_not() -> None:
    """At 20 blocks all of four seeds are far from the threshold; at 16, rounding decided over layer norm."""
    claim = CLAIMS["norm-alone"]
    traces = {name: value(source) for name, source in claim.sources.items()}
    assert {cfg.init for cfg in claim.nets.values()} == {"fan-in"}  # the control differs in its norm alone
    ends = {name: float(np.mean(trace.loss[-20:])) for name, trace in traces.items()}
    assert ends["batch norm, no residual"] < 0.4 * np.log(10)
    assert min(ends["layer norm, no residual"], ends["no norm, no residual"]) > 0.7 * np.log(10)
    assert claim.finding(traces).answer == PARTLY


def test_a_norm_without_a_skip_is_judged_by_the_losses() -> None:
    assert judged("norm-alone", 2.3, 2.3, 2.3, 0.1) == FAILS
    assert judged("norm-alone", 2.3, 0.1, 2.3, 0.1) == PARTLY
    assert judged("norm-alone", 0.1, 0.1, 2.3, 0.1) == HOLDS
