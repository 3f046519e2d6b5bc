"""Several seeds in one batched computation are the same runs as one after another."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from addnorm.probe import MAX_STACKED_NUMBERS
from models.nets import build_model, stack_nets
from models.spec import ARRANGEMENTS, NORMS, OPTIMIZERS, POSITIONS, TASKS, RunConfig
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


@pytest.mark.full
@pytest.mark.parametrize("name", ARRANGEMENTS)
@pytest.mark.parametrize("net", ["mlp", "transformer"])
def test_in_float32_row_0_agrees_tightly_and_all_rows_closely(name, net):
    cfg = RunConfig.arranged(name, net=net, **SMALL)
    found, expected = together(cfg, seeds=PAIR, frames=False), one_by_one(cfg, PAIR, frames=False)
    assert_close(found, expected, rtol=1e-5, rows=slice(1))
    assert_close(found, expected, rtol=1e-3)


OTHERS = {
    **{norm: SMALL | {"norm": norm, "task": "xor", "placement": "sandwich"} for norm in NORMS},
    **{
        f"{norm} in attention": TRANSFORMER | {"norm": norm, "placement": "mid-norm", "qk_norm": True} for norm in NORMS
    },
    **{f"{norm} without gains": SMALL | {"norm": norm, "affine": False, "placement": "post-norm"} for norm in NORMS},
    **{position: TRANSFORMER | {"position": position, "mask": "none"} for position in POSITIONS},
    **{f"{task}, {net}": SMALL | {"task": task, "net": net} for task in TASKS for net in ("mlp", "transformer")},
    **{
        optimizer: SMALL | {"optimizer": optimizer, "lr": 1e-3, "weight_decay": 0.5, "clip": 0.3}
        for optimizer in OPTIMIZERS
    },
    "one layer": SMALL | {"layers_per_branch": 1, "expansion": 3},
    "layer scale, weight decay, clip": TRANSFORMER | {"branch_scale": "layer scale", "weight_decay": 0.5, "clip": 0.1},
    "DLCL, batch norm, warm-up": TRANSFORMER
    | {"stack": "dlcl", "norm": "batch norm", "warmup": 5, "schedule": "cosine"},
    "some blocks otherwise": TRANSFORMER | {"overrides": ((1, "identity", True), (2, "norm", "batch norm"))},
    "dropout": TRANSFORMER | {"branch_dropout": 0.3, "stream_dropout": 0.1},
    "dropout, batch norm, an activation of its own": SMALL
    | {"branch_dropout": 0.2, "norm": "batch norm", "overrides": ((2, "activation", "tanh"),)},
    "all blocks out": SMALL | {"overrides": ((1, "identity", True), (2, "identity", True))},
    "wide": SMALL | {"width": 264, "expansion": 2, "depth": 1},
}


# Norms and tasks of which another case has the same parts: a third of them stays in the first tier.
AGAIN = {name for name in OTHERS if name.endswith((" in attention", " without gains", ", mlp", ", transformer"))}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(fields, id=name, marks=pytest.mark.full if name in AGAIN and at % 3 else ())
        for at, (name, fields) in enumerate(OTHERS.items())
    ],
)
def test_every_norm_task_position_and_optimiser_is_batched_to_the_same_rows_and_frames(fields):
    cfg = RunConfig(**(fields | {"steps": 6}))
    found, expected = together(cfg, seeds=PAIR), one_by_one(cfg, PAIR)
    assert_close(found, expected, rtol=1e-3)
    for one, other in zip(found, expected, strict=True):
        assert [frame.step for frame in one.frames] == [frame.step for frame in other.frames]
        for a, b in zip(one.frames, other.frames, strict=True):
            np.testing.assert_allclose(
                a.sample_cosine, b.sample_cosine, atol=1e-3
            )  # of a scale of 1, whatever its value
            np.testing.assert_allclose(a.dead_units, b.dead_units, atol=0.05)
            np.testing.assert_allclose(a.update_to_weight, b.update_to_weight, rtol=1e-2, atol=1e-6)
            np.testing.assert_allclose(a.held_out_loss, b.held_out_loss, rtol=1e-3)
            np.testing.assert_allclose(a.train_mode_loss, b.train_mode_loss, rtol=1e-3)
            np.testing.assert_allclose(a.held_out_accuracy, b.held_out_accuracy, atol=0.01)


def test_the_wide_configuration_is_wide_enough_to_be_summed_tensor_by_tensor():
    assert len(PAIR) * OTHERS["wide"]["width"] ** 2 > MAX_STACKED_NUMBERS


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


def test_parameters_keep_their_names_and_gain_the_seed_axis():
    cfg = RunConfig.arranged("DLCL", **TRANSFORMER, qk_norm=True)
    nets = [build_model(replace(cfg, seed=seed)) for seed in SEEDS]
    shared = dict(stack_nets(nets, cfg.tokens).named_parameters())
    for name, parameter in nets[0].named_parameters():
        assert shared[name].numel() == len(SEEDS) * parameter.numel(), name
        assert len(shared[name]) == len(SEEDS), name
    assert shared.keys() == dict(nets[0].named_parameters()).keys()


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
