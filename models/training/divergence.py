"""Where in the net the first number that is not finite arose."""

from collections.abc import Iterator

import numpy as np

from models.spec.plan import block_name
from models.trace import SCALARS, Columns, Divergence


def first_divergence(step: int, row: np.ndarray, columns: Columns) -> Divergence:
    """The first non-finite tensor of a row, in the order in which a step computes them."""
    return next(place for number, place in _in_order(step, row, columns) if not np.isfinite(number))


def _in_order(step: int, row: np.ndarray, columns: Columns) -> Iterator[tuple[float, Divergence]]:
    """Every number of a row with its place: forward through the stream and its branches, the loss, then backward."""
    stream, branch, grad, weight = (
        row[columns.slices[name]] for name in ("act_rms", "branch_rms", "grad_rms", "weight_grad_rms")
    )
    yield stream[0], Divergence(step, "activation", columns.sites[0])
    for at, site in enumerate(columns.branches):
        yield branch[at], Divergence(step, "branch", site, _block(site))
        yield stream[at + 1], Divergence(step, "activation", site, _block(site))
    yield row[SCALARS.index("loss")], Divergence(step, "loss", "the head")
    for at, site in reversed(list(enumerate(columns.sites))):
        yield grad[at], Divergence(step, "gradient", site, _block(site))
    for block in reversed(range(columns.depth)):
        yield weight[block], Divergence(step, "weight gradient", block_name(block + 1), block + 1)
    yield np.nan, Divergence(step, "gradient norm")


def _block(site: str) -> int:
    return 0 if site == "x0" else int(site[1:].partition(".")[0])
