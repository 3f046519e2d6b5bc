"""Locates the first non-finite number of a run in its net."""

from collections.abc import Iterator

import numpy as np

from models.spec.plan import block_name
from models.trace import SCALARS, Columns, Divergence


def first_divergence(step: int, row: np.ndarray, columns: Columns) -> Divergence:
    """The first non-finite number of a row, in the order in which a step computes them. `row` has at least one."""
    return next(origin for number, origin in _quantities(step, row, columns) if not np.isfinite(number))


def _quantities(step: int, row: np.ndarray, columns: Columns) -> Iterator[tuple[float, Divergence]]:
    """Each number of a row with its origin: the forward pass, the loss, then the backward pass."""
    stream = row[columns.slices["act_rms"]]
    branch = row[columns.slices["branch_rms"]]
    stream_grad = row[columns.slices["grad_rms"]]
    weight_grad = row[columns.slices["weight_grad_rms"]]
    yield stream[0], Divergence(step, "activation", columns.sites[0])
    for index, site in enumerate(columns.branches):
        yield branch[index], Divergence(step, "branch", site, _block(site))
        yield stream[index + 1], Divergence(step, "activation", site, _block(site))
    yield row[SCALARS.index("loss")], Divergence(step, "loss", "the head")
    for index, site in reversed(list(enumerate(columns.sites))):
        yield stream_grad[index], Divergence(step, "gradient", site, _block(site))
    for block in reversed(range(columns.depth)):
        yield weight_grad[block], Divergence(step, "weight gradient", block_name(block + 1), block + 1)
    yield np.nan, Divergence(step, "gradient norm")


def _block(site: str) -> int:
    """The block of a site; 0 for the input."""
    return 0 if site == "x0" else int(site[1:].partition(".")[0])
