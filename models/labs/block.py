"""A whole transformer block on a few tokens: every operation, the terms of a number, and a gradient's way back.

Legend: T tokens (rows), D features, K entries of a query, V of a value, H hidden units.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models.labs.attention import softmax, visible
from models.labs.chain import Curve
from models.labs.normalization import normalised
from models.labs.normalization_laws import jacobian

EPS = 1e-5
PLACEMENTS = ("post-norm", "pre-norm")
MAX_TOKENS = 6
MAX_FEATURES = 8  # and entries, and hidden units

INPUTS: dict[str, np.ndarray] = {
    "embedding": np.array([[1.0, 0, 0.5, -0.5], [0, 1, -0.5, 0.5], [0.5, -1, 1, 0]]),
    "position": np.array([[0, 1, 0, 1], [0.84, 0.54, 0.01, 1], [0.91, -0.42, 0.02, 1]]),
    "W_Q": np.array([[1.0, 0], [0, 1], [0.5, 0], [0, -0.5]]),
    "W_K": np.array([[0.5, 1], [-1, 0.5], [0, 1], [1, 0]]),
    "W_V": np.array([[1.0, 0], [0, 0.5], [-0.5, 1], [0.5, 0]]),
    "W_O": np.array([[0.5, -1, 0, 1], [1, 0.5, -0.5, 0]]),
    "W_1": np.array([[1.0, -0.5, 0, 0.5], [0, 1, -1, 0.5], [0.5, 0, 1, -1], [-0.5, 0.5, 0, 1]]),
    "W_2": np.array([[0.5, 0, -0.5, 1], [-1, 0.5, 0, 0], [0, 1, 0.5, -0.5], [0.5, 0, 1, 0]]),
}


@dataclass(frozen=True)
class Operation:
    """What an operation does, and the names of the one or two tables that it reads."""

    kind: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class ComputedBlock:
    """All tables of a block by name, inputs and matrices too, and the operations that made them, in order.

    `activation`: the curve and its slope.
    """

    values: Mapping[str, np.ndarray]
    operations: dict[str, Operation]
    activation: tuple[Curve, Curve]
    causal: bool

    @property
    def adds(self) -> tuple[tuple[str, str, str], ...]:
        """Stream before, branch and sum of the two adds."""
        return tuple((*self.operations[total].reads, total) for total in ("sum 1", "sum 2"))  # type: ignore[misc]

    @property
    def end(self) -> str:
        """The name of what the block returns."""
        return next(reversed(self.operations))


@dataclass(frozen=True)
class Terms:
    """The numbers that one is made of: the sum of `left` times `right`, over `divisor`, through `kind`."""

    kind: str
    left: np.ndarray
    right: np.ndarray
    divisor: float
    value: float


def operations(placement: str) -> dict[str, Operation]:
    """The operations of a block, in order."""
    post = placement == "post-norm"
    first, second = ("x", "norm 1") if post else ("norm 1", "norm 2")
    branch_1 = {
        "Q": Operation("times", (first, "W_Q")),
        "K": Operation("times", (first, "W_K")),
        "V": Operation("times", (first, "W_V")),
        "scores": Operation("scores", ("Q", "K")),
        "weights": Operation("softmax", ("scores",)),
        "mix": Operation("times", ("weights", "V")),
        "attention": Operation("times", ("mix", "W_O")),
    }
    branch_2 = {
        "hidden": Operation("times", (second, "W_1")),
        "active": Operation("activation", ("hidden",)),
        "feed-forward": Operation("times", ("active", "W_2")),
    }
    add_1 = {"sum 1": Operation("add", ("x", "attention"))}
    add_2 = {"sum 2": Operation("add", ("norm 1" if post else "sum 1", "feed-forward"))}
    norm_1 = {"norm 1": Operation("norm", ("sum 1" if post else "x",))}
    norm_2 = {"norm 2": Operation("norm", ("sum 2" if post else "sum 1",))}
    enters = {"x": Operation("add", ("embedding", "position"))}
    if post:
        return enters | branch_1 | add_1 | norm_1 | branch_2 | add_2 | norm_2
    return enters | norm_1 | branch_1 | add_1 | norm_2 | branch_2 | add_2


def forward(
    inputs: Mapping[str, np.ndarray], *, placement: str, activation: tuple[Curve, Curve], causal: bool = False
) -> ComputedBlock:
    """The block on embedding and position (T, D) with W_Q, W_K (D, K), W_V (D, V), W_O (V, D), W_1 (D, H), W_2 (H, D).

    One head, no biases, gains of 1.
    """
    values = {name: np.asarray(table, float) for name, table in inputs.items()}
    block = ComputedBlock(values, operations(placement), activation, causal)
    for name in block.operations:
        values[name] = _apply(block, name, values)
    return block


def _apply(block: ComputedBlock, name: str, values: Mapping[str, np.ndarray]) -> np.ndarray:
    operation = block.operations[name]
    a, *others = (values[name] for name in operation.reads)
    match operation.kind:
        case "add":
            return a + others[0]
        case "times":
            return a @ others[0]
        case "scores":
            return a @ others[0].T / a.shape[1] ** 0.5
        case "softmax":
            return softmax(np.where(visible(*a.shape, causal=block.causal), a, -np.inf))
        case "norm":
            return normalised(a, "layer norm", eps=EPS).values
    return block.activation[0](a)


def terms(block: ComputedBlock, name: str, row: int, column: int) -> Terms:
    """What a number of an operation is computed from."""
    operation, values = block.operations[name], block.values
    a, *others = (values[read] for read in operation.reads)
    right, divisor = np.ones(1), 1.0
    match operation.kind:
        case "add":
            left, right = np.array([a[row, column], others[0][row, column]]), np.ones(2)
        case "times":
            left, right = a[row], others[0][:, column]
        case "scores":
            left, right, divisor = a[row], others[0][column], a.shape[1] ** 0.5
        case "softmax":
            seen = visible(*a.shape, causal=block.causal)[row]
            powers = np.where(seen, np.exp(a[row] - a[row][seen].max()), 0.0)
            left, divisor = powers[[column]], float(powers.sum())
        case "norm":
            left, right = np.array([a[row, column], a[row].mean()]), np.array([1.0, -1.0])
            divisor = float(np.sqrt(a[row].var() + EPS))
        case _:
            left = a[row, [column]]
    return Terms(operation.kind, left, right, divisor, float(values[name][row, column]))


def back(block: ComputedBlock, row: int, column: int) -> dict[str, dict[str, np.ndarray]]:
    """The gradient of one number of the block's end at every table that operations read, by the operation it came by.

    What comes by all of them adds up to the gradient.
    """
    by: dict[str, dict[str, np.ndarray]] = {block.end: {"": np.zeros_like(block.values[block.end])}}
    by[block.end][""][row, column] = 1.0
    for name in reversed(block.operations):
        arriving = np.sum([*by[name].values()], axis=0)
        operation = block.operations[name]
        gradients = _back(block, name, arriving)
        for read, gradient in zip(operation.reads, gradients, strict=True):
            by.setdefault(read, {})[name] = gradient
    return by


def _back(block: ComputedBlock, name: str, g: np.ndarray) -> list[np.ndarray]:
    """The gradient at each table that an operation reads, from that at its result."""
    operation, out = block.operations[name], block.values[name]
    a, *others = (block.values[read] for read in operation.reads)
    match operation.kind:
        case "add":
            return [g, g]
        case "times":
            return [g @ others[0].T, a.T @ g]
        case "scores":
            root = a.shape[1] ** 0.5
            return [g @ others[0] / root, g.T @ a / root]
        case "softmax":
            return [out * (g - (out * g).sum(1, keepdims=True))]
        case "norm":
            return [np.array([jacobian(token, "layer norm", EPS) @ own for token, own in zip(a, g, strict=True)])]
    return [g * block.activation[1](a)]


@dataclass(frozen=True)
class Shares:
    """The gradient (T, D) in front of an add: what came past the branch, what came through it, and their sum."""

    at: str
    branch: str
    residual: np.ndarray
    through: np.ndarray

    @property
    def together(self) -> np.ndarray:
        return self.residual + self.through


def shares(block: ComputedBlock, row: int, column: int) -> list[Shares]:
    """The gradient of one number of the end in front of both adds, the last add first."""
    by, shares = back(block, row, column), []
    for stream, branch, total in reversed(block.adds):
        through = [gradient for name, gradient in by[stream].items() if name != total]
        shares.append(Shares(stream, branch, by[stream][total], np.sum(through, axis=0)))
    return shares


def with_change(inputs: Mapping[str, np.ndarray], token: int, by: float) -> dict[str, np.ndarray]:
    """The inputs with a number added to one token's first feature."""
    embedding = inputs["embedding"].astype(float)
    embedding[token, 0] += by
    return {**inputs, "embedding": embedding}


