"""What measurements of the loss's landscape answer. Legend: D features."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Landscape:
    """The loss of the step's batch on a plane of weights with filter-normalised directions."""

    axis: np.ndarray  # along either direction, in filter lengths, (N,)
    loss: np.ndarray  # (N, N)
    moved: int  # number of parameters that a direction moves
    parameters: int  # of the net


@dataclass(frozen=True)
class Sharpness:
    """The largest eigenvalue of the Hessian at K steps, and how well power iteration converged."""

    samples: int  # number of the batch's samples that were used
    steps: np.ndarray  # (K,)
    rate: np.ndarray  # learning rate, (K,)
    sharpness: np.ndarray  # (K,); NaN if something is not finite
    residual: np.ndarray  # |Hv - qv| / |q|, (K,)
    products: np.ndarray  # Hessian-vector products taken, (K,)


@dataclass(frozen=True)
class StreamJacobian:
    """Singular values of the stack's Jacobian at the last token of the first sample, other tokens fixed."""

    singular_values: np.ndarray  # largest first, (D,); NaN if the Jacobian is not finite
    token: int  # the place of that token, from 1
    samples: int  # in the forward pass


LANDSCAPE = Question("landscape", Landscape)
SHARPNESS = Question("sharpness", Sharpness)
STREAM_JACOBIAN = Question("stream jacobian", StreamJacobian)
