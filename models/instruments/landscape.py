"""Filter-normalised directions through a net's weights (Li 2018, 1712.09913)."""

import torch
from torch import Tensor, nn

from models.generator import generator


def matrices(model: nn.Module) -> list[tuple[str, Tensor]]:
    """Name and value of each parameter that a direction moves; each of its rows is a filter."""
    return [(name, p) for name, p in model.named_parameters() if p.ndim > 1]


def direction(model: nn.Module, seed: int, name: str) -> list[Tensor]:
    """A random direction for each matrix, scaled row by row to the net's weights: d_i <- d_i |theta_i| / |d_i|."""
    directions = []
    for matrix, p in matrices(model):
        d = torch.randn(p.shape, generator=generator(seed, f"landscape {name} {matrix}")).to(p)
        directions.append(d * (p.detach().norm(dim=1, keepdim=True) / d.norm(dim=1, keepdim=True)))
    return directions
