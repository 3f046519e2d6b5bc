"""The target x + a bend, learned by the same small layers with and without a residual. numpy, float64.

Legend: N points, L layers, H hidden units of a layer; the stream has one feature.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

POINTS = np.linspace(-2, 2, 41)
HIDDEN = 8


class Layer(NamedTuple):
    """F(x) = tanh(x w + b) v + c."""

    w: np.ndarray  # (H,)
    b: np.ndarray  # (H,)
    v: np.ndarray  # (H,)
    c: float


@dataclass(frozen=True)
class TrainedNet:
    """Losses (S + 1,) and outputs (S + 1, N) before each step and after the last; fewer if training stopped early.

    `branch_rms`: RMS over points of each layer's F after the last step (L,).
    """

    losses: np.ndarray
    outputs: np.ndarray
    branch_rms: np.ndarray


def target(bend: float) -> np.ndarray:
    """x + bend * sin(1.5 x) at the points, (N,)."""
    return np.asarray(POINTS + bend * np.sin(1.5 * POINTS))


def initial_layers(layers: int, size: float, seed: int) -> list[Layer]:
    """Layers F(x) = tanh(x w + b) v + c: w and b of variance 1, v of variance size² / H, c = 0."""
    normal = np.random.default_rng(seed).normal
    return [
        Layer(normal(size=HIDDEN), normal(size=HIDDEN), size * normal(size=HIDDEN) / HIDDEN**0.5, 0.0)
        for _ in range(layers)
    ]


def train(bend: float, net: list[Layer], *, residual: bool, rate: float, steps: int) -> TrainedNet:
    """Full-batch gradient descent on half the mean square error; stops at the first loss that is not finite."""
    losses, outputs = [], []
    branch_rms = np.zeros(len(net))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps + 1):
            streams, activations, branch_outputs = [POINTS], [], []
            for w, b, v, c in net:
                activations.append(np.tanh(np.outer(streams[-1], w) + b))
                branch_outputs.append(activations[-1] @ v + c)
                streams.append(residual * streams[-1] + branch_outputs[-1])
            error = streams[-1] - target(bend)
            loss = float(np.mean(error**2) / 2)
            if not np.isfinite(loss):
                break
            losses.append(loss)
            outputs.append(streams[-1])
            branch_rms = np.array([np.sqrt(np.mean(branch_output**2)) for branch_output in branch_outputs])
            net = _gradient_step(net, streams, activations, residual=residual, rate=rate, g=error / len(POINTS))
    return TrainedNet(np.array(losses), np.array(outputs), branch_rms)


def _gradient_step(
    net: list[Layer],
    streams: list[np.ndarray],
    activations: list[np.ndarray],
    *,
    g: np.ndarray,
    residual: bool,
    rate: float,
) -> list[Layer]:
    """Layers after one step, from the gradient g (N,) at the last stream."""
    layers = []
    for layer, x, activation in zip(reversed(net), reversed(streams[:-1]), reversed(activations), strict=True):
        preactivation_grad = np.outer(g, layer.v) * (1 - activation**2)
        updated = Layer(
            w=layer.w - rate * x @ preactivation_grad,
            b=layer.b - rate * preactivation_grad.sum(0),
            v=layer.v - rate * activation.T @ g,
            c=layer.c - rate * g.sum(),
        )
        layers.append(updated)
        g = residual * g + preactivation_grad @ layer.w
    return layers[::-1]
