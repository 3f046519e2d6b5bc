"""Residual learning of x + a bend: the same small layers with and without a residual, on the same points and steps.

Legend: N points, L layers, H hidden units of a layer; the stream has one feature.
"""

from dataclasses import dataclass

import numpy as np

POINTS = np.linspace(-2, 2, 41)
HIDDEN = 8
Layer = tuple[np.ndarray, np.ndarray, np.ndarray, float]  # weights in, biases and weights out (H,), the bias out


@dataclass(frozen=True)
class Learned:
    """A net's loss before each step and after the last (S + 1,), its outputs there (S + 1, N).

    `branches`: the RMS over points of each layer's F after the last step (L,).
    """

    losses: np.ndarray
    outputs: np.ndarray
    branches: np.ndarray


def target(bend: float) -> np.ndarray:
    """x + bend * sin(1.5 x) at the points, (N,)."""
    return np.asarray(POINTS + bend * np.sin(1.5 * POINTS))


def initial(layers: int, size: float, seed: int) -> list[Layer]:
    """Layers F(x) = tanh(x w + b) v + c: w and b of variance 1, v of variance size² / H, c = 0."""
    source = np.random.default_rng(seed)
    normal = source.normal
    return [
        (normal(size=HIDDEN), normal(size=HIDDEN), size * normal(size=HIDDEN) / HIDDEN**0.5, 0.0) for _ in range(layers)
    ]


def learn(bend: float, net: list[Layer], *, residual: bool, rate: float, steps: int) -> Learned:
    """Gradient descent on half the mean square error, all points at once. Ends before a loss that is not finite."""
    wanted, losses, outputs, branches = target(bend), [], [], np.zeros(len(net))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps + 1):
            streams, actives, made = [POINTS], [], []
            for w, b, v, c in net:
                actives.append(np.tanh(np.outer(streams[-1], w) + b))
                made.append(actives[-1] @ v + c)
                streams.append(residual * streams[-1] + made[-1])
            error = streams[-1] - wanted
            loss = float(np.mean(error**2) / 2)
            if not np.isfinite(loss):
                break
            losses.append(loss)
            outputs.append(streams[-1])
            branches = np.array([np.sqrt(np.mean(one**2)) for one in made])
            net = _stepped(net, streams, actives, residual=residual, rate=rate, g=error / len(POINTS))
    return Learned(np.array(losses), np.array(outputs), branches)


def _stepped(
    net: list[Layer],
    streams: list[np.ndarray],
    actives: list[np.ndarray],
    *,
    g: np.ndarray,
    residual: bool,
    rate: float,
) -> list[Layer]:
    """The layers after a step, from the gradient (N,) at the last stream."""
    stepped = []
    for (w, b, v, c), x, active in zip(reversed(net), reversed(streams[:-1]), reversed(actives), strict=True):
        inside = np.outer(g, v) * (1 - active**2)
        stepped.append((w - rate * x @ inside, b - rate * inside.sum(0), v - rate * active.T @ g, c - rate * g.sum()))
        g = residual * g + inside @ w
    return stepped[::-1]
