"""The loss around a net, on a plane through its weights with filter-normalised directions (Li 2018, 1712.09913)."""

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Landscape
from models.generator import generator
from models.training import Snapshot, Work, cross_entropy

CELLS = (15, 21, 25)  # along each side, odd: the net itself is the middle one
REACH = (0.01, 2.0)


def landscape(snapshot: Snapshot, *, cells: int = 21, reach: float = 1.0) -> Work[Landscape]:
    """The loss of the step's batch at theta + a d + b e, with a along columns and b along rows, -reach to reach.

    In train mode; d and e move matrices, not biases, gains or gates. ValueError for `cells` not in CELLS and for a
    reach outside REACH.
    """
    if cells not in CELLS:
        raise ValueError(f"cells is {cells!r}; legal is one of {', '.join(map(str, CELLS))}")
    if not REACH[0] <= reach <= REACH[1]:
        raise ValueError(f"reach is {reach!r}; legal is {REACH[0]:g} to {REACH[1]:g}")
    model, (x, y) = snapshot.model, snapshot.batch()
    places = [p for _, p in matrices(model)]
    start = [p.detach().clone() for p in places]
    d, e = (direction(model, snapshot.cfg.seed, which) for which in ("d", "e"))
    half = cells // 2
    axis = (np.arange(cells) - half) * reach / half
    loss = np.empty((cells, cells))
    for row, b in enumerate(axis):
        for column, a in enumerate(axis):
            with torch.no_grad():
                for p, origin, along, across in zip(places, start, d, e, strict=True):
                    p.copy_(origin).add_(along, alpha=float(a)).add_(across, alpha=float(b))
                loss[row, column] = cross_entropy(model(x), y).item()
            yield (row * cells + column + 1) / cells**2
    return Landscape(axis, loss, sum(p.numel() for p in places), sum(p.numel() for p in model.parameters()))


def matrices(model: nn.Module) -> list[tuple[str, Tensor]]:
    """The parameters that a direction moves; each row of one computes one feature, and is a filter."""
    return [(name, p) for name, p in model.named_parameters() if p.ndim > 1]


def direction(model: nn.Module, seed: int, which: str) -> list[Tensor]:
    """A random direction by matrix, each row as long as the net's own: d_i <- d_i |theta_i| / |d_i|."""
    directions = []
    for name, p in matrices(model):
        drawn = torch.randn(p.shape, generator=generator(seed, f"landscape {which} {name}")).to(p)
        directions.append(drawn * (p.detach().norm(dim=1, keepdim=True) / drawn.norm(dim=1, keepdim=True)))
    return directions
