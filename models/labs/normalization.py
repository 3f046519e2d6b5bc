"""Normalisations of a table of tokens by features, with their statistics. numpy, float64.

Legend: T tokens (rows), D features (columns).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import erf

import numpy as np

# Extent of the cells that share statistics.
TOKEN = "token"
FEATURE = "feature"
GROUP = "group"
SEQUENCE = "sequence"
TABLE = "table"
CELL = "cell"
ACROSS_TOKENS = {FEATURE, SEQUENCE, TABLE}  # statistics that include padding unless it is left out
MOMENTUM = 0.1  # torch's default weight of the new batch (TensorFlow states that of the old: 0.9 here)
NO_SPREAD = 1e-12  # spreads below this share of the largest number are rounding


@dataclass(frozen=True)
class Method:
    """Which cells share statistics, what is subtracted (`centre`) and divided by (`spread`), and the LaTeX equation."""

    shares: str
    centre: str
    spread: str
    equation: str


_CENTRED = r"y = \gamma \, \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta"

METHODS: dict[str, Method] = {
    "layer norm": Method(TOKEN, "mean", "variance", _CENTRED),
    "rms norm": Method(
        TOKEN, "", "mean square", r"y = \gamma \, \frac{x}{\sqrt{\overline{x^2} + \varepsilon}} + \beta"
    ),
    "group norm": Method(GROUP, "mean", "variance", _CENTRED),
    "batch norm": Method(FEATURE, "mean", "variance", _CENTRED),
    "instance norm": Method(SEQUENCE, "mean", "variance", _CENTRED),
    "joint layer norm": Method(TABLE, "mean", "variance", _CENTRED),
    "dynamic tanh": Method(CELL, "", "", r"y = \gamma \, \tanh(\alpha x) + \beta"),
    "dynamic erf": Method(CELL, "", "", r"y = \gamma \, \operatorname{erf}(\alpha x + s) + \beta"),
    "min-max": Method(FEATURE, "least", "range", r"y = \gamma \, \frac{x - \min}{\max - \min} + \beta"),
    "z-score": Method(FEATURE, "mean", "variance", r"y = \gamma \, \frac{x - \mu}{\sigma} + \beta"),
}


SQUASHES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "dynamic tanh": np.tanh,
    "dynamic erf": np.vectorize(erf, otypes=[float]),
}  # of methods by cell


@dataclass(frozen=True)
class Running:
    """Batch norm's running mean and variance per feature (D,), and the number of batches so far."""

    mean: np.ndarray
    variance: np.ndarray
    batches: int = 0


@dataclass(frozen=True)
class NormedTable:
    """The normalised table and the statistics of each cell, all (T, D).

    `shared`: cells with equal labels share statistics. `centre`, `spread`: as named in METHODS. `scale`: the divisor.
    `undefined`: True where the formula is 0 / 0; the value there is 0.
    """

    values: np.ndarray
    shared: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    scale: np.ndarray
    undefined: np.ndarray


def normalise(
    x_TD: np.ndarray,
    method: str,
    *,
    eps: float = 1e-5,
    gain: float | np.ndarray = 1.0,
    bias: float | np.ndarray = 0.0,
    unbiased: bool = False,
    groups: int = 1,
    sequences: int = 1,
    alpha: float = 0.5,
    shift: float = 0.0,
    counted: np.ndarray | None = None,
    running: Running | None = None,
) -> NormedTable:
    """Normalises the table by one of METHODS.

    `counted` (T,): True for tokens that are not padding. `running`: batch norm's statistics in inference mode.

    ValueError if the statistics do not exist: batch norm in training on one token, or groups that do not divide D.
    """
    x = np.asarray(x_TD, float)
    shared = set_labels(x.shape, method, groups, sequences)
    all_defined = np.zeros(x.shape, bool)
    if METHODS[method].shares == CELL:
        return NormedTable(
            gain * SQUASHES[method](alpha * x + shift) + bias,
            shared=shared,
            centre=np.zeros_like(x),
            spread=np.ones_like(x),
            scale=np.ones_like(x),
            undefined=all_defined,
        )
    if running is not None:
        centre = np.broadcast_to(running.mean, x.shape)
        spread = np.broadcast_to(running.variance, x.shape)
    else:
        centre, spread = _statistics(x, method, shared, unbiased, counted)
    used_eps = 0.0 if method in {"min-max", "z-score"} else eps
    scale = spread if method == "min-max" else np.sqrt(spread + used_eps)
    undefined = all_defined if used_eps else scale <= NO_SPREAD * _largest_in_set(x, shared)
    normed = np.where(undefined, 0.0, x - centre) / np.where(undefined, 1.0, scale)
    return NormedTable(
        gain * normed + bias, shared=shared, centre=centre, spread=spread, scale=scale, undefined=undefined
    )