def moved(before: ComputedBlock, after: ComputedBlock) -> dict[str, np.ndarray]:
    """How far each row of every operation moved, the largest change of a number (T,)."""
    return {name: np.abs(after.values[name] - before.values[name]).max(1) for name in before.operations}


def moved_alone(block: ComputedBlock, token: int, by: float) -> dict[str, np.ndarray]:
    """How far each row (T,) of four kinds of operation moves if only one row of what it reads moves, in feature 1."""
    (stream, attention, total), (_, feed_forward, _) = block.adds
    norm = next(name for name, operation in block.operations.items() if operation.kind == "norm")
    steps = {
        "attention": (block.operations["Q"].reads[0], attention),
        "add": (stream, total),
        "norm": (block.operations[norm].reads[0], norm),
        "feed-forward": (block.operations["hidden"].reads[0], feed_forward),
    }
    return {name: _alone(block, start, end, token, by) for name, (start, end) in steps.items()}


def _alone(block: ComputedBlock, start: str, end: str, token: int, by: float) -> np.ndarray:
    """How far the rows of `end` move with a number of `start`; an add's branch stays as it was."""
    values = dict(block.values)
    values[start] = values[start].copy()
    values[start][token, 0] += by
    if block.operations[end].kind == "add":
        between = [end]
    else:
        names = list(block.operations)
        between = names[names.index(start) + 1 : names.index(end) + 1]
    for name in between:
        values[name] = _apply(block, name, values)
    return np.asarray(np.abs(values[end] - block.values[end]).max(1))
