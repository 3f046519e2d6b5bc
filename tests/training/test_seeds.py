"""Several seeds in one batched computation are the same runs as one after another."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from addnorm.probe import MAX_STACKED_NUMBERS
from models.spec import RunConfig
from models.trace import SCALARS
from models.training import Run, SeedRuns
from tests.arrangements import every_pair
from tests.training.test_probe import nothing_waits
from tests.training.test_run import assert_same

SEEDS, PAIR = (0, 3, 7), (0, 3)
SERIES = (*SCALARS, "act_rms", "grad_rms", "branch_rms", "weight_grad_rms")
SMALL = {"depth": 2, "width": 8, "batch": 4, "steps": 20, "heads": 2}
TRANSFORMER = SMALL | {"net": "transformer", "task": "copy", "optimizer": "adam", "lr": 1e-3}
DIVERGES = RunConfig(**(SMALL | {"depth": 6}), norm="none", lr=3.0)


@pytest.fixture
def double():
    """Float64 throughout: what is left between two ways to the same sum is far below what any mistake would make."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def one_by_one(cfg, seeds=SEEDS, **how):
    """The traces of separate runs."""
    runs = [Run(replace(cfg, seed=seed), **how) for seed in seeds]
    for run in runs:
        run.advance(cfg.steps)
    return [run.trace() for run in runs]


def together(cfg, *slices, seeds=SEEDS, **how):
    """The traces of the batched runs, advanced slice by slice."""
    runs = SeedRuns(cfg, seeds, **how)
    for n in slices or (cfg.steps,):
        runs.advance(n)
    return runs.traces()


def assert_close(found, expected, rtol, rows=slice(None)):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.divergence == other.divergence
        assert (one.sites, one.branches, len(one)) == (other.sites, other.branches, len(other))
        for name in SERIES:
            a, b = getattr(one, name)[rows], getattr(other, name)[rows]
            # A bias before a softmax or a norm has no gradient but rounding: what is far below the series is no figure.
            floor = rtol * np.abs(b[np.isfinite(b)]).max(initial=0.0) * 1e-3
            np.testing.assert_allclose(a, b, rtol=rtol, atol=floor, err_msg=name)


@every_pair
def test_the_rows_of_every_arrangement_are_those_of_the_separate_runs(double, arrangement, net):
    cfg = RunConfig.arranged(arrangement, **(TRANSFORMER if net == "transformer" else SMALL | {"task": "spiral"}))
    found, expected = together(cfg, seeds=PAIR, frames=False), one_by_one(cfg, PAIR, frames=False)
    assert_close(found, expected, rtol=1e-8)


def test_nets_too_wide_to_stack_have_the_same_rows():
    cfg = RunConfig(**SMALL | {"width": 264, "expansion": 2, "depth": 1, "steps": 6})
    assert len(PAIR) * cfg.width**2 > MAX_STACKED_NUMBERS
    assert_close(together(cfg, seeds=PAIR, frames=False), one_by_one(cfg, PAIR, frames=False), rtol=1e-3)


@pytest.mark.parametrize("cfg", [RunConfig(**SMALL, norm="batch norm"), RunConfig(**TRANSFORMER, clip=0.5), DIVERGES])
def test_advancing_by_1_and_7_and_12_equals_advancing_by_20(cfg):
    for one, other in zip(together(cfg, 1, 7, 12), together(cfg, 20), strict=True):
        assert_same(one, other)


def test_advancing_by_time_takes_at_least_one_step_and_gives_the_same_rows():
    runs = SeedRuns(RunConfig(**SMALL), SEEDS)
    assert runs.advance(20, seconds=0) == 1
    assert runs.advance(20, seconds=1e9) == 19
    assert runs.done
    assert runs.advance(5) == 0
    for one, other in zip(runs.traces(), together(RunConfig(**SMALL)), strict=True):
        assert_same(one, other)


def test_a_seed_that_diverges_ends_its_own_trace_and_changes_no_other():
    runs = SeedRuns(RunConfig(**SMALL), SEEDS)
    runs.advance(4)
    with torch.no_grad():
        runs.model.stream.blocks["b02"]["mlp"].function.w1.weight[1] = torch.inf
    runs.advance(16)
    untouched = together(RunConfig(**SMALL))
    hurt, expected = runs.traces()[1], untouched[1]
    assert (runs.step, runs.done) == (20, True)
    assert [divergence is not None for divergence in runs.divergences] == [False, True, False]
    assert (hurt.divergence.step, hurt.divergence.block) == (4, 2)
    assert len(hurt) == 5
    assert [frame.step for frame in hurt.frames] == [
        step for step in (frame.step for frame in expected.frames) if step <= 4
    ]
    assert np.array_equal(hurt.loss[:4], expected.loss[:4])
    for at in (0, 2):
        assert_same(runs.traces()[at], untouched[at])


def test_when_every_seed_has_diverged_it_is_over_as_for_the_separate_runs():
    runs, expected = SeedRuns(DIVERGES, SEEDS), one_by_one(DIVERGES)
    added = runs.advance(DIVERGES.steps)
    assert all(trace.divergence for trace in expected)
    assert added == runs.step == max(len(trace) for trace in expected) < DIVERGES.steps
    assert runs.done
    assert runs.advance(1) == 0
    for one, other in zip(runs.traces(), expected, strict=True):
        assert one.divergence == other.divergence
        assert len(one) == len(other)


def test_a_seed_does_not_see_which_others_train_beside_it():
    cfg = RunConfig(**TRANSFORMER, clip=0.5)
    assert_close(together(cfg, seeds=(3,)), together(cfg)[1:2], rtol=1e-4)
    assert_close(together(cfg, seeds=(3, 3)), one_by_one(cfg, (3, 3)), rtol=1e-3)


@pytest.mark.parametrize(
    "fields", [SMALL | {"norm": "batch norm", "clip": 0.5}, TRANSFORMER], ids=["mlp", "transformer"]
)
def test_nothing_in_a_batched_step_waits_for_the_device(fields):
    runs = SeedRuns(RunConfig(**fields), SEEDS)
    runs.advance(5)
    with nothing_waits():
        runs._train_step()


def test_no_seeds_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="seeds is empty; legal is one seed or more"):
        SeedRuns(RunConfig(**SMALL), ())
