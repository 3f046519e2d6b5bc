"""Add & norm on one token, sublayer by sublayer: a branch's input and output, the sum, the norm. Tokens are (D,)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.labs.normalization import normalised
from models.spec.placement import PLACEMENTS, Placement

EPS = 1e-5
# Branch outputs are given, so a norm inside the branch would have no effect.
WALKED = tuple(name for name, slots in PLACEMENTS.items() if not slots.norm_mid)


@dataclass(frozen=True)
class NormedToken:
    """Layer norm of one token: input, mean, variance and output."""

    given: np.ndarray
    mean: float
    variance: float
    values: np.ndarray


@dataclass(frozen=True)
class Step:
    """One sublayer: the stream before it, its branch's input and output, the sum, the stream after, and its norms.

    `open`: the features whose sum a ReLU after the add lets through (D,), None without one.
    """

    before: np.ndarray
    read: np.ndarray
    written: np.ndarray
    sum: np.ndarray
    after: np.ndarray
    norm_in: NormedToken | None = None
    norm_out: NormedToken | None = None
    norm_add: NormedToken | None = None
    open: np.ndarray | None = None


@dataclass(frozen=True)
class Walk:
    """A worked example: a token, branch outputs (M, D), a placement, and a widely copied slip (`printed_`)."""

    token: tuple[float, ...]
    branches: tuple[tuple[float, ...], ...]
    placement: str
    printed_variance: float | None = None
    printed_result: tuple[float, ...] = ()


NOTHING = (0.0, 0.0, 0.0)
WALKS = {
    "Attention, then feed-forward, post-norm": Walk((1, 2, -1), ((0.5, 1.5, -0.5), (0.25, 0.80, -1.0)), "post-norm"),
    "After attention, post-norm": Walk(
        (1, 2, -1), ((0.5, 1.5, -0.5),), "post-norm", printed_variance=4.89, printed_result=(0.15, 1.06, -1.19)
    ),
    "After the feed-forward network, post-norm": Walk(
        (0.15, 1.06, -1.19),
        ((0.25, 0.80, -1.0),),
        "post-norm",
        printed_variance=2.15,
        printed_result=(0.26, 1.25, -1.50),
    ),
    "Pre-norm": Walk((1, 2, -1), ((0.5, 1.0, -0.8),), "pre-norm"),
    "First token, F = 0": Walk((1, 2, -1), (NOTHING,), "post-norm"),
    "Second token, F = 0": Walk((3, 1, 0.5), (NOTHING,), "post-norm"),
    "Third token, F = 0": Walk((2, -1, 1.5), (NOTHING,), "post-norm"),
    "No norm": Walk((1.5, 2.0, -0.5), ((0.8, 1.2, -0.1),), "none"),
}


def layer_norm(x: np.ndarray) -> NormedToken:
    """Layer norm of one token (D,), with its statistics."""
    given = np.asarray(x, float)
    return NormedToken(
        given, float(given.mean()), float(given.var()), normalised(given[None], "layer norm", eps=EPS).values[0]
    )


def walk(
    token: np.ndarray,
    branches: Sequence[np.ndarray] | np.ndarray,
    placement: str,
    *,
    skip: float = 1.0,
    relu: bool = False,
) -> list[Step]:
    """The sublayers y = N_add(skip * x + N_out(F(N_in(x)))) in sequence, with the given outputs for F.

    `relu`: the stream is relu(y), as in the first residual nets (He 2015, 1512.03385).
    """
    steps: list[Step] = []
    stream = np.asarray(token, float)
    for output in branches:
        step = _step(stream, np.asarray(output, float), PLACEMENTS[placement], skip)
        steps.append(replace(step, after=np.maximum(step.after, 0), open=step.after > 0) if relu else step)
        stream = steps[-1].after
    return steps


def _step(x: np.ndarray, output: np.ndarray, slots: Placement, skip: float) -> Step:
    norm_in = layer_norm(x) if slots.norm_in else None
    norm_out = layer_norm(output) if slots.norm_out else None
    written = norm_out.values if norm_out else output
    total = skip * x + written
    norm_add = layer_norm(total) if slots.norm_add else None
    after = norm_add.values if norm_add else total
    return Step(x, norm_in.values if norm_in else x, written, total, after, norm_in, norm_out, norm_add)


def left_over(steps: Sequence[Step], *, skip: float = 1.0) -> np.ndarray:
    """The factors of the token and of each output (M + 1, D) in the end of the stream, by feature.

    A skip multiplies what came before by its weight; a norm after the add divides everything by its deviation, and
    centres it: the end is then the sum of the centred parts. A ReLU after the add cuts the features whose sum is
    negative. With both a norm after the add and a ReLU no such factors exist.
    """
    factors = np.ones((len(steps) + 1, len(steps[0].before)))
    for at, step in enumerate(steps):
        factors[: at + 1] *= skip
        if step.norm_add:
            factors[: at + 2] /= np.sqrt(step.norm_add.variance + EPS)
        if step.open is not None:
            factors[: at + 2] *= step.open
    return factors


def recursive_skip(x: np.ndarray, branch: np.ndarray, repeats: int = 2) -> list[NormedToken]:
    """All y_k of y_1 = N(x + f), y_k = N(x + y_(k-1)) (Liu 2020, Rethinking skip connection with layer
    normalization).
    """
    found = [layer_norm(np.asarray(x, float) + branch)]
    for _ in range(repeats - 1):
        found.append(layer_norm(x + found[-1].values))
    return found


def scaled_skip(x: np.ndarray, branch: np.ndarray, weight: float) -> NormedToken:
    """N(weight * x + f) (Liu 2020; with weight M^(1/4) the sum of DeepNorm, 2203.00555)."""
    return layer_norm(weight * np.asarray(x, float) + branch)


def combined(
    token: np.ndarray, branches: Sequence[np.ndarray] | np.ndarray, weights: Sequence[Sequence[float]]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """DLCL (Wang 2019, 1906.01787): a block reads a weighted sum of all earlier outputs, and adds its branch to that.

    Block l reads sum_k W[l, k] N(y_k).
    `weights`: a row per branch and one for the output head, each one longer than the last. Returns what blocks and
    head read (M + 1), and the outputs y_0 ... y_M.
    """
    outputs, reads = [np.asarray(token, float)], []
    for at, row in enumerate(weights):
        reads.append(sum((w * layer_norm(y).values for w, y in zip(row, outputs, strict=True)), np.zeros(len(token))))
        if at < len(branches):
            outputs.append(reads[-1] + np.asarray(branches[at], float))
    return reads, outputs


def average_weights(blocks: int) -> list[list[float]]:
    """DLCL's initial weights: for each block and the head, the average of all earlier outputs."""
    return [[1 / count] * count for count in range(1, blocks + 2)]


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    """The cosine between two tokens; NaN if either is all zeros."""
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y / size) if size > 0 else float("nan")
