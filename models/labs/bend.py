"""The target x + a bend, learned by the same small layers with and without a residual. numpy, float64.

Legend: N points, L layers, H hidden units of a layer; the stream has one feature.
"""

from dataclasses import dataclass

import numpy as np

POINTS = np.linspace(-2, 2, 41)
HIDDEN = 8
Layer = tuple[np.ndarray, np.ndarray, np.ndarray, float]  # w, b and v (H,), c


@dataclass(frozen=True)
class TrainedNet:
    """Losses (S + 1,) and outputs (S + 1, N) before each step and after the last.

    `branches`: RMS over points of each layer's F after the last step (L,).
    """

    losses: np.ndarray
    outputs: np.ndarray
    branches: np.ndarray


def target(bend: float) -> np.ndarray:
    """x + bend * sin(1.5 x) at the points, (N,)."""
    return np.asarray(POINTS + bend * np.sin(1.5 * POINTS))


def initial_layers(layers: int, size: float, seed: int) -> list[Layer]:
    """Layers F(x) = tanh(x w + b) v + c: w and b of variance 1, v of variance size² / H, c = 0."""
    normal = np.random.default_rng(seed).normal
    return [
        (normal(size=HIDDEN), normal(size=HIDDEN), size * normal(size=HIDDEN) / HIDDEN**0.5, 0.0) for _ in range(layers)
    ]


def train(bend: float, net: list[Layer], *, residual: bool, rate: float, steps: int) -> TrainedNet:
    """Full-batch gradient descent on half the mean square error; stops before a loss that is not finite."""
    losses, outputs = [], []
    branches = np.zeros(len(net))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps + 1):
            streams, actives, branch_outputs = [POINTS], [], []
            for w, b, v, c in net:
                actives.append(np.tanh(np.outer(streams[-1], w) + b))
                branch_outputs.append(actives[-1] @ v + c)
                streams.append(residual * streams[-1] + branch_outputs[-1])
            error = streams[-1] - target(bend)
            loss = float(np.mean(error**2) / 2)
            if not np.isfinite(loss):
                break
            losses.append(loss)
            outputs.append(streams[-1])
            branches = np.array([np.sqrt(np.mean(branch_output**2)) for branch_output in branch_outputs])
            net = _gradient_step(net, streams, actives, residual=residual, rate=rate, g=error / len(POINTS))
    return TrainedNet(np.array(losses), np.array(outputs), branches)


def _gradient_step(
    net: list[Layer],
    streams: list[np.ndarray],
    actives: list[np.ndarray],
    *,
    g: np.ndarray,
    residual: bool,
    rate: float,
) -> list[Layer]:
    """Layers after one step, from the gradient g (N,) at the last stream."""
    layers = []
    for (w, b, v, c), x, active in zip(reversed(net), reversed(streams[:-1]), reversed(actives), strict=True):
        inside = np.outer(g, v) * (1 - active**2)
        layers.append((w - rate * x @ inside, b - rate * inside.sum(0), v - rate * active.T @ g, c - rate * g.sum()))
        g = residual * g + inside @ w
    return layers[::-1]
