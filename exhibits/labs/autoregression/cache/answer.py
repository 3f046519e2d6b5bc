"""What reading a text with kept keys and values answers."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Cached:
    """A text read token by token with cached keys and values, against reading it at once.

    `slid`: the same at the last token once the window has slid by one, so that all kept keys are of other positions.
    """

    tokens: tuple[str, ...]  # (T,)
    difference: np.ndarray  # the largest of a logit, (T,)
    slid: float


CACHED = Question("cached", Cached)
