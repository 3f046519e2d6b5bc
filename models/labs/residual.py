"""Add & norm on one token (D,), sublayer by sublayer: branch input and output, sum, norm. numpy, float64."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.labs.normalization import normalise
from models.spec.placement import PLACEMENTS, Placement

EPS = 1e-5
# Branch outputs are inputs here, so a norm inside the branch would have no effect.
WALKABLE_PLACEMENTS = tuple(name for name, slots in PLACEMENTS.items() if not slots.norm_mid)


@dataclass(frozen=True)
class NormedToken:
    """Layer norm of one token: input, mean, variance and output."""

    input: np.ndarray
    mean: float
    variance: float
    values: np.ndarray


@dataclass(frozen=True)
class Step:
    """One sublayer: stream before and after, branch input and output, their sum, and the norms in its slots.

    `relu_mask`: features (D,) that a ReLU after the add passes; None without a ReLU.
    """

    before: np.ndarray
    branch_input: np.ndarray
    branch_output: np.ndarray
    sum: np.ndarray
    after: np.ndarray
    norm_in: NormedToken | None = None
    norm_out: NormedToken | None = None
    norm_add: NormedToken | None = None
    relu_mask: np.ndarray | None = None


@dataclass(frozen=True)
class WorkedExample:
    """A token, branch outputs (M, D) and a placement; `printed_`: the wrong numbers of a tutorial."""

    token: tuple[float, ...]
    branches: tuple[tuple[float, ...], ...]
    placement: str
    printed_variance: float | None = None
    printed_result: tuple[float, ...] = ()


ZERO_BRANCH = (0.0, 0.0, 0.0)
WORKED_EXAMPLES = {
    "Attention, then feed-forward, post-norm": WorkedExample(
        (1, 2, -1), ((0.5, 1.5, -0.5), (0.25, 0.80, -1.0)), "post-norm"
    ),
    "After attention, post-norm": WorkedExample(
        (1, 2, -1), ((0.5, 1.5, -0.5),), "post-norm", printed_variance=4.89, printed_result=(0.15, 1.06, -1.19)
    ),
    "After the feed-forward network, post-norm": WorkedExample(
        (0.15, 1.06, -1.19),
        ((0.25, 0.80, -1.0),),
        "post-norm",
        printed_variance=2.15,
        printed_result=(0.26, 1.25, -1.50),
    ),
    "Pre-norm": WorkedExample((1, 2, -1), ((0.5, 1.0, -0.8),), "pre-norm"),
    "First token, F = 0": WorkedExample((1, 2, -1), (ZERO_BRANCH,), "post-norm"),
    "Second token, F = 0": WorkedExample((3, 1, 0.5), (ZERO_BRANCH,), "post-norm"),
    "Third token, F = 0": WorkedExample((2, -1, 1.5), (ZERO_BRANCH,), "post-norm"),
    "No norm": WorkedExample((1.5, 2.0, -0.5), ((0.8, 1.2, -0.1),), "none"),
}


def layer_norm(x: np.ndarray) -> NormedToken:
    """Layer norm of one token (D,), with its statistics."""
    input = np.asarray(x, float)
    normed = normalise(input[None], "layer norm", eps=EPS)
    return NormedToken(input, float(input.mean()), float(input.var()), normed.values[0])


def run_sublayers(
    token: np.ndarray,
    branches: Sequence[np.ndarray] | np.ndarray,
    placement: str,
    *,
    skip: float = 1.0,
    relu: bool = False,
) -> list[Step]:
    """Steps of the sublayers y = N_add(skip * x + N_out(F(N_in(x)))) in sequence, with `branches` as outputs of F.

    `relu`: the stream is relu(y), as in the first residual nets (He 2015, 1512.03385).
    """
    steps: list[Step] = []
    stream = np.asarray(token, float)
    for output in branches:
        step = _step(stream, np.asarray(output, float), PLACEMENTS[placement], skip)
        if relu:
            step = replace(step, after=np.maximum(step.after, 0), relu_mask=step.after > 0)
        steps.append(step)
        stream = step.after
    return steps


def _step(x: np.ndarray, output: np.ndarray, slots: Placement, skip: float) -> Step:
    """One sublayer on the stream x, with `output` as the result of F."""
    norm_in = layer_norm(x) if slots.norm_in else None
    norm_out = layer_norm(output) if slots.norm_out else None
    branch_output = norm_out.values if norm_out else output
    total = skip * x + branch_output
    norm_add = layer_norm(total) if slots.norm_add else None
    after = norm_add.values if norm_add else total
    return Step(
        before=x,
        branch_input=norm_in.values if norm_in else x,
        branch_output=branch_output,
        sum=total,
        after=after,
        norm_in=norm_in,
        norm_out=norm_out,
        norm_add=norm_add,
    )


def contribution_factors(steps: Sequence[Step], *, skip: float = 1.0) -> np.ndarray:
    """Factors of the token and of each branch output in the final stream, (M + 1, D).

    Each residual multiplies the earlier parts by `skip`. A norm after the add divides all parts by its standard
    deviation and centres them, so the final stream is the sum of the centred parts. A ReLU after the add zeroes the
    features whose sum is negative. No such factors exist with both a norm and a ReLU after the add.
    """
    factors = np.ones((len(steps) + 1, len(steps[0].before)))
    for index, step in enumerate(steps):
        factors[: index + 1] *= skip
        if step.norm_add:
            factors[: index + 2] /= np.sqrt(step.norm_add.variance + EPS)
        if step.relu_mask is not None:
            factors[: index + 2] *= step.relu_mask
    return factors


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


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Cosine between two tokens without its rounding errors; NaN if either is all zeros."""
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return round(float(x @ y / size), 12) + 0.0 if size > 0 else float("nan")
