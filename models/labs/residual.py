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


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    """Cosine between two tokens without its rounding errors; NaN if either is all zeros."""
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return round(float(x @ y / size), 12) + 0.0 if size > 0 else float("nan")
