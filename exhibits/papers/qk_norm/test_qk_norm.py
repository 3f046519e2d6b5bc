"""Tests the result: A norm on queries and keys widens the range of learning rates."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from models.trace import Trace
from tests.papers.kit import comes_out, ending, verdict


def of_rates(normed: float, bare: float, logit: float) -> str:
    """The verdict on losses that are so far above the best at all rates but one, and on the largest logit."""
    values: dict[str, Any] = {}
    for name in PAPERS["qk-norm"].sources:
        above = normed if name.startswith("QK") else bare
        if ", logits" in name:
            size = 10.0 if name.startswith("QK") else logit
            values[name] = Logits(np.full(2, size))
        else:
            values[name] = starting_at(4.3, ending(*[2.0 + above * (not name.endswith(" 0.01"))] * 10))
    return verdict("qk-norm", values)


def starting_at(loss: float, traces: list[Trace]) -> list[Trace]:
    return [replace(one, loss=np.concatenate([[loss], one.loss[1:]])) for one in traces]


class Logits:
    def __init__(self, max_logit: np.ndarray) -> None:
        self.max_logit = max_logit


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("qk-norm", HOLDS)


def test_qk_norm_is_judged_by_the_sensitivity_and_by_the_largest_logit() -> None:
    assert of_rates(0.1, 0.3, 1000.0) == HOLDS
    assert of_rates(9.0, 3.0, 1000.0) == HOLDS, "no loss counts as more than that before training"
    assert of_rates(0.3, 0.1, 1000.0) == PARTLY
    assert of_rates(0.1, 0.3, 20.0) == PARTLY
    assert of_rates(0.4, 0.3, 10.0) == NOT_HERE
