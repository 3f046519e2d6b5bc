"""A question about torch's own layer norm. Legend: D features."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class TorchNormed:
    """torch's own layer norm of a row of numbers, in float64."""

    row: np.ndarray  # (D,)


LAYER_NORM = Question("layer norm", TorchNormed, of_torch=True)
