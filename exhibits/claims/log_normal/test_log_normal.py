"""Tests the claim: The mean over seeds shows a typical net."""

import math

import numpy as np

from tests.claims.kit import Rows, put, rows_agree, upheld_by


def log_normal() -> Rows:
    source = np.random.default_rng(24)
    starts = source.standard_normal((400, 16))
    ends = starts.copy()
    for _ in range(32):
        weights = source.standard_normal((400, 16, 16)) * math.sqrt(2 / 16)
        ends = np.stack([np.maximum(own @ one, 0) for own, one in zip(weights, ends, strict=True)])
    gains = (ends**2).sum(1) / (starts**2).sum(1)
    alive = gains[gains > 0]
    return {"gain": [gains.mean(), np.median(gains), np.exp(np.log(alive).mean()), gains.max()]}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("log-normal", log_normal())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("log-normal", put("numbers", gains=np.full(400, 1.0)))
