"""Layers that share a stream by directions, against the matrices of the same layers as torch multiplies them."""

import numpy as np
import pytest
import torch

from exhibits.labs.residual.subspaces.numbers import (
    BASIS,
    FEATURES,
    ORDERS,
    WRITTEN_BY_A,
    WRITTEN_BY_B,
    layer_accesses,
    start,
)
from exhibits.labs.residual.subspaces.page import Directions, access_chart, read_sentence
from tests.app_page import sound, words
from tests.drawn import all_drawn
from tests.labs_page import lab


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("angle", "amount", "share"), [(0, 2.0, 1.0), (30, -1.5, 0.4), (90, 2.0, 1.0), (150, 1.0, 0.0)]
)
def test_the_stream_is_that_of_the_layers_as_matrices(order, angle, amount, share):
    """B is x + w v'x, C is x - share u u'x, with unit vectors u, v, w."""
    u, w = torch.tensor(WRITTEN_BY_A), torch.tensor(WRITTEN_BY_B)
    v = np.cos(np.pi * angle / 180) * u + np.sin(np.pi * angle / 180) * torch.tensor(BASIS[1])
    eye = torch.eye(FEATURES, dtype=torch.float64)
    layers = {"B": eye + torch.outer(w, v), "C": eye - share * torch.outer(u, u)}
    stream = torch.tensor(start(1.5)) + amount * u
    found = layer_accesses(start(1.5), amount=amount, angle=angle, share=share, order=order)
    np.testing.assert_allclose(found[0].stream, stream.numpy(), atol=1e-12)
    for step in found[1:]:
        read = {"B": v, "C": u}[step.layer]
        assert step.read_size == pytest.approx((read @ stream).item(), abs=1e-12)
        stream = layers[step.layer] @ stream
        np.testing.assert_allclose(step.stream, stream.numpy(), atol=1e-12)


def test_directions_are_orthonormal_and_the_token_is_as_long_as_asked():
    np.testing.assert_allclose(BASIS @ BASIS.T, np.eye(FEATURES), atol=1e-12)
    assert np.linalg.norm(start(1.5)) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("angle", "amount", "order", "expected"),
    [
        (60, 2.0, ORDERS[0], "B reads 1 of the 2 that A wrote (cos 60° = 0.5)"),
        (180, 2.0, ORDERS[0], "B reads -2 of the 2"),
        (90, 2.0, ORDERS[0], "without reading each other"),
        (30, 2.0, ORDERS[1], "C had deleted it before"),
        (30, 0.0, ORDERS[0], "A wrote nothing"),
    ],
)
def test_what_b_hears_of_a(angle, amount, order, expected):
    at = Directions(angle=angle, amount=amount, order=order)
    steps = layer_accesses(np.zeros(FEATURES), amount=amount, angle=angle, share=1.0, order=order)
    heard = next(step.read_size for step in steps if step.layer == "B")
    assert expected in read_sentence(heard, 0.0, at, 0.0)
    all_drawn([access_chart(steps)])


def test_the_page_turns_b_until_it_no_longer_hears_a(trainer_in_this_process):
    page = lab("residual")
    assert "B reads 1.73 of the 2 that A wrote" in words(page)
    page.slider(key="residual_subspaces_angle").set_value(90)
    assert "without reading each other" in words(sound(page.run()))
