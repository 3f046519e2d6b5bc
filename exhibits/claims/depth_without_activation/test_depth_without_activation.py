"""Tests the claim: Without an activation more layers compute more."""

from typing import Any

import numpy as np
import pytest
import torch

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS, PARTLY
from tests.claims.kit import Rows, ending, losses, nets, rows_agree
from tests.experiments import TRAINED, trained, value


def depth_without_activation() -> Rows:
    ends = [trained(cfg)["held_out"][1] for cfg in nets("depth-without-activation").values()]
    return losses("depth-without-activation") | {"accuracy": ends}


def gathered_numbers() -> Any:
    return value(CLAIMS["depth-without-activation"].sources["numbers"])


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("depth-without-activation", depth_without_activation(), **TRAINED)


def test_depth_without_an_activation_is_judged_by_the_losses_of_the_deeper_nets() -> None:
    claim = CLAIMS["depth-without-activation"]

    def answer(*losses: float) -> str:
        runs = dict(zip(claim.nets, map(ending, losses), strict=True))
        return claim.finding({"numbers": gathered_numbers(), **runs}).answer

    assert answer(0.69, 0.69, 0.68, 0.01) == FAILS
    assert answer(0.69, 0.69, 0.01, 0.69) == PARTLY
    assert answer(0.69, 0.1, 0.01, 0.69) == HOLDS


def test_blocks_without_an_activation_are_one_matrix() -> None:
    """By torch's matrices, multiplied from the left."""
    source = np.random.default_rng(36)
    source.standard_normal((100, 2))
    blocks = [np.eye(2) + (pair[0] / 2) @ (pair[1] / 2) / 32**0.5 for pair in source.standard_normal((32, 2, 2, 2))]
    product = torch.linalg.multi_dot([torch.tensor(block) for block in blocks]).numpy()
    numbers = gathered_numbers()
    assert numbers["product"] == pytest.approx(product, rel=1e-12)
    assert 0 < numbers["apart"] < 1e-14
