"""What the training of an encoder and a decoder answers."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Translation:
    """Training of an encoder and decoder, and cross-attention on the held-out split at K steps."""

    loss: np.ndarray  # of every step's batch, (steps,)
    steps: np.ndarray  # at which the net was measured, (K,)
    held_out: np.ndarray  # loss, (K,)
    accuracy: np.ndarray  # (K,)
    alignment: np.ndarray  # share of attention on source tokens that hold the symbol to be written, (K, L, H)
    attention: np.ndarray  # on the first sample, (K, L, H, T written, T read)
    written: np.ndarray  # the net's output for that sample, (K, T)
    even: float  # alignment of uniform attention
    source: np.ndarray  # of that sample, (T,)
    target: np.ndarray  # of that sample, (T,)
    parameters: int


TRANSLATION = Question("translation", Translation)
