"""An add whose branch has another width than the stream: why it breaks, what joins them, and the gradient past it.

Legend: D features of the stream, M of the branch's output.
"""

from dataclasses import dataclass

import numpy as np

BLOCKS = 32
NOTHING, CROP, ON_SKIP, ON_BRANCH = "nothing", "crop or pad", "W_s on the residual", "W_out on the branch"
JOINS = (NOTHING, CROP, ON_SKIP, ON_BRANCH)
# By name, the standard deviation of W_s's entries times √(inputs).
SIZES = {"torch's default": 3**-0.5, "variance 1 / width": 1.0, "He": 2**0.5}


@dataclass(frozen=True)
class Joined:
    """What arrives at an add from both sides, and their sum; None with numpy's own `problem` where they do not fit."""

    residual: np.ndarray
    branch: np.ndarray
    sum: np.ndarray | None
    problem: str = ""


def join(x_D: np.ndarray, branch_M: np.ndarray, how: str, source: np.random.Generator) -> Joined:
    """A stream and its branch's output, made to fit by one of JOINS with random matrices, and added."""
    residual, branch = np.asarray(x_D, float), np.asarray(branch_M, float)
    width, wide = len(residual), len(branch)
    if how == CROP:
        branch = np.pad(branch, (0, max(width - wide, 0)))[:width]
    elif how == ON_SKIP:
        residual = random_matrix(wide, width, 1.0, source) @ residual
    elif how == ON_BRANCH:
        branch = random_matrix(width, wide, 1.0, source) @ branch
    try:
        return Joined(residual, branch, residual + branch)
    except ValueError as problem:
        return Joined(residual, branch, None, str(problem))


def random_matrix(outputs: int, inputs: int, size: float, source: np.random.Generator) -> np.ndarray:
    """Entries of variance size² / inputs, (outputs, inputs)."""
    return source.normal(size=(outputs, inputs)) * size / np.sqrt(inputs)


def past_the_branches(width: int, wide: int, size: float, seed: int, *, every_block: bool) -> np.ndarray:
    """The norm of the gradient at x_0 ... x_BLOCKS (BLOCKS + 1,) that comes by the residuals alone, 1 at the end.

    The stream has `width` features at the start and `wide` after block 1, where W_s (wide, width) stands; with
    `every_block` a W_s (wide, wide) stands on every later residual, too.
    """
    source = np.random.default_rng(seed)
    gradient = source.normal(size=wide)
    gradient /= np.linalg.norm(gradient)
    norms = [1.0]
    for block in range(BLOCKS, 0, -1):
        if block == 1 or every_block:
            gradient = random_matrix(wide, width if block == 1 else wide, size, source).T @ gradient
        norms.append(float(np.linalg.norm(gradient)))
    return np.array(norms[::-1])
