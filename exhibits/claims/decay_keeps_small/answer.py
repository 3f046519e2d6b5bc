"""A question about how far matrices before a norm turn at each step, and its answer. Legend: L blocks."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Rotation:
    """How each block's matrix moves over the last steps of a run, and what its size does to the net."""

    angle: np.ndarray  # RMS angle by which a step turns it, in radians, (L,)
    length: np.ndarray  # mean over these steps, (L,)
    decayed: float  # share of it that weight decay takes at each step: rate times decay
    change: float  # of a logit when all of them are FACTOR times as large, the largest over that of all logits


ROTATION = Question("rotation", Rotation)
