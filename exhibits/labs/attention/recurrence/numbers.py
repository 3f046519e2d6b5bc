"""Steps from token to token in a recurrent cell and in causal attention. numpy."""

import numpy as np


def sequential_steps(n: int, *, recurrent: bool) -> np.ndarray:
    """Sequential steps from token j (column) to token i (row), (n, n); -1 if there is no path.

    A recurrent cell passes information from token to token; causal attention does it in one step.
    """
    distance = np.arange(n)[:, None] - np.arange(n)
    return np.where(distance < 0, -1, distance + 1 if recurrent else 1)
