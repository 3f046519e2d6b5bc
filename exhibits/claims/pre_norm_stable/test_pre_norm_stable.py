"""Tests the claim: Pre-norm never explodes."""

from dataclasses import replace
from typing import Any

import numpy as np

from addnorm.words import number
from models.claims.claims import CLAIMS
from models.claims.judging import growth
from tests.claims.kit import Rows, gathered, geometric, level, outcome, rows_agree, untrained, upheld_by
from tests.experiments import trained


def pre_norm_stable() -> Rows:
    before, after = (source.cfg for source in CLAIMS["pre-norm-stable"].sources.values())
    squares = geometric(untrained(before)[0])
    finite = np.isfinite(trained(after)["loss"]) & np.isfinite(trained(after)["act_rms"]).all(1)
    return {"found": [squares[-1] / squares[0], int(np.flatnonzero(~finite)[0])]}


def stable(values: dict[str, Any]) -> None:
    values["before training"] = replace(
        values["before training"], mean_square=level(values["before training"].mean_square)
    )
    values["learning rate 3"] = replace(values["learning rate 3"], divergence=None)


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("pre-norm-stable", pre_norm_stable())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("pre-norm-stable", stable)


def test_the_net_that_diverges_is_the_one_whose_stream_was_measured() -> None:
    before, after = (source.cfg for source in CLAIMS["pre-norm-stable"].sources.values())
    assert replace(after, lr=before.lr, steps=before.steps) == before
    values = gathered("pre-norm-stable")
    assert (
        f"grows {number(growth(values['before training']))} times over {before.depth} blocks. At learning rate "
        f"{after.lr:g} the same net diverged at step {values['learning rate 3'].divergence.step}: "
    ) in outcome("pre-norm-stable").sentence
    assert "the same net ends at loss " in outcome("pre-norm-stable", stable).sentence
