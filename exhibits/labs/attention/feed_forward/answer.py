"""What skipping attention or feed-forward nets answers. Legend: L blocks."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Without:
    """Results on the held-out split, in eval mode, without one kind of sublayer, in one block and in all blocks."""

    loss: np.ndarray  # (L,)
    accuracy: np.ndarray  # (L,)
    all_loss: float
    all_accuracy: float


@dataclass(frozen=True)
class Sublayers:
    """Results on the held-out split, in eval mode, of an intact transformer, and without each kind of sublayer."""

    loss: float
    accuracy: float
    without: dict[str, Without]  # by kind: attn, ffn


SUBLAYERS = Question("sublayers", Sublayers)
