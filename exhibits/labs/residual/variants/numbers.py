"""Other skips on one token (D,): recursive, scaled, DLCL's, and a branch turned to an angle. numpy, float64."""

from collections.abc import Sequence

import numpy as np

from models.labs.residual import NormedToken, layer_norm


def recursive_skip(x: np.ndarray, branch: np.ndarray, repeats: int = 2) -> list[NormedToken]:
    """All y_k of y_1 = N(x + f), y_k = N(x + y_(k-1)).

    Source: Liu 2020, Rethinking skip connection with layer normalization.
    """
    outputs = [layer_norm(np.asarray(x, float) + branch)]
    for _ in range(repeats - 1):
        outputs.append(layer_norm(x + outputs[-1].values))
    return outputs


def scaled_skip(x: np.ndarray, branch: np.ndarray, weight: float) -> NormedToken:
    """N(weight * x + f) (Liu 2020); a weight of M^(1/4) gives DeepNorm's sum (2203.00555)."""
    return layer_norm(weight * np.asarray(x, float) + branch)


def dlcl_stream(
    token: np.ndarray, branches: Sequence[np.ndarray] | np.ndarray, weights: Sequence[Sequence[float]]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs of blocks and head (M + 1), and outputs y_0 ... y_M, of DLCL (Wang 2019, 1906.01787).

    Block l reads sum_k W[l, k] N(y_k) and adds its branch to that. `weights`: row l has l + 1 entries; the last row is
    the output head's.
    """
    outputs = [np.asarray(token, float)]
    inputs = []
    for block, row in enumerate(weights):
        terms = (weight * layer_norm(y).values for weight, y in zip(row, outputs, strict=True))
        block_input = sum(terms, np.zeros(len(token)))
        inputs.append(block_input)
        if block < len(branches):
            outputs.append(block_input + np.asarray(branches[block], float))
    return inputs, outputs


def average_weights(blocks: int) -> list[list[float]]:
    """DLCL's initial weights: block and head average all earlier outputs."""
    return [[1 / count] * count for count in range(1, blocks + 2)]


def turned(x_D: np.ndarray, branch_D: np.ndarray, degrees: float) -> np.ndarray | None:
    """The branch's output (D,) turned towards or away from x until the two, minus their means, are `degrees` apart.

    Its mean and its length minus the mean stay. None where the two span no plane to turn in.
    """
    x, branch = x_D - x_D.mean(), branch_D - branch_D.mean()
    lengths = np.linalg.norm(x), np.linalg.norm(branch)
    if not all(lengths):
        return None
    along = x / lengths[0]
    across = branch - (branch @ along) * along
    if np.linalg.norm(across) < 1e-9 * lengths[1]:
        return None
    angle = np.deg2rad(degrees)
    direction = np.cos(angle) * along + np.sin(angle) * across / np.linalg.norm(across)
    return np.asarray(branch_D.mean() + lengths[1] * direction)
