"""The same runs on a CUDA device: rows, batches, scripts and instruments. Skipped where there is none."""

from dataclasses import astuple, replace

import numpy as np
import pytest
import torch

from models.instruments import INSTRUMENTS
from models.spec import ARRANGEMENTS, NETS, NORMS, POSITIONS, TASKS, RunConfig
from models.training import Replays, Run, SeedRuns
from tests.export.test_script import numbers, printed_here
from tests.instruments.examples import EXAMPLES

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")

SMALL = {"depth": 3, "width": 16, "batch": 8, "steps": 8, "device": "cuda"}
TRANSFORMER = SMALL | {"net": "transformer", "task": "copy", "optimizer": "adam", "lr": 1e-3}
SERIES = ("loss", "grad_norm", "act_rms", "grad_rms", "branch_rms", "weight_grad_rms")
CASES = [
    *(RunConfig.arranged(name, **SMALL | {"net": net}) for name in ARRANGEMENTS for net in NETS),
    *(RunConfig(**SMALL | {"norm": norm, "placement": "sandwich", "task": "spiral"}) for norm in NORMS),
    *(RunConfig(**TRANSFORMER | {"position": position}) for position in POSITIONS),
    *(RunConfig(**SMALL | {"task": task, "net": net, "clip": 0.5}) for task in TASKS for net in NETS),
    RunConfig(**SMALL | {"branch_dropout": 0.3, "stream_dropout": 0.1, "norm": "batch norm"}),
]


def trace(cfg):
    run = Run(cfg)
    assert run.device == cfg.device
    run.advance(cfg.steps)
    run.close()
    return run.trace()


def assert_close(found, expected, rtol, rows=slice(None)):
    for name in SERIES:
        a, b = getattr(found, name)[rows], getattr(expected, name)[rows]
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max() * 1e-2, err_msg=name)


@pytest.mark.parametrize("cfg", CASES, ids=str)
def test_rows_on_cuda_are_the_processor_s(cfg):
    found, expected = trace(cfg), trace(replace(cfg, device="cpu"))
    assert found.divergence == expected.divergence
    assert_close(found, expected, 1e-4, slice(1))
    assert_close(found, expected, 2e-2)
    assert [frame.step for frame in found.frames] == [frame.step for frame in expected.frames]
    np.testing.assert_allclose(found.frames[0].held_out_loss, expected.frames[0].held_out_loss, rtol=1e-4)


@pytest.mark.parametrize("fields", [SMALL, TRANSFORMER], ids=["mlp", "transformer"])
def test_seeds_on_cuda_are_batched_to_the_same_rows(fields):
    runs = SeedRuns(RunConfig(**fields), (0, 3))
    runs.advance(8)
    for seed, found in zip((0, 3), runs.traces(), strict=True):
        run = Run(RunConfig(**fields, seed=seed))
        run.advance(8)
        assert_close(found, run.trace(), 1e-2)


@pytest.mark.parametrize("fields", [SMALL, TRANSFORMER], ids=["mlp", "transformer"])
def test_a_script_on_cuda_prints_its_run(fields):
    cfg = RunConfig(**fields)
    printed, expected = numbers(printed_here(cfg)), trace(cfg)
    for name in ("loss", "act_rms", "grad_rms"):
        np.testing.assert_allclose(printed[name], getattr(expected, name)[: len(printed[name])], rtol=1e-5)


@pytest.mark.parametrize("fields", [SMALL, TRANSFORMER], ids=["mlp", "transformer"])
def test_cuda_itself_sees_nothing_wait(fields):
    run = Run(RunConfig(**fields | {"clip": 0.5}))
    run.advance(5)
    torch.cuda.set_sync_debug_mode("error")
    try:
        run._train_step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("name", INSTRUMENTS)
def test_an_instrument_on_cuda_answers_as_the_processor(name, net):
    nets, arguments = EXAMPLES[name]
    if {"mlp": "MLP"}.get(net, net) not in nets:
        pytest.skip("no question to this net")
    cfg = RunConfig(**SMALL) if net == "mlp" else RunConfig(**TRANSFORMER | {"task": "book"})
    answers = [answer(name, replace(cfg, device=device), arguments) for device in ("cuda", "cpu")]
    for found, expected in zip(*map(astuple, answers), strict=True):
        if isinstance(expected, np.ndarray) and expected.dtype.kind == "f":
            size = np.nanmax(np.abs(expected), initial=1e-9)  # below that a number is rounding
            np.testing.assert_allclose(found, expected, rtol=0.05, atol=0.02 * size)


def answer(name, cfg, arguments):
    work = INSTRUMENTS[name](Replays(), cfg, step=2, **arguments)
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
