"""What a wide MLP of random weights does to signal and gradient, block by block: products of expected factors.

The formulas of infinite width (Poole 2016, arXiv 1606.05340; Schoenholz 2017, arXiv 1611.01232; Yang & Schoenholz 2017,
arXiv 1712.08969). A mean that an activation leaves adds up coherently along a skip, so mean and mean square are both followed.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from models.labs.activations import moments
from models.spec import RunConfig
from models.spec.placement import PLACEMENTS

# The variance of a square weight matrix times its inputs; `normal 0.02` depends on the width.
GAINS = {"fan-in": 1.0, "he": 2.0, "xavier": 1.0, "torch": 1 / 3, "orthogonal": 1.0}
INITS = (*GAINS, "normal 0.02")
FOLLOWED = ("none", "pre-norm", "post-norm")  # placements that the products below are written for


@dataclass(frozen=True)
class Growth:
    """RMS of stream and gradient at x_0 ... x_L, (L + 1,) each; the stream starts at 1, the gradient ends at 1."""

    act_rms: np.ndarray
    grad_rms: np.ndarray


@dataclass(frozen=True)
class _Stream:
    """Mean and mean square over the features of the stream."""

    mean: float
    square: float

    @property
    def variance(self) -> float:
        return self.square - self.mean**2


def gain(init: str, width: int) -> float:
    """Variance of a weight times the inputs that it sums, for a square matrix."""
    return GAINS[init] if init in GAINS else 0.02**2 * width


@lru_cache(maxsize=64)
def growth(cfg: RunConfig) -> Growth:
    """The products for an MLP of blocks without scales, gates and overrides, its slots empty or filled with layer norm."""
    assert cfg.placement in FOLLOWED
    assert cfg.init in INITS
    stream, squares, factors = _Stream(0.0, 1.0), [1.0], []
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        for _ in range(cfg.depth):
            stream, factor = _block(cfg, stream)
            squares.append(stream.square)
            factors.append(factor)
        gradient = np.append(np.cumprod(np.sqrt(factors)[::-1])[::-1], 1.0)
        return Growth(np.sqrt(squares), gradient)


def branch_gains(cfg: RunConfig) -> tuple[float, float]:
    """v_f and v_b of one branch that reads a Gaussian of mean square 1: what it makes of a mean square, forward and backward."""
    _, square, backward = _branch(cfg, 1.0)
    return square, backward


def _block(cfg: RunConfig, x: _Stream) -> tuple[_Stream, float]:
    """The stream behind a block that reads x, and the factor of the gradient's mean square through it."""
    slots = PLACEMENTS[cfg.placement]
    normed = cfg.norm != "none"
    norm_in, norm_add = normed and slots.norm_in, normed and slots.norm_add
    mean, square, backward = _branch(cfg, 1.0 if norm_in else x.square)
    if norm_in:
        backward /= x.variance
    if cfg.residual:
        after, factor = _Stream(x.mean + mean, x.square + 2 * x.mean * mean + square), 1 + backward
    else:
        after, factor = _Stream(mean, square), backward
    if norm_add:
        factor, after = factor / after.variance, _Stream(0.0, 1.0)
    return after, factor


def _branch(cfg: RunConfig, read: float) -> tuple[float, float, float]:
    """Mean and mean square of what a branch writes that reads this mean square, and its factor backward."""
    weights = gain(cfg.init, cfg.width)
    found = moments(cfg.activation, float(np.sqrt(weights * read)))
    if cfg.layers_per_branch == 1:
        return found.mean, found.square, weights * found.slope_square
    return 0.0, weights * found.square, weights**2 * found.slope_square
