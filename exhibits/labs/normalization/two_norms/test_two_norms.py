"""Two norms on one table: five aspects of each against torch."""

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.labs.normalization.two_norms.numbers import COMPARED, aspects
from exhibits.labs.normalization.two_norms.page import aspect_cells

SOME = np.random.default_rng(3).normal(1.5, 2.0, (5, 6))
TABLE = {
    "layer norm": lambda x: nn.functional.layer_norm(x, x.shape[1:]),
    "rms norm": lambda x: nn.functional.rms_norm(x, x.shape[1:], eps=1e-5),
    "group norm": lambda x: nn.functional.group_norm(x, 1),
    "batch norm": lambda x: nn.functional.batch_norm(x, None, None, training=True),
    "joint layer norm": lambda x: nn.functional.layer_norm(x, x.shape),
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
