"""A token, outputs of branches, and modules of the app that give these out."""

import numpy as np
import torch
from torch import Tensor, nn

from models.labs.residual import EPS
from models.nets.norms import build_norm

SOURCE = np.random.default_rng(4)
TOKEN, BRANCHES = SOURCE.normal(size=5), SOURCE.normal(size=(3, 5))


class Says(nn.Module):
    """A branch that gives out the same vector whatever it reads, and remembers what it read."""

    def __init__(self, output: np.ndarray) -> None:
        super().__init__()
        self.output = torch.tensor(output)
        self.heard = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        self.heard = x
        return self.output.expand_as(x)


def norm_of(filled: bool) -> nn.Module:
    return build_norm("layer norm" if filled else "none", TOKEN.size, EPS).double()


def as_tensor(x: np.ndarray) -> Tensor:
    return torch.tensor(x)[None, None]
