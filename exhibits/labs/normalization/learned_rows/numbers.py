"""Gain and bias of a layer norm trained by gradient descent toward targets, and the least loss they can reach.

Legend: T tokens, D features.
"""

from dataclasses import dataclass

import numpy as np

STEPS = 100


@dataclass(frozen=True)
class TrainedRows:
    """Gain and bias before each step and after the last (S + 1, D), and the losses (S + 1,).

    The loss is the mean of (gain * x^ + bias - target)² over tokens and features, halved.
    """

    gain: np.ndarray
    bias: np.ndarray
    loss: np.ndarray


def train_rows(
    normed_TD: np.ndarray, target_TD: np.ndarray, rows_2D: np.ndarray, *, rate: float, steps: int = STEPS
) -> TrainedRows:
    """Gradient descent on gain and bias alone; stops before a loss that is not finite.

    Each feature has its own loss, averaged over tokens only, so `rate` does not depend on D.
    """
    gain, bias = np.array(rows_2D, float)
    gains, biases, losses = [], [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps + 1):
            error = gain * normed_TD + bias - target_TD
            loss = float(np.mean(error**2) / 2)
            if not np.isfinite(loss):
                break
            gains.append(gain)
            biases.append(bias)
            losses.append(loss)
            gain = gain - rate * (error * normed_TD).mean(0)
            bias = bias - rate * error.mean(0)
    return TrainedRows(np.array(gains), np.array(biases), np.array(losses))


def least_loss(normed_TD: np.ndarray, target_TD: np.ndarray) -> float:
    """Least loss of any gain and bias: least squares of a line through each feature's T points."""
    x = normed_TD - normed_TD.mean(0)
    y = target_TD - target_TD.mean(0)
    spread = (x**2).sum(0)
    slope = np.divide((x * y).sum(0), spread, out=np.zeros_like(spread), where=spread > 0)
    return float(np.mean((y - slope * x) ** 2) / 2)


def largest_rate(normed_TD: np.ndarray) -> float:
    """Rate above which descent diverges: 2 over the largest curvature of any feature."""
    square, mean = (normed_TD**2).mean(0), normed_TD.mean(0)
    curvature = (square + 1 + np.sqrt((square - 1) ** 2 + 4 * mean**2)) / 2
    return 2 / float(curvature.max())
