"""What a measurement of the streams' mixing, or of attention over depth, answers. Legend: M sublayers, n streams."""

from dataclasses import dataclass

import numpy as np

from models.answers import Question


@dataclass(frozen=True)
class Connections:
    """What joins the sublayers, as means over the tokens of the step's batch; what a stack lacks has size 0.

    A matrix has a row for each stream that it makes and a column for each that it reads.
    """

    mixing: np.ndarray  # of every sublayer, (M, n, n); the identity where one was taken out
    product: np.ndarray  # of the mixings up to every sublayer, (M, n, n)
    forward: np.ndarray  # largest sum of |entries| of a row of that product, (M,)
    backward: np.ndarray  # the same of a column, (M,)
    attention: np.ndarray  # weight of every source in what the next sublayers and the head read, (M, K); rows sum to 1


CONNECTIONS = Question("connections", Connections)
