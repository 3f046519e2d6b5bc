"""The activations' derivatives against torch, and where they are largest."""

import numpy as np
import pytest
import torch

from exhibits.labs.gradients.slopes.page import curve_chart
from models.insight.gaussian import ACTIVATIONS as FUNCTIONS
from models.insight.gaussian import slope, steepest_point, value
from models.nets.branches import ACTIVATIONS
from models.spec.vocabulary import ACTIVATIONS as NAMED


def test_every_activation_of_the_app_has_its_derivative():
    assert list(FUNCTIONS) == list(NAMED)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_derivative_are_torchs(name):
    z = torch.linspace(-5, 5, 201, dtype=torch.float64, requires_grad=True)
    phi = ACTIVATIONS[name]()(z)
    phi.sum().backward()
    assert z.grad is not None
    np.testing.assert_allclose(value(name, z.detach().numpy()), phi.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(slope(name, z.detach().numpy()), z.grad.numpy(), atol=1e-12)


def test_the_steepest_places_are_known():
    assert steepest_point("sigmoid") == (0.0, 0.25)
    assert steepest_point("tanh") == (0.0, 1.0)
    assert steepest_point("gelu")[0] == pytest.approx(2**0.5, abs=1e-3)
    assert steepest_point("relu")[1] == 1


def figures():
    yield curve_chart("φ", list(FUNCTIONS), False, 0.0)
    yield curve_chart("φ'", [], True, 0.0)
