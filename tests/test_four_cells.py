"""The lesson of the first minute: residual x norm of the default net, over six seeds.

With both it learns, with the residual alone it blows up, the other two never move. A guess costs log 10 = 2.30.
"""

import numpy as np
import pytest

from models.spec import RunConfig
from models.training import Run

six_seeds = pytest.mark.parametrize("seed", range(6))


def final_loss(seed: int, **fields) -> float:
    """The mean training loss of the last twenty steps: one batch of 64 alone says less."""
    run = Run(RunConfig(seed=seed, **fields), probe=False, frames=False)
    assert run.advance(300) == 300
    assert run.divergence is None
    return float(run.trace().loss[-20:].mean())


@six_seeds
def test_with_residual_and_norm_it_learns(seed):
    assert final_loss(seed) < 0.03


@six_seeds
def test_with_the_norm_after_the_add_it_learns_later(seed):
    assert 0.03 < final_loss(seed, placement="post-norm") < 0.5


@six_seeds
def test_with_neither_it_never_moves(seed):
    assert final_loss(seed, residual=False, norm="none") == pytest.approx(np.log(10), abs=0.03)


@six_seeds
def test_with_the_norm_alone_it_never_moves(seed):
    assert final_loss(seed, residual=False) == pytest.approx(2.33, abs=0.05)


@six_seeds
def test_with_the_residual_alone_it_blows_up_by_step_3(seed):
    run = Run(RunConfig(seed=seed, norm="none"), probe=False, frames=False)
    run.advance(300)
    assert run.divergence.step <= 3
    assert len(run.trace()) == run.divergence.step + 1
