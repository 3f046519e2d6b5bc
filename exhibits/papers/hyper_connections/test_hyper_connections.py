"""Tests the result: Several streams that are mixed with learned weights do better than one."""

from typing import Any

import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, lesions, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("hyper-connections", PARTLY)


def of_streams(one: float, static: float, dynamic: float, worth: float) -> str:
    """The verdict on final losses, and on late blocks that are worth so much more with several streams."""
    losses = iter((one, static, dynamic))
    values: dict[str, Any] = {}
    for name in PAPERS["hyper-connections"].sources:
        if ", lesions" in name:
            values[name] = lesions(*[0.9] * 6, loss=0.4 + worth * name.startswith("hyper"))
        else:
            values[name] = ending(*[next(losses)] * 10)
    return verdict("hyper-connections", values)


def test_streams_are_judged_by_losses_and_late_blocks() -> None:
    assert of_streams(2.4, 2.3, 2.3, 0.1) == HOLDS
    assert of_streams(2.4, 2.3, 2.3, -0.1) == PARTLY
    assert of_streams(2.4, 2.3, 2.5, 0.1) == PARTLY
    assert of_streams(2.3, 2.4, 2.4, -0.1) == NOT_HERE
