"""From the task's batch to a stream of unit mean square, so that every task starts the same."""

import math

import torch
from torch import Tensor, nn


class Positions(nn.Module):
    """Adds a position to every token: (B, T, D) -> the same.
    Content and position each bring half of the mean square.
    """

    table_TD: Tensor

    def __init__(self, table_TD: Tensor, *, learned: bool) -> None:
        super().__init__()
        if learned:
            self.table_TD = nn.Parameter(table_TD)
        else:
            self.register_buffer("table_TD", table_TD, persistent=False)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return math.sqrt(0.5) * x_BTD + self.table_TD[: x_BTD.shape[1]]


def sinusoids(tokens: int, width: int) -> Tensor:
    """(T, D): sin and cos of position / 10000^(2i/D), side by side (Vaswani 2017); mean square 1/2."""
    angle_TF = torch.arange(tokens)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
    return torch.stack((angle_TF.sin(), angle_TF.cos()), dim=-1).flatten(1)[:, :width]


def positions(position: str, tokens: int, width: int) -> nn.Module:
    """The module that adds positions; the identity for those that add nothing to the stream."""
    if position == "sinusoidal":
        return Positions(sinusoids(tokens, width), learned=False)
    if position == "learned":
        return Positions(torch.zeros(tokens, width), learned=True)
    return nn.Identity()


def embedding(inputs: int, vocabulary: int, width: int) -> nn.Module:
    """Symbols by a table, real inputs by a matrix: batch of the task -> (B, T, D)."""
    return nn.Embedding(vocabulary, width) if vocabulary else nn.Linear(inputs, width)
