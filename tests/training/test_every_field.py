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
from models.trace import SCALARS
from models.training import Run
from models.training.batched import DIFFERING_FIELDS, Batched
from tests.export.test_script import assert_same, printed_here
from tests.strategies import configs, legal_values

SERIES = (*SCALARS, "act_rms", "grad_rms", "branch_rms", "weight_grad_rms")
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


@settings(max_examples=60)
@given(pairs())
def test_a_run_in_a_batch_equals_it_alone(members: list[RunConfig]) -> None:
    with in_float64():
        together = Batched(members)
        together.advance(members[0].steps)
        for cfg, found in zip(members, together.traces(), strict=True):
            run = Run(cfg)
            run.advance(cfg.steps)
            expected = run.trace()
            # From a loss of a million times the first on, a run multiplies rounding too fast for a bound.
            wild = 1e6 * expected.loss[0]
            tame = slice(int(np.cumprod(expected.loss <= wild).sum()))
            for name in SERIES:
                a, b = getattr(found, name)[tame], getattr(expected, name)[tame]
                # What should be 0 and is rounding alone, such as the gradient of a bias before a norm, is no figure.
                floor = max(1e-12, 1e-6 * np.abs(b[np.isfinite(b)]).max(initial=0.0))
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=floor, err_msg=name)
            for a, b in zip(found.frames, expected.frames, strict=True):
                if not b.held_out_loss <= wild:
                    break
                for name in FRAMES:
                    np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-5, atol=1e-6, err_msg=name)


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
