"""Tests the result: Doubly stochastic mixing gives hyper-connections the identity back."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from models.insight.outcome import final_loss
from models.nets.connections import HyperConnection
from models.papers.judging import HOLDS, NOT_HERE, PARTLY, measures
from models.papers.papers import PAPERS
from models.spec import RunConfig
from models.training import Run
from tests.papers.kit import comes_out, ending, gathered, verdict


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("mhc", PARTLY)


@pytest.mark.full
def test_hyper_connections_held_at_the_identity_end_alike() -> None:
    """What the card says of the losses: by nets whose mixing gets no gradient."""
    for measured in measures(gathered("mhc"), "mHC, mixing"):
        assert np.abs(measured.mixing - np.eye(4)).max() < 0.0011
    free, bound = (PAPERS["mhc"].nets[name] for name in ("hyper-connections", "mHC"))
    ends = np.array([[ended(replace(cfg, seed=seed), held) for cfg, held in ((free, False), (free, True), (bound, False))]
                     for seed in range(103, 107)]).T  # fmt: skip
    assert np.abs(ends[2] - ends[1]).max() < 0.3 * (ends[2] - ends[0]).mean()


def ended(cfg: RunConfig, held: bool) -> float:
    """The final loss, of a net whose streams' mixing is never updated if that is `held`."""
    run = Run(cfg, frames=False)
    for part in run.model.modules():
        if held and isinstance(part, HyperConnection):
            part.alpha.register_hook(lambda grad: torch.cat((grad[:4], torch.zeros_like(grad[4:]))))
    run.advance(cfg.steps)
    return final_loss(run.trace())


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
