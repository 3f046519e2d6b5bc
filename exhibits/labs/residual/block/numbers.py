"""A transformer block on a few tokens: every operation, the terms of a number, and backpropagation. numpy, float64.

Legend: T tokens (rows), D features, K entries of a query, V of a value, H hidden units.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.labs.attention import attention_mask, softmax
from models.labs.normalization import normalise
from models.labs.normalization_laws import jacobian

Curve = Callable[[np.ndarray], np.ndarray]
EPS = 1e-5
PLACEMENTS = ("post-norm", "pre-norm")
MAX_TOKENS = 6
MAX_FEATURES = 8  # also bounds K, V and H

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
    """An operation: its kind, such as "times" or "softmax", and the names of the one or two tables it reads."""

    kind: str
    reads: tuple[str, ...]


class Add(NamedTuple):
    """Tables of an add: the stream before it, the branch, and their sum."""

    stream: str
    branch: str
    total: str


@dataclass(frozen=True)
class ComputedBlock:
    """All tables of a block by name, including inputs and matrices, and its operations in order.

    `activation`: the function and its derivative.
    """

    values: Mapping[str, np.ndarray]
    operations: dict[str, Operation]
    activation: tuple[Curve, Curve]
    causal: bool

    @property
    def adds(self) -> tuple[Add, Add]:
        """Names of the tables of both adds."""
        (stream_1, branch_1), (stream_2, branch_2) = (self.operations[total].reads for total in ("sum 1", "sum 2"))
        return Add(stream_1, branch_1, "sum 1"), Add(stream_2, branch_2, "sum 2")

    @property
    def output(self) -> str:
        """Name of the block's output."""
        return next(reversed(self.operations))


@dataclass(frozen=True)
class Terms:
    """How an operation of kind `kind` computes one number: sum of `left` times `right`, divided by `divisor`."""

    kind: str
    left: np.ndarray
    right: np.ndarray
    divisor: float
    value: float


def operations(placement: str) -> dict[str, Operation]:
    """The operations of a block with one of PLACEMENTS, by the name of their result, in forward order."""
    post = placement == "post-norm"
    attention_input = "x" if post else "norm 1"
    feed_forward_input = "norm 1" if post else "norm 2"
    branch_1 = {
        "Q": Operation("times", (attention_input, "W_Q")),
        "K": Operation("times", (attention_input, "W_K")),
        "V": Operation("times", (attention_input, "W_V")),
        "scores": Operation("scores", ("Q", "K")),
        "weights": Operation("softmax", ("scores",)),
        "mix": Operation("times", ("weights", "V")),
        "attention": Operation("times", ("mix", "W_O")),
    }
    branch_2 = {
        "hidden": Operation("times", (feed_forward_input, "W_1")),
        "active": Operation("activation", ("hidden",)),
        "feed-forward": Operation("times", ("active", "W_2")),
    }
    add_1 = {"sum 1": Operation("add", ("x", "attention"))}
    add_2 = {"sum 2": Operation("add", ("norm 1" if post else "sum 1", "feed-forward"))}
    norm_1 = {"norm 1": Operation("norm", ("sum 1" if post else "x",))}
    norm_2 = {"norm 2": Operation("norm", ("sum 2" if post else "sum 1",))}
    entry = {"x": Operation("add", ("embedding", "position"))}
    if post:
        return entry | branch_1 | add_1 | norm_1 | branch_2 | add_2 | norm_2
    return entry | norm_1 | branch_1 | add_1 | norm_2 | branch_2 | add_2


def forward(
    inputs: Mapping[str, np.ndarray], *, placement: str, activation: tuple[Curve, Curve], causal: bool = False
) -> ComputedBlock:
    """The block on embedding and position (T, D) with W_Q, W_K (D, K), W_V (D, V), W_O (V, D), W_1 (D, H), W_2 (H, D).

    One head, no biases, no gains.
    """
    values = {name: np.asarray(table, float) for name, table in inputs.items()}
    block = ComputedBlock(values, operations(placement), activation, causal)
    for name in block.operations:
        values[name] = _apply(block, name, values)
    return block


