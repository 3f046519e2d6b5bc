"""A block of batch, sequence and features against torch's norms, and the page."""

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.labs.normalization.cube import numbers as cube
from tests.app_page import sound, words
from tests.labs_page import lab

BLOCK = {
    "layer norm": lambda x, _: nn.functional.layer_norm(x, x.shape[2:]),
    "rms norm": lambda x, _: nn.functional.rms_norm(x, x.shape[2:], eps=1e-5),
    "batch norm": lambda x, _: nn.BatchNorm1d(x.shape[2], dtype=x.dtype)(x.mT).mT.detach(),
    "instance norm": lambda x, _: nn.functional.instance_norm(x.mT).mT,
    "group norm": lambda x, groups: nn.functional.group_norm(x.mT, groups).mT,
    "joint layer norm": lambda x, _: nn.functional.layer_norm(x, x.shape[1:]),
}


SHAPED = {
    "layer norm": lambda x: nn.LayerNorm(6)(x.movedim(1, -1)).movedim(-1, 1),
    "rms norm": lambda x: nn.RMSNorm(6)(x.movedim(1, -1)).movedim(-1, 1),
    "batch norm": lambda x: nn.BatchNorm2d(6)(x) if x.dim() == 4 else nn.BatchNorm1d(6)(x),
    "instance norm": nn.functional.instance_norm,
    "group norm": nn.GroupNorm(2, 6),
    "joint layer norm": lambda x: nn.LayerNorm(x.shape[1:])(x),
}
TORCHS_SHAPES = {"[B, F]": ("B", "F"), "[B, C, H, W]": ("B", "C", "H", "W"), "[B, T, F]": ("B", "F", "T")}


@pytest.mark.parametrize("norm", cube.NORMS)
@pytest.mark.parametrize("shape", cube.SHAPES)
def test_a_norm_averages_over_the_axes_torchs_result_depends_on(norm, shape):
    axes = TORCHS_SHAPES[shape]
    size = [{"B": 3, "H": 2, "W": 4, "T": 5}.get(axis, 6) for axis in axes]
    x = torch.randn(size, generator=torch.Generator().manual_seed(0), requires_grad=True)
    try:
        result = SHAPED[norm](x)
    except (ValueError, RuntimeError):
        assert cube.averaged_over(norm, shape) == ""
        return
    (gradient,) = torch.autograd.grad(result.flatten()[0], x)
    places = gradient.abs().gt(1e-9).nonzero()
    counts = {axis: len(places[:, i].unique()) for i, axis in enumerate(axes)}
    whole = {axis: counts[axis] == of for axis, of in zip(axes, size, strict=True)}
    found = cube.averaged_over(norm, shape)
    expected = {axis if whole[axis] else f"a group of {axis}" for axis in axes if counts[axis] > 1}
    assert set(found.split(", ")) == expected


@pytest.mark.parametrize("norm", cube.NORMS)
@pytest.mark.parametrize("groups", [1, 2])
def test_what_moves_is_what_shares_statistics(norm, groups):
    x = cube.block(3, 4, 6)
    judge = BLOCK[norm](torch.tensor(x), groups).numpy()
    np.testing.assert_allclose(cube.normed_block(x, norm, groups), judge, atol=1e-12)
    at = (1, 2, 3)
    labels = cube.set_labels(x.shape, norm, groups)
    moves = np.abs(cube.changes(x, norm, at, 1.7, groups)) > 1e-9
    np.testing.assert_array_equal(moves, labels == labels[at])
    pushed = torch.tensor(x)
    pushed[at] += 1.7
    np.testing.assert_allclose(
        cube.changes(x, norm, at, 1.7, groups), BLOCK[norm](pushed, groups).numpy() - judge, atol=1e-12
    )


@pytest.mark.parametrize("norm", cube.NEEDS_TWO)
def test_a_set_of_one_value_is_refused_as_torch_refuses_it(norm):
    one = torch.zeros(1, 1, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="more than 1"):
        BLOCK[norm](one, 2)
    with pytest.raises(ValueError, match="more than one value"):
        cube.normed_block(one.numpy(), norm, 2)


def test_the_page_has_both_and_says_what_it_cannot_norm():
    page = lab("normalization")
    page.session_state["normalization_part"] = "Who sees whom"
    sound(page.run())
    assert "4 of 48 values share these statistics; 4 results move." in words(page)
    page.session_state["normalization_cube_norm"] = "batch norm"
    sound(page.run())
    assert "12 of 48 values share these statistics; 12 results move." in words(page)
    for name in ("batch", "tokens"):
        page.session_state[f"normalization_cube_{name}"] = 1
    sound(page.run())
    assert "Batch norm needs more than one value in a set" in page.error[0].value
