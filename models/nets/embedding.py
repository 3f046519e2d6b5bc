"""Embedding and absolute positions. Together they give the stream unit mean square for every task."""

import math

import torch
from torch import Tensor, nn


class Positions(nn.Module):
    """sqrt(1/2) x + table: (B, T, D) -> (B, T, D). Token and position each bring half of the mean square."""

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
    """sin and cos of position / 10000^(2i/D) in turn, (T, D), mean square 1/2 (Vaswani 2017, 1706.03762)."""
    angle_TF = torch.arange(tokens)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
    return torch.stack((angle_TF.sin(), angle_TF.cos()), dim=-1).flatten(1)[:, :width]


def build_positions(position: str, tokens: int, width: int) -> nn.Module:
    """The module that adds positions to the stream; the identity for positions that enter inside attention."""
    if position == "sinusoidal":
        return Positions(sinusoids(tokens, width), learned=False)
    if position == "learned":
        return Positions(torch.zeros(tokens, width), learned=True)
    return nn.Identity()


def build_embedding(inputs: int, vocabulary: int, width: int) -> nn.Module:
    """A lookup table for symbols, a linear map for real inputs: batch of the task -> (B, T, D)."""
    return nn.Embedding(vocabulary, width) if vocabulary else nn.Linear(inputs, width)
