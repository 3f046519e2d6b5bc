"""Tests the claim: Norm layers remove covariate shift."""

from typing import Any

import numpy as np

from models.claims.claims import CLAIMS
from models.spec import RunConfig
from tests.claims.kit import Rows, normed, put, rows_agree, upheld_by
from tests.instruments.test_covariate import by_own_loop

TRAINED_NORMS = ("layer norm", "batch norm")


def covariate_shift() -> Rows:
    seen = np.random.default_rng(31).standard_normal((256, 8))
    used = seen + 3 * np.eye(8)[0]
    mean, variance = (1 - 0.9**100) * seen[:, 0].mean(), 0.9**100 + (1 - 0.9**100) * seen[:, 0].var(ddof=1)
    left = ((used[:, 0] - mean) / np.sqrt(variance + 1e-5)).mean() - (
        (seen[:, 0] - mean) / np.sqrt(variance + 1e-5)
    ).mean()
    layer = abs(normed(used)[:, 0].mean() - normed(seen)[:, 0].mean())
    (cfg,) = CLAIMS["covariate-shift"].nets.values()
    return {"shift left": [left, layer, 0.0, *(moved_by(cfg, norm) / moved_by(cfg, "none") for norm in TRAINED_NORMS)]}


def moved_by(cfg: RunConfig, norm: str) -> float:
    """The median move of the means of block 4, in units of their spread, by the loop of another test."""
    means, spreads, _ = by_own_loop(cfg, norm, 0, 4, tuple(range(0, cfg.steps + 1, 10)))
    return float(np.median(np.linalg.norm(np.diff(means, axis=0), axis=1) / np.linalg.norm(spreads[:-1], axis=1)))


def no_shift(values: dict[str, Any]) -> None:
    """Neither between training and inference nor between layers, but without a norm."""
    put("numbers", **{"batch norm": (0.0, 0.0), "layer norm": (0.0, 0.0)})(values)
    mean = values["batch norm, 8 blocks"].mean * np.array([1.0, 0.0, 0.0, 1.0])[:, None, None]
    put("batch norm, 8 blocks", mean=mean)(values)


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("covariate-shift", covariate_shift(), rel=0.3)


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("covariate-shift", no_shift)
