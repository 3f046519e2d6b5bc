"""Tests the claim: He et al. 2016 were the first to let a signal skip layers."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tests.claims.kit import Rows, put, rows_agree, upheld_by


def autograd_through(step: Callable[[Tensor], Tensor], start: Tensor, gradient: Tensor) -> float:
    start.requires_grad_()
    state = start
    for _ in range(32):
        state = step(state)
    (back,) = torch.autograd.grad((state[:64] * gradient).sum(), start)
    return float(back[:64].norm() / gradient.norm())


def shortcuts() -> Rows:
    source = np.random.default_rng(35)
    w, w_t, w_i, w_o = (torch.tensor(source.standard_normal((64, 64)) / 16) for _ in range(4))
    x, gradient = (torch.tensor(source.standard_normal(64)) for _ in range(2))

    def lstm(state: Tensor) -> Tensor:
        c, h = state.chunk(2)
        c = c + torch.sigmoid(w_i @ h) * torch.tanh(w @ h)
        return torch.cat([c, torch.sigmoid(w_o @ h) * torch.tanh(c)])

    def highway(x: Tensor) -> Tensor:
        return torch.lerp(x, torch.tanh(w @ x), torch.sigmoid(w_t @ x - 3))

    steps = [lstm, highway, lambda x: x + torch.tanh(w @ x), lambda x: torch.tanh(w @ x)]
    starts = [torch.cat([x, torch.zeros(64)]), x, x, x]
    found = [autograd_through(step, start.clone(), gradient) for step, start in zip(steps, starts, strict=True)]
    return {"year": ["1997", "2015", "2015", "1986"], "gradient returned": found}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("residuals-in-2016", shortcuts())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("residuals-in-2016", put("numbers", shares={"Plain layer": 0.0, "LSTM cell": 0.01}))
