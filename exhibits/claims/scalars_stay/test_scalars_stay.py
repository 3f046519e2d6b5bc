"""Tests the claim: The learned scalars stay at their start."""

import numpy as np
import pytest

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS
from tests.claims.kit import Rows, nets, rows_agree
from tests.experiments import TRAINED, value
from tests.training.bare_loop import BareLoop


def furthest() -> Rows:
    """By the bare loop, from the net's own parameters."""
    rows: dict[str, list[float]] = {"on the stream, furthest from 1": [], "on the token, furthest from 0": []}
    for cfg in nets("scalars-stay").values():
        loop = BareLoop(cfg)
        loop(cfg.steps)
        named = dict(loop.model.named_parameters())
        for column, name, start in zip(rows.values(), ("resid_lambda", "x0_lambda"), (1, 0), strict=True):
            learned = [p.item() for key, p in named.items() if key.endswith(name)]
            column.append(max(learned, key=lambda one: abs(one - start)))
    return rows


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("scalars-stay", furthest(), **TRAINED)


@pytest.mark.full
def test_the_scalars_leave_their_start() -> None:
    claim = CLAIMS["scalars-stay"]
    assert claim.finding({name: value(source) for name, source in claim.sources.items()}).answer == FAILS


def test_scalars_are_judged_by_their_distance() -> None:
    claim = CLAIMS["scalars-stay"]

    def said(stream: float, token: float) -> str:
        scalars = np.array([[1, 0], [stream, token]], np.float32)
        return claim.finding(dict.fromkeys(claim.sources, Measured(scalars))).answer

    assert said(1.01, -0.01) == HOLDS
    assert said(1.2, -0.1) == FAILS


class Measured:
    """What a measurement of health has of the scalars."""

    def __init__(self, scalars: np.ndarray) -> None:
        self.gains = Gains(scalars)


class Gains:
    def __init__(self, scalars: np.ndarray) -> None:
        self.scalars = scalars
