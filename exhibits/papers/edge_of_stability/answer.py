"""A question about sharpness under full-batch descent, and its answer. Legend: F measured steps."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class EdgeOfStability:
    """Largest eigenvalue of the Hessian under full-batch gradient descent, at F steps."""

    steps: np.ndarray  # (F,)
    sharpness: np.ndarray  # (F,); NaN once the run has diverged
    loss: np.ndarray  # of every step, (steps,)
    rate: float


EDGE_OF_STABILITY = Question("edge of stability", EdgeOfStability)
