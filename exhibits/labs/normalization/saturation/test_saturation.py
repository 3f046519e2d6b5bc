"""Slopes behind a table against torch's, with and without a norm."""

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.labs.normalization.saturation.numbers import slopes_at_inputs
from models.insight.gaussian import ACTIVATIONS

SOME = np.random.default_rng(3).normal(1.5, 2.0, (5, 6))


@pytest.mark.parametrize(("activation", "most"), [("tanh", 1.0), ("sigmoid", 0.25)])
@pytest.mark.parametrize("normed", [False, True])
def test_the_slopes_behind_a_table_are_torchs_and_a_norm_keeps_them_from_saturating(activation, most, normed):
    """By torch's layer norm and its derivative of the activation; saturated: below a tenth of the largest slope."""
    for times in (1.0, 10.0, 100.0):
        x = torch.tensor(times * SOME)
        z = (nn.functional.layer_norm(x, (6,), eps=1e-5) if normed else x).requires_grad_()
        (slope,) = torch.autograd.grad(getattr(torch, activation)(z).sum(), z)
        found = slopes_at_inputs(times * SOME, ACTIVATIONS[activation][1], normed=normed)
        assert found.rms == pytest.approx(slope.square().mean().sqrt().item(), rel=1e-5)
        assert found.least == pytest.approx(slope.min().item(), rel=1e-5, abs=1e-12)
        assert found.saturated == pytest.approx((slope < 0.1 * most).double().mean().item())
        assert found.largest_input == pytest.approx(z.abs().max().item())
        if normed:
            assert found.largest_input <= np.sqrt(5) * (1 + 1e-9)
            assert found.rms > 0.5 * most
    if not normed:
        assert found.rms < 0.2 * most
        assert found.saturated > 0.9
