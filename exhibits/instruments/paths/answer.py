"""What measurements of the gradient's paths answer. Legend: M sublayers."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class GradientShares:
    """Shares of residual and branch in the gradient at every add, in float64.

    A projection is <g, sum> / |sum|^2; the two add up to 1.
    """

    samples: int  # number of the batch's samples that were used
    skip_rms: np.ndarray  # (M,)
    branch_rms: np.ndarray  # (M,)
    sum_rms: np.ndarray  # (M,)
    skip_projection: np.ndarray  # (M,); NaN if the sum is 0
    branch_projection: np.ndarray  # (M,)


@dataclass(frozen=True)
class PathLengths:
    """The gradient G at the input, split by the number k = 0 to M of branches on its path."""

    samples: int  # number of the batch's samples that were used
    share: np.ndarray  # |G_k| / sum |G_j|, (M + 1,)
    projection: np.ndarray  # <G_k, G> / |G|^2, (M + 1,)
    length: np.ndarray  # |G_k|, (M + 1,)
    whole: float  # |G|


GRADIENT_SHARES = Question("gradient shares", GradientShares)
PATH_LENGTHS = Question("path lengths", PathLengths)
