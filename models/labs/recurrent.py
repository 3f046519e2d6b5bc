"""A recurrent cell with a norm, on a batch of sequences of different lengths. numpy, float64."""

from dataclasses import dataclass

import numpy as np

from models.labs.normalization import normalised

FEATURES = 16
MAX_SEQUENCE_TOKENS = 9  # tokens


@dataclass(frozen=True)
class RecurrentStatistics:
    """What the norms see, by step: sequences left, batch norm's mean and variance of feature 1, feature 1 of the first
    sequence behind either norm, and that sequence's RMS behind either. `lengths`: of all sequences, longest first.
    """

    lengths: list[int]
    left: list[int]
    mean: list[float]
    variance: list[float]
    by_batch: list[float]
    by_layer: list[float]
    batch_size: list[float]
    layer_size: list[float]


def read(count: int, seed: int) -> RecurrentStatistics:
    """h_t = tanh(N(W_h h_{t-1} + W_x x_t)) over `count` sequences, once with batch norm and once with layer norm."""
    source = np.random.default_rng(seed)
    lengths = sorted((int(one) for one in source.integers(2, MAX_SEQUENCE_TOKENS + 1, count)), reverse=True)
    lengths[0] = MAX_SEQUENCE_TOKENS
    w_h, w_x = (source.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(2))
    x_BTD = source.standard_normal((count, MAX_SEQUENCE_TOKENS, FEATURES))
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for method in ("batch norm", "layer norm"):
        h_BD = np.zeros((count, FEATURES))
        for step in range(MAX_SEQUENCE_TOKENS):
            going = [at for at, length in enumerate(lengths) if length > step]
            summed = h_BD[going] @ w_h + x_BTD[going, step] @ w_x
            # A batch of one has no spread: (x - x) / sqrt(0 + eps) = 0 in every feature.
            normed = normalised(summed, method).values if len(going) > 1 or method == "layer norm" else 0 * summed
            h_BD[going] = np.tanh(normed)
            found.setdefault(method, []).append((summed, normed))
    batch, layer = found["batch norm"], found["layer norm"]
    return RecurrentStatistics(
        lengths,
        [len(summed) for summed, _ in batch],
        [float(summed[:, 0].mean()) for summed, _ in batch],
        [float(summed[:, 0].var()) for summed, _ in batch],
        [float(normed[0, 0]) for _, normed in batch],
        [float(normed[0, 0]) for _, normed in layer],
        [float(np.sqrt((normed[0] ** 2).mean())) for _, normed in batch],
        [float(np.sqrt((normed[0] ** 2).mean())) for _, normed in layer],
    )
