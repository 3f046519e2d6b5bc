"""Questions about the gradient along a step, and their answer. Legend: F measured steps."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Smoothness:
    """Largest change of the gradient along a training step, relative to its norm, at F steps."""

    steps: np.ndarray  # (F,)
    change: np.ndarray  # (F,); NaN once the run has diverged
    loss: np.ndarray  # of every step, (steps,)


SMOOTHNESS = Question("smoothness", Smoothness)
NOISY_SMOOTHNESS = Question("smoothness with noise", Smoothness)