def set_labels(shape: tuple[int, ...], method: str, groups: int = 1, sequences: int = 1) -> np.ndarray:
    """Labels (T, D), equal for cells that share statistics. ValueError if groups or sequences are not of equal size."""
    tokens, features = shape
    if features % groups:
        raise ValueError(f"{groups} groups do not divide {features} features.")
    if tokens % sequences:
        raise ValueError(f"{sequences} sequences do not divide {tokens} tokens.")
    row, column = np.mgrid[:tokens, :features]
    return {
        TOKEN: row,
        FEATURE: column,
        GROUP: row * groups + column // (features // groups),
        SEQUENCE: row // (tokens // sequences) * features + column,
        TABLE: np.zeros_like(row),
        CELL: row * features + column,
    }[METHODS[method].shares]


def _statistics(
    x: np.ndarray, method: str, shared: np.ndarray, unbiased: bool, counted: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Centre and spread of each cell's set, (T, D); only sets across tokens exclude padding."""
    excludes_padding = counted is not None and METHODS[method].shares in ACROSS_TOKENS
    is_counted = np.asarray(counted, bool) if excludes_padding else np.ones(len(x), bool)
    centre = np.zeros_like(x)
    spread = np.zeros_like(x)
    for label in np.unique(shared):
        cells = shared == label
        numbers = x[cells & is_counted[:, None]]
        _require_statistics(method, len(numbers), unbiased)
        centre[cells], spread[cells] = _centre_and_spread(numbers, METHODS[method], unbiased)
    return centre, spread


def _centre_and_spread(numbers: np.ndarray, method: Method, unbiased: bool) -> tuple[float, float]:
    """What a method subtracts from a set of numbers, and the spread by which it divides."""
    if method.spread == "range":
        return float(numbers.min()), float(np.ptp(numbers))
    if method.spread == "mean square":
        return 0.0, float((numbers**2).mean())
    return float(numbers.mean()), float(numbers.var(ddof=int(unbiased)))


def _require_statistics(method: str, count: int, unbiased: bool) -> None:
    """Raises ValueError for sets without statistics, as torch does."""
    if not count:
        raise ValueError("Every token is padding, so there are no statistics.")
    if count == 1 and method in {"batch norm", "instance norm"}:
        raise ValueError(f"{method.capitalize()} in training needs more than one token: a single one has no spread.")
    if count == 1 and unbiased and METHODS[method].spread == "variance":
        raise ValueError("A single number has no unbiased variance: the sum would be divided by 0.")


def _largest_in_set(x: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Largest absolute value in each cell's set, (T, D)."""
    largest = np.zeros(int(shared.max()) + 1)
    np.maximum.at(largest, shared, np.abs(x))
    return largest[shared]


def initial_running(features: int) -> Running:
    """Batch norm's initial running statistics: mean 0, variance 1."""
    return Running(np.zeros(features), np.ones(features))


def updated_running(running: Running, x_TD: np.ndarray, counted: np.ndarray | None = None, batches: int = 1) -> Running:
    """Running statistics after `batches` training steps on the same batch; the variance is unbiased, as in torch.

    ValueError for a batch of one token.
    """
    x = np.asarray(x_TD, float)
    if counted is not None:
        x = x[np.asarray(counted, bool)]
    _require_statistics("batch norm", len(x), unbiased=False)
    mean, variance = running.mean, running.variance
    for _ in range(batches):
        mean = (1 - MOMENTUM) * mean + MOMENTUM * x.mean(0)
        variance = (1 - MOMENTUM) * variance + MOMENTUM * x.var(0, ddof=1)
    return Running(mean, variance, running.batches + batches)
