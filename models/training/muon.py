"""Muon for the matrices of blocks, AdamW for all other parameters. Stand-alone scripts quote it."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from models.spec.parametrization import REST_OF_MUON

MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the polynomial a s + b s^3 + c s^5
NEWTON_SCHULZ_STEPS = 5


def orthogonalised(matrix: Tensor) -> Tensor:
    """U p(S) V^T of a matrix U S V^T, (..., rows, columns), where p takes most singular values to 0.7 ... 1.2.

    Five Newton-Schulz steps (Jordan 2024, github.com/KellerJordan/Muon), in the matrix's own precision, where the
    authors and torch.optim.Muon take bfloat16.
    """
    a, b, c = COEFFICIENTS
    is_tall = matrix.shape[-2] > matrix.shape[-1]
    x = matrix.mT if is_tall else matrix
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)  # a spectral norm of at most 1
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if is_tall else x


class Muon:
    """w <- (1 - lr decay) w - lr sqrt(max(1, rows / columns)) orthogonalised(g + 0.95 (m - g)), m <- 0.95 m + 0.05 g.

    `others` is the AdamW of all parameters that are no matrix of a block; its learning rates become REST_OF_MUON times
    lr. Matrices (outputs, inputs); with an axis in front, (K, inputs, outputs), they are those of K nets, transposed.
    """

    def __init__(
        self, matrices: Sequence[Tensor], others: torch.optim.Optimizer, *, lr: float, weight_decay: float
    ) -> None:
        self.others = others
        self.hidden: dict[str, Any] = {"params": list(matrices), "lr": lr, "rate": 1.0, "weight_decay": weight_decay}
        self.moments = {p: torch.zeros_like(p) for p in matrices}
        for group in others.param_groups:
            group["rate"] = REST_OF_MUON
            group["lr"] = lr * REST_OF_MUON

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [self.hidden, *self.others.param_groups]

    @property
    def state(self) -> dict[Tensor, dict[str, Any]]:
        return {p: {"momentum_buffer": m} for p, m in self.moments.items()} | dict(self.others.state)

    def zero_grad(self) -> None:
        self.others.zero_grad()
        for p in self.moments:
            p.grad = None

    @torch.no_grad()
    def step(self) -> None:
        self.others.step()
        lr, decay = self.hidden["lr"], self.hidden["weight_decay"]
        for p, m in self.moments.items():
            assert p.grad is not None
            m.lerp_(p.grad, 1 - MOMENTUM)
            update = p.grad.lerp(m, MOMENTUM)
            p.mul_(1 - lr * decay)
            w, update = (p, update) if p.ndim == 2 else (p.mT, update.mT)
            w.add_(orthogonalised(update), alpha=-lr * max(1.0, w.shape[-2] / w.shape[-1]) ** 0.5)
