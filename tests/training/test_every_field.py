"""A field of a run acts alike wherever a run is computed: alone, in a batch of runs, and in the exported script.

Configurations are drawn over all fields, so a new field is here without a word of this file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from models.export.script.script import standalone_script
from models.nets import build_model, stack_nets
from models.spec import RunConfig, knobs
from models.tasks import digits
from models.trace import Trace
from models.training import Run
from models.training.batched import DIFFERING_FIELDS, Batched
from tests.export.test_script import assert_same, printed_here
from tests.strategies import configs, legal_values

SERIES = ("loss", "lr", "grad_norm", "act_rms", "grad_rms", "branch_rms", "weight_grad_rms")
FRAMES = ("held_out_loss", "train_mode_loss", "sample_cosine", "update_to_weight", "held_out_accuracy")
SMALL = {
    "depth": st.integers(1, 3),
    "width": st.integers(1, 12),
    "heads": st.integers(1, 2),
    "expansion": st.integers(1, 3),
    "batch": st.integers(1, 6),
    "steps": st.integers(1, 5),
    "warmup": st.integers(0, 6),
    "device": st.just("cpu"),
}


@st.composite
def small_configs(draw: st.DrawFn) -> RunConfig:
    """Small nets in which any fields, few or many, have any legal value."""
    usual = draw(st.sets(st.sampled_from([name for name in knobs() if name not in (*SMALL, "overrides")])))
    fixed = {name: draw(strategy) for name, strategy in SMALL.items()}
    return draw(configs(**fixed, **{name: getattr(RunConfig(), name) for name in usual}))


@st.composite
def pairs(draw: st.DrawFn) -> list[RunConfig]:
    """A small configuration, and the same with other values in some of the fields in which batched runs may differ.

    Both are tame, so that rounding stays small: a norm over one or two numbers lets no gradient pass but rounding,
    divided by its epsilon, and large steps of large weights multiply it.
    """
    cfg = draw(small_configs())
    cfg = replace(cfg, width=max(cfg.width, 4 * cfg.heads), batch=max(cfg.batch, 3), eps=max(cfg.eps, 1e-6))
    changed = draw(st.sets(st.sampled_from(DIFFERING_FIELDS)))
    values = {name: draw(SMALL.get(name, legal_values(name))) for name in changed}
    other = replace(cfg, **values)
    return [replace(each, lr=min(each.lr, 0.01), init_gain=min(each.init_gain, 2.0)) for each in (cfg, other)]


@contextmanager
def in_float64() -> Iterator[None]:
    """Float64 throughout, the stored digits too: two ways to one sum then differ by far less than any mistake."""
    samples = digits.samples

    def in_default_dtype(tokens: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = samples(tokens, device)
        return x.to(torch.get_default_dtype()), y

    torch.set_default_dtype(torch.float64)
    try:
        with patch.object(digits, "samples", in_default_dtype):
            yield
    finally:
        torch.set_default_dtype(torch.float32)


@settings(max_examples=60)
@given(small_configs())
def test_a_script_prints_its_run_bit_for_bit(cfg: RunConfig) -> None:
    assert_same(printed_here(cfg), cfg)


def trained(cfg: RunConfig, change: float = 0.0) -> Trace:
    """The trace of a run alone to whose weights numbers of up to `change` are first added."""
    run = Run(cfg)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.add_(change * torch.rand_like(parameter))
    run.advance(cfg.steps)
    return run.trace()


def figures(trace: Trace) -> dict[str, np.ndarray]:
    """What a trace says, each an array of one number a step or frame and site."""
    series = {name: getattr(trace, name) for name in SERIES}
    return series | {name: np.stack([getattr(frame, name) for frame in trace.frames]) for name in FRAMES}


@settings(max_examples=60)
@given(pairs())
def test_a_run_in_a_batch_equals_it_alone(members: list[RunConfig]) -> None:
    with in_float64():
        together = Batched(members)
        together.advance(members[0].steps)
        for cfg, trace in zip(members, together.traces(), strict=True):
            alone, shaken = figures(trained(cfg)), figures(trained(cfg, 1e-11))
            for name, batched in figures(trace).items():
                arrays = batched, alone[name], shaken[name]
                a, b, c = (array[: min(map(len, arrays))] for array in arrays)  # one that diverges may end sooner
                # What a weight's eleventh digit changes is rounding: samples that a norm tells apart by their last
                # digits, the gradient of a bias before a norm, a run that diverges (or overflows one's float32).
                steady = np.logical_and.accumulate(
                    np.isclose(b, c, rtol=1e-6, atol=1e-10, equal_nan=True) & ~(np.abs(b) > 1e30)
                )
                of_ties = 0.02 if name == "held_out_accuracy" else 1e-10
                np.testing.assert_allclose(a[steady], b[steady], rtol=1e-5, atol=of_ties, err_msg=name)


@settings(max_examples=60)
@given(small_configs())
def test_parameters_have_one_name_everywhere(cfg: RunConfig) -> None:
    words = {"__name__": "script"}
    exec(compile(standalone_script(cfg), "script", "exec"), words)
    net = build_model(cfg)
    shapes = {name: p.shape for name, p in net.named_parameters()}
    assert {name: p.shape for name, p in words["Net"]().named_parameters()} == shapes  # type: ignore[operator]
    stacked = dict(stack_nets([net, net], cfg.tokens).named_parameters())
    assert {name: p.numel() for name, p in stacked.items()} == {n: 2 * shape.numel() for n, shape in shapes.items()}


@given(small_configs(), st.data())
def test_a_field_that_a_batch_cannot_mix_is_named(cfg: RunConfig, data: st.DataObject) -> None:
    other = data.draw(small_configs())
    mixed = [name for name in knobs() if name not in DIFFERING_FIELDS and getattr(cfg, name) != getattr(other, name)]
    assume(mixed)
    with pytest.raises(ValueError, match=f"configs differ in {', '.join(mixed)}; legal are differences in seed"):
        Batched([cfg, other])
