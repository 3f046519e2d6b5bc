"""Two norms beside each other and the block of batch, sequence and features, by torch's layers."""

import numpy as np
import pytest
import torch
from torch import nn

from components.labs.normalization.beside import aspect_cells
from models.labs import cube
from models.labs.aspects import COMPARED, aspects
from tests.app_page import sound, words
from tests.labs_page import lab

SOME = np.random.default_rng(3).normal(1.5, 2.0, (5, 6))
TABLE = {
    "layer norm": lambda x: nn.functional.layer_norm(x, x.shape[1:]),
    "rms norm": lambda x: nn.functional.rms_norm(x, x.shape[1:], eps=1e-5),
    "group norm": lambda x: nn.functional.group_norm(x, 1),
    "batch norm": lambda x: nn.functional.batch_norm(x, None, None, training=True),
    "joint layer norm": lambda x: nn.functional.layer_norm(x, x.shape),
}
BLOCK = {
    "layer norm": lambda x, _: nn.functional.layer_norm(x, x.shape[2:]),
    "rms norm": lambda x, _: nn.functional.rms_norm(x, x.shape[2:], eps=1e-5),
    "batch norm": lambda x, _: nn.BatchNorm1d(x.shape[2], dtype=x.dtype)(x.mT).mT.detach(),
    "instance norm": lambda x, _: nn.functional.instance_norm(x.mT).mT,
    "group norm": lambda x, groups: nn.functional.group_norm(x.mT, groups).mT,
    "joint layer norm": lambda x, _: nn.functional.layer_norm(x, x.shape[1:]),
}


@pytest.mark.parametrize("method", COMPARED)
def test_the_five_aspects_are_torchs(method):
    judge, x = TABLE[method], torch.tensor(SOME)
    found, whole = aspects(SOME, method), judge(x)
    moves = []
    for token in range(len(x)):
        pushed = x.clone()
        pushed[token, 0] += 1
        others = [at for at in range(len(x)) if at != token]
        moves.append((judge(pushed) - whole)[others].abs().max().item())
    assert found.neighbour_change == pytest.approx(max(moves), abs=1e-9)
    padded = judge(torch.cat([x, torch.zeros(1, 6, dtype=x.dtype)]))[:-1]
    assert found.padding_change == pytest.approx((padded - whole).abs().max().item(), abs=1e-9)
    try:
        alone_change = torch.cat([judge(row[None]) for row in x])
        assert found.alone_change == pytest.approx((alone_change - whole).abs().max().item(), abs=1e-9)
        assert not found.single_token_error
    except ValueError:
        assert found.single_token_error
    assert found.uses_running_statistics == (method == "batch norm")
    jacobian = torch.autograd.functional.jacobian(judge, x)[0, 0]  # what the first result depends on
    depends = jacobian.abs() > 1e-12
    assert (found.tokens, found.features) == (int(depends.any(1).sum()), int(depends.any(0).sum()))


def test_in_words_a_norm_over_tokens_is_told_from_one_within_a_token():
    layer, batch = (aspect_cells(aspects(SOME, method)) for method in ("layer norm", "batch norm"))
    assert layer == ["1 token × 6 features", "works", "others stay", "others stay", "the same formula"]
    assert batch[:2] == ["5 tokens × 1 feature", "refused"]
    assert [one.startswith("others move by up to ") for one in batch[2:4]] == [True, True]
    assert batch[4] == "running statistics"


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
def test_a_block_after_a_norm_is_torchs_and_what_moves_with_a_value_is_what_shares_its_statistics(norm, groups):
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
