"""A recurrent cell with both norms against torch's layers."""

import numpy as np
import pytest
import torch
from torch import nn

from exhibits.labs.normalization.recurrent.numbers import recurrent_statistics
from exhibits.labs.normalization.recurrent.page import lengths_sentence


@pytest.mark.parametrize("seed", [0, 4])
def test_a_recurrent_cell_normalises_as_torch_does(
    seed,
):
    """By torch's layers, from the same draws: lengths, two matrices, inputs."""
    found = recurrent_statistics(6, seed)
    source = np.random.default_rng(seed)
    lengths = sorted(source.integers(2, 10, 6).tolist(), reverse=True)
    lengths[0] = 9
    assert found.lengths == lengths
    w_h, w_x = (torch.tensor(source.standard_normal((16, 16)) / 4) for _ in range(2))
    x = torch.tensor(source.standard_normal((6, 9, 16)))
    for over, by, sizes in (
        ("batch", found.batch_norm_feature, found.batch_norm_rms),
        ("layer", found.layer_norm_feature, found.layer_norm_rms),
    ):
        h = torch.zeros(6, 16, dtype=torch.float64)
        for step in range(9):
            left = sum(length > step for length in lengths)
            assert found.sequences_left[step] == left
            summed = h[:left] @ w_h + x[:left, step] @ w_x
            if over == "layer":
                normed = nn.functional.layer_norm(summed, (16,))
            else:
                assert found.mean[step] == pytest.approx(summed[:, 0].mean().item())
                assert found.variance[step] == pytest.approx(summed[:, 0].var(correction=0).item())
                train = nn.BatchNorm1d(16, dtype=torch.float64)
                normed = train(summed).detach() if left > 1 else torch.zeros_like(summed)  # which torch refuses
            assert by[step] == pytest.approx(normed[0, 0].item(), abs=1e-6)
            assert sizes[step] == pytest.approx(normed[0].square().mean().sqrt().item(), abs=1e-5)
            h = torch.cat([torch.tanh(normed), h[left:]])
    alone = found.sequences_left.count(1)
    assert found.batch_norm_rms[-1] == (0 if alone else pytest.approx(found.batch_norm_rms[-1]))
    assert found.layer_norm_rms == pytest.approx([1] * 9, abs=1e-4)
    assert f"step 9 over {found.sequences_left[-1]}." in lengths_sentence(found)
    assert ("turns it into zeros" in lengths_sentence(found)) == (alone > 0)
