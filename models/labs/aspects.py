"""Five aspects in which norms differ, each measured on a table of tokens. numpy, float64."""

from dataclasses import dataclass

import numpy as np

from models.labs.normalization import FEATURE, METHODS, normalised, sharing
from models.labs.normalization_laws import told

COMPARED = ("layer norm", "rms norm", "group norm", "batch norm", "joint layer norm")  # each row of a table is a sample
ROUNDING = 1e-12  # share of the largest result up to which a change is rounding


@dataclass(frozen=True)
class Aspects:
    """What a norm does on a table.

    `tokens` and `features`: of the cells that share statistics. `refused`: why it does not take a batch of one, or
    nothing. `neighbour`: the largest change of a token's result when another token's first number grows by 1.
    `padding`: the largest change of a result when a row of zeros is added; both None for a single token.
    `alone`: the largest change of a token's result without the others; None where it is refused.
    `remembers`: whether inference uses running statistics.
    """

    tokens: int
    features: int
    refused: str
    neighbour: float | None
    padding: float | None
    alone: float | None
    remembers: bool


def aspects(x_TD: np.ndarray, method: str, *, eps: float = 1e-5) -> Aspects:
    """The aspects of one of COMPARED. ValueError where it refuses the whole table."""
    x = np.asarray(x_TD, float)
    whole = normalised(x, method, eps=eps).values
    shared = sharing(x.shape, method)
    tokens, features = (len(set(places.tolist())) for places in np.nonzero(shared == shared[0, 0]))
    padded = normalised(np.vstack([x, np.zeros((1, x.shape[1]))]), method, eps=eps).values[:-1]
    try:
        single = [normalised(row[None], method, eps=eps).values[0] for row in x]
        refused, alone = "", _change(np.array(single), whole)
    except ValueError as problem:
        refused, alone = str(problem), None
    neighbours = [np.delete(told(x, method, token, eps=eps), token) for token in range(len(x))]
    neighbour = _snapped(float(np.max(neighbours)), whole) if len(x) > 1 else None
    return Aspects(
        tokens, features, refused, neighbour, _change(padded, whole), alone, METHODS[method].shares == FEATURE
    )


def _change(some: np.ndarray, others: np.ndarray) -> float:
    return _snapped(float(np.abs(some - others).max()), others)


def _snapped(change: float, whole: np.ndarray) -> float:
    """A change, or 0 where it is rounding."""
    return change if change > ROUNDING * max(1.0, float(np.abs(whole).max())) else 0.0
