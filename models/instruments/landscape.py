"""The loss on a plane through a net's weights, with filter-normalised directions (Li 2018, 1712.09913)."""

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Landscape
from models.generator import generator
from models.training import Snapshot, Work, cross_entropy

CELLS = (15, 21, 25)  # along each side; odd, so that the net itself is the middle cell
MIN_REACH, MAX_REACH = 0.01, 2.0  # in filter lengths


def landscape(snapshot: Snapshot, *, cells: int = 21, reach: float = 1.0) -> Work[Landscape]:
    """Loss of the step's batch at theta + a d + b e in train mode, with a by column and b by row, -reach to reach.

    The directions d and e move matrices, not biases, gains or gates. ValueError for `cells` not in CELLS and for a
    reach outside MIN_REACH to MAX_REACH.
    """
    if cells not in CELLS:
        raise ValueError(f"cells is {cells!r}; legal is one of {', '.join(map(str, CELLS))}")
    if not MIN_REACH <= reach <= MAX_REACH:
        raise ValueError(f"reach is {reach!r}; legal is {MIN_REACH:g} to {MAX_REACH:g}")
    model, (x, y) = snapshot.model, snapshot.batch()
    moved = [p for _, p in matrices(model)]
    start = [p.detach().clone() for p in moved]
    d, e = (direction(model, snapshot.cfg.seed, name) for name in ("d", "e"))
    half = cells // 2
    axis = (np.arange(cells) - half) * reach / half
    loss = np.empty((cells, cells))
    for row, b in enumerate(axis):
        for column, a in enumerate(axis):
            with torch.no_grad():
                for p, origin, d_p, e_p in zip(moved, start, d, e, strict=True):
                    p.copy_(origin).add_(d_p, alpha=float(a)).add_(e_p, alpha=float(b))
                loss[row, column] = cross_entropy(model(x), y).item()
            yield (row * cells + column + 1) / cells**2
    return Landscape(axis, loss, sum(p.numel() for p in moved), sum(p.numel() for p in model.parameters()))


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
