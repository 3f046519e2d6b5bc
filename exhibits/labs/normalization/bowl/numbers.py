"""Gradient descent on the quadratic loss of least squares with two features. numpy, float64.

Legend: N samples; w the two weights relative to the minimum; loss w'Hw / 2 with H = X'X / N, whose eigenvalues are
the curvatures.
"""

import numpy as np

MAX_COUNTED_STEPS = 100_000
CONVERGED_SHARE = 1e-3  # of the initial distance: descent has converged
START = (1.0, 1.0)
MAX_DISTANCE = 1e3  # beyond it a path ends


def hessian(x_N2: np.ndarray) -> np.ndarray:
    """H (2, 2) of the features over their largest absolute value, so that squares do not overflow.

    ValueError if all numbers are 0.
    """
    x = np.asarray(x_N2, float)
    largest = float(np.abs(x).max())
    if not largest:
        raise ValueError("All numbers of these features are 0, so the loss is level.")
    return (x / largest).T @ (x / largest) / len(x)


def descent_path(x_N2: np.ndarray, times: float, steps: int) -> np.ndarray:
    """Weights (steps + 1, 2) from START on, at learning rate `times` / largest curvature; ends beyond MAX_DISTANCE."""
    h = hessian(x_N2)
    lr = times / np.linalg.eigvalsh(h)[-1]
    distances = [np.array(START)]
    while len(distances) <= steps and np.abs(distances[-1]).max() < MAX_DISTANCE:
        distances.append(distances[-1] - lr * (h @ distances[-1]))
    return np.array(distances)


def steps_to_converge(x_N2: np.ndarray, times: float) -> int | None:
    """Steps until the distance is CONVERGED_SHARE of the initial one; None if MAX_COUNTED_STEPS do not suffice."""
    curvatures, axes = np.linalg.eigh(hessian(x_N2))
    components = np.abs(axes.T @ np.array(START))
    factors = np.abs(1 - times * curvatures / curvatures[-1])
    stuck = components[factors == 1] > CONVERGED_SHARE * np.linalg.norm(START)
    if stuck.any() or (factors > 1).any():  # otherwise rounding errors would grow
        return None
    powers = factors[None] ** np.arange(MAX_COUNTED_STEPS + 1)[:, None]
    converged = np.flatnonzero(np.sqrt(((powers * components) ** 2).sum(1)) <= CONVERGED_SHARE * np.linalg.norm(START))
    return int(converged[0]) if len(converged) else None


def correlation(x_N2: np.ndarray) -> float:
    """Pearson's r of the two features; 0 where one is constant. Standardising leaves it as it is."""
    x = np.asarray(x_N2, float) - np.mean(x_N2, axis=0)
    lengths = float(np.linalg.norm(x[:, 0]) * np.linalg.norm(x[:, 1]))
    return float(x[:, 0] @ x[:, 1]) / lengths if lengths else 0.0


def contour(x_N2: np.ndarray, loss: float, points: int = 181) -> np.ndarray:
    """Weights (points, 2) whose loss is `loss` times that at START; a flat direction ends at MAX_DISTANCE."""
    h = hessian(x_N2)
    curvatures, axes = np.linalg.eigh(h)
    start = np.array(START)
    radii = np.minimum(np.sqrt(loss * (start @ h @ start) / np.maximum(curvatures, 1e-300)), MAX_DISTANCE)
    angle = np.linspace(0, 2 * np.pi, points)
    return np.asarray((axes * radii) @ np.array([np.cos(angle), np.sin(angle)])).T
