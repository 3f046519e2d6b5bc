"""Tests the claim: Weights below 1 make gradients vanish."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from models.claims.claims import CLAIMS
from models.nets import build_model
from tests.claims.kit import gathered, gradients, level, put, rows_agree, upheld_by


def vanishing(values: dict[str, Any]) -> None:
    for name in CLAIMS["weights-below-one"].nets:
        put(name, grad_norm=level(values[name].grad_norm, 2.0))(values)


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("weights-below-one", {"gradient, start over end": list(gradients("weights-below-one").values())})


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("weights-below-one", vanishing)


def test_the_weights_of_the_nets_that_vanish_and_explode_are_all_below_one() -> None:
    for cfg in CLAIMS["weights-below-one"].nets.values():
        for seed in range(6):
            branches = build_model(replace(cfg, seed=seed)).stream.parameters()
            sizes = torch.cat([p.detach().abs().flatten() for p in branches if p.ndim > 1])
            assert sizes.max() < 1
            assert sizes.median().item() == pytest.approx(0.6745 * np.sqrt(2 / 64), rel=0.02)
    assert gathered("weights-below-one")["numbers"]["median"] == pytest.approx(0.6745 * np.sqrt(2 / 64), rel=1e-2)
