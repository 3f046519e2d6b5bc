"""What can be read of positions in a trained net, and its loss beyond the length it was trained on."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class PositionProbe:
    """Accuracy of a ridge regression that predicts a token's place from the stream, on held-out sequences."""

    accuracy: np.ndarray  # (S,); NaN if the stream is not finite
    r2: np.ndarray  # of the place as a number, (S,)
    chance: float  # accuracy of guessing
    learned_from: int  # sequences that the regression was fitted on
    tested: int  # sequences that it was tested on
    table: np.ndarray  # what is added to the tokens, (T, D); (0, D) if nothing is


@dataclass(frozen=True)
class Beyond:
    """Loss by place on texts twice as long as in training."""

    loss: np.ndarray  # (2T,)
    tokens: int  # T
    windows: int  # how many texts


PLACE = Question("place", PositionProbe)
BEYOND = Question("beyond", Beyond)
