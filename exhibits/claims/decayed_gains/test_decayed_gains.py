"""Tests the claim: Gains and biases must be spared weight decay, or the net does not learn."""

from typing import Any

import numpy as np
import pytest

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS
from models.spec import RunConfig
from models.training import Run
from tests.claims.kit import ending, gathered, losses, nets, rows_agree
from tests.experiments import TRAINED


def mean_gain(cfg: RunConfig) -> float:
    """The mean over norms of the trained net's own parameters."""
    run = Run(cfg, probe=False, frames=False)
    run.advance(cfg.steps)
    gains = [p.mean().item() for name, p in run.model.named_parameters() if p.ndim == 1 and name.endswith("weight")]
    return float(np.mean(gains))


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    pulled = dict(zip(("matrices", "everything"), list(nets("decayed-gains").values())[:2], strict=True))
    again = {"loss": losses("decayed-gains")["loss"][:2], "mean gain": [mean_gain(cfg) for cfg in pulled.values()]}
    rows_agree("decayed-gains", again, **TRAINED)


@pytest.mark.full
def test_a_net_that_fails_with_pulled_gains_upholds_the_claim() -> None:
    values: dict[str, Any] = dict(gathered("decayed-gains"))
    claim = CLAIMS["decayed-gains"]
    assert claim.finding(values).answer == FAILS
    assert claim.finding(values | {"everything": ending(2.3)}).answer == HOLDS
    assert claim.finding(values | {"everything": ending(2.3), "matrices": ending(2.3)}).answer == FAILS
