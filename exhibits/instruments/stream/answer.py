"""What a measurement of the stream answers. Legend: S sites of the stream, M sublayers."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Stream:
    """Growth of the stream on the step's batch, and the effect of each sublayer."""

    stream_rms: np.ndarray  # (S,)
    branch_rms: np.ndarray  # before the add, (M,)
    share: np.ndarray  # RMS of the branch over that of the stream before the add, (M,)
    neighbour_cosine: np.ndarray  # between the stream before and after the sublayer, (M,)
    branch_cosine: np.ndarray  # between the branch and the stream that it is added to, (M,)


STREAM = Question("stream", Stream)
