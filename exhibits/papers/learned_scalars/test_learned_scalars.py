"""Tests the result: Two learned numbers for each block, on the stream and on the token, make a net better."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("learned-scalars", HOLDS)


def of_scalars(without: float, scaled: float, stream: list[float], token: list[float]) -> str:
    losses = iter((without, scaled))
    values: dict[str, Any] = {}
    for name in PAPERS["learned-scalars"].sources:
        if ", health" in name:
            scalars = np.array([stream, token]).T
            values[name] = SimpleNamespace(gains=SimpleNamespace(scalars=scalars))
        else:
            values[name] = ending(*[next(losses)] * 10)
    return verdict("learned-scalars", values)


def test_scalars_are_judged_by_losses_and_ends() -> None:
    assert of_scalars(2.4, 2.3, [1.2, 0.8], [0.1, 0.3]) == HOLDS
    assert of_scalars(2.4, 2.3, [1.2, 0.8], [0.2, 0.2]) == PARTLY
    assert of_scalars(2.4, 2.3, [1.0, 1.0], [0.1, 0.3]) == PARTLY
    assert of_scalars(2.3, 2.4, [1.0, 1.01], [0.01, 0.01]) == NOT_HERE
