"""The bowl of least squares on two features, and gradient descent in it. numpy, float64.

Legend: w distance of the two weights from the minimum; loss w'Hw / 2 with H = X'X / N; eigenvalues are curvatures.
"""

import numpy as np

MAX_COUNTED_STEPS = 100_000
GOAL = 1e-3  # share of the initial distance at which descent has arrived
START = (1.0, 1.0)
FAR = 1e3  # distance beyond which a path is not drawn on


def hessian(x_N2: np.ndarray) -> np.ndarray:
    """H (2, 2), of features divided by their largest absolute value, so that no square overflows its digits.

    ValueError where all numbers are 0.
    """
    x = np.asarray(x_N2, float)
    largest = float(np.abs(x).max())
    if not largest:
        raise ValueError("All numbers of these features are 0, so the loss is level.")
    return (x / largest).T @ (x / largest) / len(x)


def path(x_N2: np.ndarray, times: float, steps: int) -> np.ndarray:
    """The distances (steps + 1, 2) from START on, at a learning rate of `times` / largest curvature; cut off at FAR."""
    h = hessian(x_N2)
    rate = times / np.linalg.eigvalsh(h)[-1]
    places = [np.array(START)]
    while len(places) <= steps and np.abs(places[-1]).max() < FAR:
        places.append(places[-1] - rate * (h @ places[-1]))
    return np.array(places)


def steps_to_arrive(x_N2: np.ndarray, times: float) -> int | None:
    """The first step at which the distance is GOAL of the initial one; None if MAX_COUNTED_STEPS do not suffice."""
    curvatures, axes = np.linalg.eigh(hessian(x_N2))
    along = np.abs(axes.T @ np.array(START))
    factors = np.abs(1 - times * curvatures / curvatures[-1])
    stays = along[factors == 1] > GOAL * np.linalg.norm(START)
    if stays.any() or (factors > 1).any():  # rounding alone would grow
        return None
    powers = factors[None] ** np.arange(MAX_COUNTED_STEPS + 1)[:, None]
    arrived = np.flatnonzero(np.sqrt(((powers * along) ** 2).sum(1)) <= GOAL * np.linalg.norm(START))
    return int(arrived[0]) if len(arrived) else None


def contour(x_N2: np.ndarray, loss: float, points: int = 181) -> np.ndarray:
    """The weights (points, 2) at which the loss is a share of that at START; a level direction is cut off at FAR."""
    h = hessian(x_N2)
    curvatures, axes = np.linalg.eigh(h)
    start = np.array(START)
    radii = np.minimum(np.sqrt(loss * (start @ h @ start) / np.maximum(curvatures, 1e-300)), FAR)
    angle = np.linspace(0, 2 * np.pi, points)
    return np.asarray((axes * radii) @ np.array([np.cos(angle), np.sin(angle)])).T
