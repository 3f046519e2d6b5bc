"""What operations on a net answer. Legend: L blocks."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Surgery:
    """Results on the held-out split, in eval mode, before and after one operation on the net."""

    loss: tuple[float, float]
    accuracy: tuple[float, float]
    changed: float  # share of answers that changed


@dataclass(frozen=True)
class Lesions:
    """Results on the held-out split, in eval mode, of the intact net, and with each block alone skipped or zeroed."""

    loss: float
    accuracy: float
    skipped_loss: np.ndarray  # (L,)
    skipped_accuracy: np.ndarray  # (L,)
    zeroed_loss: np.ndarray  # (L,)
    zeroed_accuracy: np.ndarray  # (L,)


SURGERY = Question("surgery", Surgery)
LESIONS = Question("lesions", Lesions)
