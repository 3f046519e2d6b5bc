"""Tests the result: A gate that starts at 0 on every branch trains far deeper nets, and faster."""

from dataclasses import replace

import numpy as np
import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from models.trace import Trace
from tests.papers.kit import comes_out, short


def dropping(step: float) -> list[Trace]:
    """Losses that are 2 up to a step and 0.1 from it on."""
    return [replace(short(2), loss=np.where(np.arange(25) < step, 2.0, 0.1))] * 10


def gated(*steps: float) -> str:
    """The verdict on ReZero, pre-norm and plain nets of both depths that learn after so many steps."""
    return (
        PAPERS["zero-gates"].finding(dict(zip(PAPERS["zero-gates"].sources, map(dropping, steps), strict=True))).answer
    )


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("zero-gates", PARTLY)


def test_zero_gates_are_judged_by_the_steps_that_each_net_needs() -> None:
    assert gated(10, 8, 12, 12, 15, np.inf) == HOLDS
    assert gated(10, 8, 5, 5, 15, np.inf) == PARTLY
    assert gated(10, 8, 12, 12, 15, 20) == PARTLY
    assert gated(8, np.inf, 5, 5, 15, 18) == NOT_HERE
