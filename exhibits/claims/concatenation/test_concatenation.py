"""Tests the claim: Concatenating stream and branch keeps as much as adding them, at the same cost."""

import numpy as np
import torch
from torch import Tensor

from tests.claims.kit import Rows, put, rows_agree, upheld_by


def joined(kind: str) -> tuple[float, int]:
    """Effective rank of the Jacobian by autograd, from singular values by an eigenvalue problem; and the weights."""
    source, count = np.random.default_rng(59), 0
    start = torch.tensor(source.standard_normal(64))
    matrices: list[list[Tensor]] = []
    width = 64
    for _ in range(32):
        shapes = [(64, width), (64, 64)] + ([(64, 128)] if "matrix" in kind else [])
        matrices.append([torch.tensor(source.standard_normal(shape)) / shape[1] ** 0.5 for shape in shapes])
        count += sum(matrix.numel() for matrix in matrices[-1])
        width += 64 if kind == "concatenate" else 0

    def net(x: Tensor) -> Tensor:
        for w1, w2, *back in matrices:
            branch = w2 @ torch.relu(w1 @ (x / x.square().mean().sqrt()))
            x = x + branch if kind == "add" else torch.cat([x, branch])
            x = back[0] @ x if back else x
        return x

    jacobian = torch.autograd.functional.jacobian(net, start)
    assert isinstance(jacobian, Tensor)
    values = torch.linalg.eigvalsh(jacobian.T @ jacobian).clamp(min=0).sqrt()
    shares = values[values > 0] / values.sum()
    return float(torch.exp(-(shares * shares.log()).sum())), count


def test_rows_come_out_alike_by_another_computation() -> None:
    ranks, counts = zip(*map(joined, ("add", "concatenate, then a matrix", "concatenate")), strict=True)
    rows: Rows = {"directions kept": ranks, "weights": counts}
    rows_agree("concatenation", rows)


def test_contrary_numbers_uphold_the_claim() -> None:
    names = ("add", "concatenate, then a matrix", "concatenate")
    upheld_by("concatenation", put("numbers", rank=dict.fromkeys(names, 33.0), weights=dict.fromkeys(names, 1000)))
