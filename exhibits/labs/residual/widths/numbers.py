"""An add whose branch differs in width from the stream: error, remedies, and the gradient past it. numpy, float64.

Legend: D features of the stream, M of the branch's output.
"""

from dataclasses import dataclass

import numpy as np

BLOCKS = 32
# Ways to match the widths.
NOTHING = "nothing"
CROP = "crop or pad"
ON_SKIP = "W_s on the residual"
ON_BRANCH = "W_out on the branch"
JOINS = (NOTHING, CROP, ON_SKIP, ON_BRANCH)
# Standard deviation of W_s's entries times √inputs, by the name of the initialisation.
W_S_SCALES = {"torch's default": 3**-0.5, "variance 1 / width": 1.0, "He": 2**0.5}


@dataclass(frozen=True)
class Joined:
    """Operands of an add and their sum, or None with numpy's error message as `problem`."""

    residual: np.ndarray
    branch: np.ndarray
    sum: np.ndarray | None
    problem: str = ""


def join_and_add(x_D: np.ndarray, branch_M: np.ndarray, method: str, rng: np.random.Generator) -> Joined:
    """Adds a branch's output to the stream after matching their widths by one of JOINS, with random matrices."""
    residual, branch = np.asarray(x_D, float), np.asarray(branch_M, float)
    width, branch_width = len(residual), len(branch)
    if method == CROP:
        branch = np.pad(branch, (0, max(width - branch_width, 0)))[:width]
    elif method == ON_SKIP:
        residual = random_matrix(branch_width, width, 1.0, rng) @ residual
    elif method == ON_BRANCH:
        branch = random_matrix(width, branch_width, 1.0, rng) @ branch
    try:
        return Joined(residual, branch, residual + branch)
    except ValueError as problem:
        return Joined(residual, branch, None, str(problem))


def random_matrix(outputs: int, inputs: int, size: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian matrix (outputs, inputs) of variance size² / inputs."""
    return rng.normal(size=(outputs, inputs)) * size / np.sqrt(inputs)


def residual_gradient_norms(width: int, branch_width: int, size: float, seed: int, *, every_block: bool) -> np.ndarray:
    """Norm at x_0 ... x_BLOCKS (BLOCKS + 1,) of the gradient through the residuals alone, 1 at the end.

    Block 1 widens the stream from `width` to `branch_width` by a W_s on its residual; with `every_block` each later
    residual has a square W_s, too.
    """
    rng = np.random.default_rng(seed)
    gradient = rng.normal(size=branch_width)
    gradient /= np.linalg.norm(gradient)
    norms = [1.0]
    for block in range(BLOCKS, 0, -1):
        if block == 1 or every_block:
            gradient = random_matrix(branch_width, width if block == 1 else branch_width, size, rng).T @ gradient
        norms.append(float(np.linalg.norm(gradient)))
    return np.array(norms[::-1])
