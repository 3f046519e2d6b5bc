"""Runs that differ in rate and seed, trained as one. That each comes out as it does alone is in test_every_field."""

import numpy as np
import pytest

from models.spec import RunConfig
from models.training import Run
from models.training.batched import Batched

SMALL = {"task": "circles", "depth": 3, "width": 16, "batch": 8, "steps": 30}


def alone(cfg):
    run = Run(cfg)
    run.advance(cfg.steps)
    return run.trace()


def test_a_member_that_diverges_ends_alone():
    configs = [RunConfig(**SMALL, norm="none", optimizer="sgd", lr=lr) for lr in (0.01, 10.0, 0.02)]
    together = Batched(configs)
    together.advance(30)
    kept, lost, other = together.traces()
    assert lost.divergence is not None
    assert lost.divergence.step == alone(configs[1]).divergence.step
    assert kept.divergence is None
    for trace, cfg in ((kept, configs[0]), (other, configs[2])):
        np.testing.assert_allclose(trace.loss, alone(cfg).loss, rtol=1e-3)


def test_the_members_learn_differently():
    configs = [RunConfig(**{**SMALL, "task": "digits"}, lr=lr) for lr in (0.0001, 0.05)]
    together = Batched(configs, frames=False)
    together.advance(30)
    slow, fast = together.traces()
    np.testing.assert_array_equal(slow.loss[0], fast.loss[0])
    assert fast.loss[-5:].mean() < slow.loss[-5:].mean() - 0.3


def test_no_configurations_are_refused():
    with pytest.raises(ValueError, match="configs is empty"):
        Batched([])


def test_every_member_has_the_closing_row_that_it_has_alone_and_one_that_diverged_has_none():
    configs = [RunConfig(**SMALL, norm="none", optimizer="sgd", lr=lr) for lr in (0.01, 10.0, 0.02)]
    together = Batched(configs)
    together.close()
    assert together.length == 0
    together.advance(30)
    before = [len(trace) for trace in together.traces()]
    together.close()
    together.close()
    assert (together.step, together.length) == (30, 31)
    kept, lost, other = together.traces()
    assert (len(kept), len(lost), len(other)) == (31, before[1], 31)
    for trace, cfg in ((kept, configs[0]), (other, configs[2])):
        run = Run(cfg)
        run.advance(30)
        run.close()
        np.testing.assert_allclose(trace.loss[-1], run.trace().loss[-1], rtol=1e-3)
        np.testing.assert_allclose(trace.grad_rms[-1], run.trace().grad_rms[-1], rtol=1e-2)
