"""Widths that do not fit: joins against torch, the gradient past the branches against autograd and its expected size."""

import numpy as np
import pytest
import torch

from exhibits.labs.residual.widths.numbers import (
    BLOCKS,
    CROP,
    JOINS,
    NOTHING,
    ON_BRANCH,
    ON_SKIP,
    W_S_SCALES,
    join_and_add,
    random_matrix,
    residual_gradient_norms,
)
from exhibits.labs.residual.widths.page import diagram, join_sentence
from tests.app_page import sound, words
from tests.labs_page import lab


def joined(width, wide, how, seed=0):
    source = np.random.default_rng(seed)
    x, branch = source.normal(size=width), source.normal(size=wide)
    return x, branch, join_and_add(x, branch, how, np.random.default_rng(9))


@pytest.mark.parametrize(("width", "wide"), [(6, 4), (4, 6), (5, 5), (6, 1)])
def test_every_join_gives_what_torch_gives(width, wide):
    for how in JOINS:
        x, branch, found = joined(width, wide, how)
        own, other = torch.tensor(x), torch.tensor(branch)
        matrix = {ON_SKIP: (wide, width), ON_BRANCH: (width, wide)}.get(how)
        if matrix:
            w = torch.tensor(random_matrix(*matrix, 1.0, np.random.default_rng(9)))
            own, other = (w @ own, other) if how == ON_SKIP else (own, w @ other)
        if how == CROP:
            other = torch.cat([other, torch.zeros(width)])[:width].double()
        if how == NOTHING and wide not in (1, width):
            assert found.sum is None
            with pytest.raises(RuntimeError):
                own + other
        else:
            np.testing.assert_allclose(found.sum, (own + other).numpy(), atol=1e-12)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("size", W_S_SCALES.values())
def test_the_gradient_past_the_branches_is_autograds_through_the_same_matrices(every, size):
    width, wide, seed = 6, 4, 7
    source = np.random.default_rng(seed)
    gradient = source.normal(size=wide)
    gradient /= np.linalg.norm(gradient)
    blocks = range(BLOCKS, 0, -1) if every else [1]
    matrices = {block: random_matrix(wide, width if block == 1 else wide, size, source) for block in blocks}
    stream = torch.ones(width, dtype=torch.float64, requires_grad=True)
    streams = [stream]
    for block in range(1, BLOCKS + 1):
        stream = torch.tensor(matrices[block]) @ stream if block in matrices else stream * 1.0
        streams.append(stream)
    expected = torch.autograd.grad(stream @ torch.tensor(gradient), streams)
    norms = [one.norm().item() for one in expected]
    np.testing.assert_allclose(residual_gradient_norms(width, wide, size, seed, every_block=every), norms, rtol=1e-9)


def test_over_many_draws_every_matrix_multiplies_the_square_by_the_size_squared():
    for size in W_S_SCALES.values():
        squares = [residual_gradient_norms(40, 40, size, seed, every_block=True) ** 2 for seed in range(200)]
        mean = np.mean(squares, axis=0)
        assert mean[-2] == pytest.approx(size**2, rel=0.1)
        assert mean[-5] == pytest.approx(size**8, rel=0.2)
    assert torch.nn.Linear(400, 400).weight.std().item() * 20 == pytest.approx(W_S_SCALES["torch's default"], rel=0.02)


def test_what_is_said_and_drawn_at_the_add():
    assert "operands could not be broadcast" in join_sentence(6, 4, NOTHING, joined(6, 4, NOTHING)[2])
    assert "(6,) + (4,)" in diagram(6, 4, NOTHING, joined(6, 4, NOTHING)[2])
    assert "a silent slip" in join_sentence(6, 1, NOTHING, joined(6, 1, NOTHING)[2])
    assert "padded with 2 zeros" in join_sentence(6, 4, CROP, joined(6, 4, CROP)[2])
    assert "last 2 of the branch's 6" in join_sentence(4, 6, CROP, joined(4, 6, CROP)[2])
    assert diagram(6, 4, ON_SKIP, joined(6, 4, ON_SKIP)[2]).count(">(4,)<") == 3
    assert diagram(6, 4, ON_BRANCH, joined(6, 4, ON_BRANCH)[2]).count(">(4,)<") == 1


def test_the_page_breaks_and_is_joined(trainer_in_this_process):
    page = lab("residual")
    assert "The add fails" in words(page)
    page.selectbox(key="residual_widths_join").set_value(ON_BRANCH)
    assert "W_out (6 × 4 = 24 weights)" in words(sound(page.run()))
