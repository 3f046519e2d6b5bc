"""Tests the claim: RMS norm is layer norm without the mean, so the result is the same."""

import math

import numpy as np

from tests.claims.kit import Rows, gathered, put, rows_agree, seeded, upheld_by


def rms_norm() -> Rows:
    token = np.random.default_rng(14).standard_normal(8) + 2
    apart = []
    for x in (token, token - token.mean()):
        apart.append(np.abs((x - x.mean()) / x.std() - x / np.sqrt((x**2).mean())).max())
    seeded()
    return {"number": [*apart, *(1e-4 / math.sqrt(1e-8 + eps) for eps in (2.0**-23, 1e-5))]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("rms-norm", rms_norm())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by(
        "rms-norm",
        lambda v: (
            put("numbers", apart={"with its mean": 0.0, "centred": 0.0})(v),
            put("torch", rms=0.5, layer=0.5)(v),
        ),
    )


def test_layer_norm_loses_two_directions_and_rms_norm_one() -> None:
    assert gathered("rms-norm")["numbers"]["lost"] == {"layer norm": 2, "rms norm": 1}
