"""Five aspects in which norms differ, each measured on a table of tokens. numpy, float64."""

from dataclasses import dataclass

import numpy as np

from models.labs.normalization import FEATURE, METHODS, normalise, set_labels
from models.labs.normalization_laws import changes_by_token

COMPARED = ("layer norm", "rms norm", "group norm", "batch norm", "joint layer norm")  # a row of the table is a sample
ROUNDING = 1e-12  # changes below this share of the largest result count as 0


@dataclass(frozen=True)
class Aspects:
    """Behaviour of a norm on a table.

    `tokens`, `features`: extent of a set of cells that share statistics.
    `single_token_error`: message for a batch of one token, empty if the norm accepts it.
    `neighbour_change`: largest change of a token's result when another token's first number grows by 1; None for a
    table of one token.
    `padding_change`: largest change of a result when a row of zeros is appended.
    `alone_change`: largest change of a token's result when it is normalised alone; None after an error.
    """

    tokens: int
    features: int
    single_token_error: str
    neighbour_change: float | None
    padding_change: float | None
    alone_change: float | None
    uses_running_statistics: bool


def aspects(x_TD: np.ndarray, method: str, *, eps: float = 1e-5) -> Aspects:
    """Aspects of one of COMPARED. ValueError if the norm is undefined on the whole table."""
    x = np.asarray(x_TD, float)
    normed = normalise(x, method, eps=eps).values
    labels = set_labels(x.shape, method)
    tokens, features = (len(set(indices.tolist())) for indices in np.nonzero(labels == labels[0, 0]))
    padded = normalise(np.vstack([x, np.zeros((1, x.shape[1]))]), method, eps=eps).values[:-1]
    single_token_error, alone_change = "", None
    try:
        single = [normalise(row[None], method, eps=eps).values[0] for row in x]
        alone_change = _largest_change(np.array(single), normed)
    except ValueError as problem:
        single_token_error = str(problem)
    neighbours = [np.delete(changes_by_token(x, method, token, eps=eps), token) for token in range(len(x))]
    return Aspects(
        tokens,
        features,
        single_token_error,
        neighbour_change=_without_rounding(float(np.max(neighbours)), normed) if len(x) > 1 else None,
        padding_change=_largest_change(padded, normed),
        alone_change=alone_change,
        uses_running_statistics=METHODS[method].shares == FEATURE,
    )


def _largest_change(values: np.ndarray, reference: np.ndarray) -> float:
    return _without_rounding(float(np.abs(values - reference).max()), reference)


def _without_rounding(change: float, normed: np.ndarray) -> float:
    """The change, or 0 if it is within rounding."""
    return change if change > ROUNDING * max(1.0, float(np.abs(normed).max())) else 0.0
