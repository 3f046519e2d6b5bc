"""Tests the result: Doubly stochastic mixing gives hyper-connections the identity back."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, ending, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("mhc", PARTLY)


def of_mixings(free: float, bound: float, off: tuple[float, float], on: tuple[float, float]) -> str:
    """The verdict on two gains after 16 blocks, and on final losses of both nets off the identity and from it on."""
    values: dict[str, Any] = {}
    for name in PAPERS["mhc"].sources:
        is_bound = name.startswith("mHC")
        if ", mixing" in name:
            values[name] = SimpleNamespace(forward=np.full(16, bound if is_bound else free), backward=np.ones(16))
        else:
            values[name] = ending(*[(off if ", off" in name else on)[is_bound]] * 10)
    return verdict("mhc", values)


def test_mixing_is_judged_by_gain_and_losses() -> None:
    assert of_mixings(2.0, 1.0, (0.3, 0.2), (0.3, 0.2)) == HOLDS
    assert of_mixings(1.0, 1.0, (0.3, 0.2), (0.3, 0.2)) == PARTLY
    assert of_mixings(2.0, 1.0, (0.3, 0.2), (0.2, 0.3)) == PARTLY
    assert of_mixings(1.0, 2.0, (0.2, 0.3), (0.2, 0.3)) == NOT_HERE


def test_doubly_stochastic_products_keep_what_streams_share() -> None:
    """Mixed by hand from permutations (Birkhoff); one that is not doubly stochastic has a gain per block."""
    source = np.random.default_rng(0)
    product = bare = np.eye(4)
    for _ in range(16):
        shares = source.dirichlet(np.ones(5))
        mixing = sum(share * np.eye(4)[source.permutation(4)] for share in shares)
        product, bare = mixing @ product, 1.1 * mixing @ bare
    np.testing.assert_allclose(product @ np.ones(4), np.ones(4))
    np.testing.assert_allclose(np.ones(4) @ product, np.ones(4))
    np.testing.assert_allclose(bare @ np.ones(4), np.full(4, 1.1**16))
