"""What is left of a token and of each branch output at the end of the stream. numpy, float64."""

from collections.abc import Sequence

import numpy as np

from models.labs.residual import EPS, Step


def contribution_factors(steps: Sequence[Step], *, skip: float = 1.0) -> np.ndarray:
    """Factors of the token and of each branch output in the final stream, (M + 1, D).

    Each residual multiplies the earlier parts by `skip`. A norm after the add divides all parts by its standard
    deviation and centres them, so the final stream is the sum of the centred parts. A ReLU after the add zeroes the
    features whose sum is negative. No such factors exist with both a norm and a ReLU after the add.
    """
    factors = np.ones((len(steps) + 1, len(steps[0].before)))
    for index, step in enumerate(steps):
        factors[: index + 1] *= skip
        if step.norm_add:
            factors[: index + 2] /= np.sqrt(step.norm_add.variance + EPS)
        if step.relu_mask is not None:
            factors[: index + 2] *= step.relu_mask
    return factors
