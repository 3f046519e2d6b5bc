"""What the check of a gradient answers."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class GradientCheck:
    """Slopes of the loss along directions of length 1, by autograd and by central differences with K steps; float64."""

    target: tuple[str, ...]  # of each check: a block's weights, or the stream after it
    direction: tuple[str, ...]  # name of the direction of each check
    rms: dict[str, float]  # of the gradient, by target
    loss: float
    analytic: np.ndarray  # slope by autograd, (directions,)
    difference: np.ndarray  # slope by central differences, (directions, K)
    step: np.ndarray  # length of the move, (directions, K)
    kinks: np.ndarray  # ReLU inputs that change sign between the two ends, (directions, K)
    chosen: np.ndarray  # index of the step where the difference is steadiest, (directions,)


CHECK = Question("check", GradientCheck)
