"""Tests the claim: The variance of a ResNet's activations doubles with every block."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models.claims.claims import CLAIMS
from models.generator import generator
from models.nets import build_model
from tests import hand
from tests.claims.kit import Rows, geometric, nets, outcome, per_block, rms, rows_agree, signals, untrained, upheld_by


def doubles() -> Rows:
    factors, gains = [], []
    for cfg in nets("doubles").values():
        factors.append(per_block(geometric(untrained(cfg)[0])))
        x = torch.randn(128, 1, cfg.width, generator=generator(cfg.seed, "gains"))
        x = x / rms(x)
        gains.append(
            np.mean([
                rms(hand.sublayer(x, module, "two layers", placement="none", norm="none", residual=False)) ** 2
                for seed in range(6)
                for module in build_model(replace(cfg, seed=seed)).stream.sublayers
            ])
        )  # fmt: skip
    return {"v of a branch": gains, "factor per block": factors}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("doubles", doubles())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("doubles", signals(mean_square=2.0))


def test_where_v_is_1_the_variance_of_the_activations_doubles_with_every_block() -> None:
    """By hand: blocks x + w2 relu(w1 x) whose branch keeps the mean square. The claim is about what doubles."""
    source, width, depth = np.random.default_rng(7), 256, 16
    start = x = source.standard_normal((64, width))
    for _ in range(depth):
        w1, w2 = (source.standard_normal((width, width)) * np.sqrt(gain / width) for gain in (2, 1))
        x = x + np.maximum(x @ w1, 0) @ w2
    variance, square = np.transpose([(one.var(1).mean(), (one**2).mean()) for one in (start, x)])  # over features
    assert variance == pytest.approx(square, rel=0.05)
    grown = (variance[1] / variance[0]) ** (1 / depth)
    assert grown == pytest.approx(2, rel=0.05)
    assert outcome("doubles").table["factor per block"][-1] == pytest.approx(grown, rel=0.05)
    assert CLAIMS["doubles"].title.startswith("The variance of ")
