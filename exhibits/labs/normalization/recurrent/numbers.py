"""A recurrent cell with a norm, on a batch of sequences of different lengths. numpy, float64."""

from dataclasses import dataclass

import numpy as np

from models.labs.normalization import normalise

FEATURES = 16
MAX_SEQUENCE_TOKENS = 9


@dataclass(frozen=True)
class RecurrentStatistics:
    """Statistics by step; `lengths` are tokens per sequence, longest first.

    `sequences_left`: number of sequences that reach the step. `mean`, `variance`: batch norm's, of feature 1.
    `…_feature`: feature 1 of the first sequence after the norm. `…_rms`: RMS of that sequence after the norm.
    """

    lengths: list[int]
    sequences_left: list[int]
    mean: list[float]
    variance: list[float]
    batch_norm_feature: list[float]
    layer_norm_feature: list[float]
    batch_norm_rms: list[float]
    layer_norm_rms: list[float]


def recurrent_statistics(count: int, seed: int) -> RecurrentStatistics:
    """h_t = tanh(N(W_h h_{t-1} + W_x x_t)) over `count` sequences, once with batch norm and once with layer norm."""
    rng = np.random.default_rng(seed)
    lengths = sorted((int(length) for length in rng.integers(2, MAX_SEQUENCE_TOKENS + 1, count)), reverse=True)
    lengths[0] = MAX_SEQUENCE_TOKENS
    w_h, w_x = (rng.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES) for _ in range(2))
    x_BTD = rng.standard_normal((count, MAX_SEQUENCE_TOKENS, FEATURES))
    steps: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for method in ("batch norm", "layer norm"):
        h_BD = np.zeros((count, FEATURES))
        for step in range(MAX_SEQUENCE_TOKENS):
            active = [index for index, length in enumerate(lengths) if length > step]
            summed = h_BD[active] @ w_h + x_BTD[active, step] @ w_x
            # A batch of one has no spread: (x - x) / sqrt(0 + eps) = 0 in every feature.
            normed = normalise(summed, method).values if len(active) > 1 or method == "layer norm" else 0 * summed
            h_BD[active] = np.tanh(normed)
            steps.setdefault(method, []).append((summed, normed))
    batch, layer = steps["batch norm"], steps["layer norm"]
    return RecurrentStatistics(
        lengths=lengths,
        sequences_left=[len(summed) for summed, _ in batch],
        mean=[float(summed[:, 0].mean()) for summed, _ in batch],
        variance=[float(summed[:, 0].var()) for summed, _ in batch],
        batch_norm_feature=[float(normed[0, 0]) for _, normed in batch],
        layer_norm_feature=[float(normed[0, 0]) for _, normed in layer],
        batch_norm_rms=[float(np.sqrt((normed[0] ** 2).mean())) for _, normed in batch],
        layer_norm_rms=[float(np.sqrt((normed[0] ** 2).mean())) for _, normed in layer],
    )