def _apply(block: ComputedBlock, name: str, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Result of one operation on the tables in `values`."""
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
            return softmax(np.where(attention_mask(*a.shape, causal=block.causal), a, -np.inf))
        case "norm":
            return normalise(a, "layer norm", eps=EPS).values
    return block.activation[0](a)


def terms(block: ComputedBlock, name: str, row: int, column: int) -> Terms:
    """Terms of the number at (row, column) of an operation's table."""
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
            mask = attention_mask(*a.shape, causal=block.causal)[row]
            exponentials = np.where(mask, np.exp(a[row] - a[row][mask].max()), 0.0)
            left, divisor = exponentials[[column]], float(exponentials.sum())
        case "norm":
            left, right = np.array([a[row, column], a[row].mean()]), np.array([1.0, -1.0])
            divisor = float(np.sqrt(a[row].var() + EPS))
        case _:
            left = a[row, [column]]
    return Terms(operation.kind, left, right, divisor, float(values[name][row, column]))


def gradients_by_operation(block: ComputedBlock, row: int, column: int) -> dict[str, dict[str, np.ndarray]]:
    """Gradients of one number of the output at every table, as {table: {operation that reads it: gradient}}.

    The gradients by all operations add up to the gradient at the table.
    """
    at_output = np.zeros_like(block.values[block.output])
    at_output[row, column] = 1.0
    gradients: dict[str, dict[str, np.ndarray]] = {block.output: {"": at_output}}
    for name in reversed(block.operations):
        upstream = np.sum([*gradients[name].values()], axis=0)
        operation = block.operations[name]
        operand_gradients = _operand_gradients(block, name, upstream)
        for table, gradient in zip(operation.reads, operand_gradients, strict=True):
            gradients.setdefault(table, {})[name] = gradient
    return gradients


def _operand_gradients(block: ComputedBlock, name: str, upstream: np.ndarray) -> list[np.ndarray]:
    """Gradient at each table that an operation reads, from the upstream gradient at its result."""
    operation, out = block.operations[name], block.values[name]
    a, *others = (block.values[read] for read in operation.reads)
    match operation.kind:
        case "add":
            return [upstream, upstream]
        case "times":
            return [upstream @ others[0].T, a.T @ upstream]
        case "scores":
            root = a.shape[1] ** 0.5
            return [upstream @ others[0] / root, upstream.T @ a / root]
        case "softmax":
            return [out * (upstream - (out * upstream).sum(1, keepdims=True))]
        case "norm":
            rows = zip(a, upstream, strict=True)
            return [np.array([jacobian(token, "layer norm", EPS) @ gradient for token, gradient in rows])]
    return [upstream * block.activation[1](a)]


@dataclass(frozen=True)
class AddGradient:
    """Gradient (T, D) at the stream before an add: past the branch, through it, and their sum."""

    stream: str
    branch: str
    residual: np.ndarray
    through_branch: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.residual + self.through_branch


def add_gradients(block: ComputedBlock, row: int, column: int) -> list[AddGradient]:
    """Gradient of one number of the output before both adds, last add first."""
    gradients = gradients_by_operation(block, row, column)
    at_adds = []
    for stream, branch, total in reversed(block.adds):
        through = [gradient for name, gradient in gradients[stream].items() if name != total]
        at_adds.append(AddGradient(stream, branch, gradients[stream][total], np.sum(through, axis=0)))
    return at_adds


def perturbed_inputs(inputs: Mapping[str, np.ndarray], token: int, delta: float) -> dict[str, np.ndarray]:
    """The inputs with `delta` added to one token's first feature."""
    embedding = inputs["embedding"].astype(float)
    embedding[token, 0] += delta
    return {**inputs, "embedding": embedding}


def row_changes(before: ComputedBlock, after: ComputedBlock) -> dict[str, np.ndarray]:
    """Largest change in each row of every operation, (T,)."""
    return {name: np.abs(after.values[name] - before.values[name]).max(1) for name in before.operations}


def operation_row_changes(block: ComputedBlock, token: int, delta: float) -> dict[str, np.ndarray]:
    """Row changes (T,) of four kinds of operation when only feature 1 of one row of their input changes by `delta`."""
    attention_add, feed_forward_add = block.adds
    norm = next(name for name, operation in block.operations.items() if operation.kind == "norm")
    steps = {
        "attention": (block.operations["Q"].reads[0], attention_add.branch),
        "add": (attention_add.stream, attention_add.total),
        "norm": (block.operations[norm].reads[0], norm),
        "feed-forward": (block.operations["hidden"].reads[0], feed_forward_add.branch),
    }
    return {name: _row_changes_at(block, start, end, token, delta) for name, (start, end) in steps.items()}


def _row_changes_at(block: ComputedBlock, start: str, end: str, token: int, delta: float) -> np.ndarray:
    """Row changes (T,) of table `end` when table `start` changes by `delta`; the branch of an add stays fixed."""
    values = dict(block.values)
    values[start] = values[start].copy()
    values[start][token, 0] += delta
    if block.operations[end].kind == "add":
        recomputed = [end]
    else:
        names = list(block.operations)
        recomputed = names[names.index(start) + 1 : names.index(end) + 1]
    for name in recomputed:
        values[name] = _apply(block, name, values)
    return np.asarray(np.abs(values[end] - block.values[end]).max(1))
