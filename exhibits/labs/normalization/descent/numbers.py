"""Descent on least squares of features with different scales. numpy, float64."""

import numpy as np

MAX_STEPS = 200_000


def unequal_features(ratio: float) -> np.ndarray:
    """Four samples of two independent features (4, 2), the second `ratio` times larger: curvatures 1 and ratio²."""
    return np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], float) * (1.0, ratio)


def curvatures(x_ND: np.ndarray) -> np.ndarray:
    """Curvatures of least squares on these features, (D,): eigenvalues of X'X / n, smallest first."""
    return np.linalg.eigvalsh(x_ND.T @ x_ND / len(x_ND))


def square_terms(x_ND: np.ndarray) -> np.ndarray:
    """Means of a², 2ab and b² over the samples of two features (N, 2), (3,): the terms of (a + b)²."""
    a, b = np.asarray(x_ND, float).T
    return np.array([(a * a).mean(), 2 * (a * b).mean(), (b * b).mean()])


def descent_steps(x_ND: np.ndarray, *, target: float = 1e-3, max_steps: int = MAX_STEPS) -> int | None:
    """Steps of gradient descent on least squares with these features, at learning rate 1 / largest curvature.

    Counts from distance 1 in every weight to `target` times the initial distance; None if `max_steps` do not suffice.
    """
    hessian = x_ND.T @ x_ND / len(x_ND)
    distance = np.ones(len(hessian))
    rate, tolerance = 1 / curvatures(x_ND)[-1], target * float(np.linalg.norm(distance))
    for step in range(max_steps + 1):
        if np.sqrt(distance @ distance) <= tolerance:
            return step
        distance = distance - rate * (hessian @ distance)
    return None
