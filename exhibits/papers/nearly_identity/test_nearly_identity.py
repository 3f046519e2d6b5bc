"""Tests the result: Batch norm makes the blocks of deep residual nets nearly the identity."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending


def of_norms(share: Callable[[np.ndarray], np.ndarray], *losses: float) -> str:
    values = dict(zip(PAPERS["nearly-identity"].sources, (ending(*[one] * 10) for one in losses), strict=True))
    one = values["batch norm"][0]
    blocks = np.arange(1.0, 33.0)
    act, branch = np.ones((1, 33)), np.sqrt(share(blocks))[None]
    values["batch norm"] = [replace(one, act_rms=act, branch_rms=branch)] * 10
    return PAPERS["nearly-identity"].finding(values).answer


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("nearly-identity", HOLDS)


def test_an_identity_is_judged_by_the_share_of_the_branches_and_by_which_nets_learn() -> None:
    assert of_norms(lambda blocks: 1 / blocks, 0.09, 0.03, np.inf) == HOLDS
    assert of_norms(lambda blocks: 0.5 + 0 * blocks, 0.09, 0.03, np.inf) == PARTLY
    assert of_norms(lambda blocks: 1 / blocks, 0.09, 2.0, 2.3) == PARTLY
    assert of_norms(lambda blocks: 0.5 + 0 * blocks, 0.09, 2.0, 0.1) == NOT_HERE
