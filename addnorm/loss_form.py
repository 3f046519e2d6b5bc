"""What kind of loss `backward` is called on, from the end of autograd's graph: cross-entropy, regression or another."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from addnorm.format import CLASSES, NUMBERS, OTHER, YES_OR_NO

KINDS = {
    "NllLossBackward0": CLASSES,
    "NllLoss2DBackward0": CLASSES,
    "MseLossBackward0": NUMBERS,
    "L1LossBackward0": NUMBERS,
    "SmoothL1LossBackward0": NUMBERS,
    "HuberLossBackward0": NUMBERS,
    "BinaryCrossEntropyWithLogitsBackward0": YES_OR_NO,
    "BinaryCrossEntropyBackward0": YES_OR_NO,
}
FROM_LOGITS = {"NllLossBackward0", "NllLoss2DBackward0", "BinaryCrossEntropyWithLogitsBackward0"}
SUM, SCALING = ("Add", "Sub"), ("Mul", "Div")
REDUCED = ("Mean", "Sum")
VIEWS = (
    "View", "UnsafeView", "Reshape", "Transpose", "Permute", "T", "Squeeze", "Unsqueeze", "Slice", "Select", "ToCopy",
    "Clone", "Alias", "AsStrided", "Expand",
)  # fmt: skip
MAX_NODES = 64  # of the graph that are looked at
MEAN, TOTAL = 1, 2  # torch's codes of a reduction; 0 is none


@dataclass(frozen=True)
class LossForm:
    """Kind of a loss and what was measured of it.

    `classes`: of a cross-entropy. `of_probabilities`: the loss expects logits and gets probabilities. `is_mean`: it is
    a mean over samples that nothing divides any more. `cross_entropy`: its mean. `target`: what the output should be.
    """

    kind: int = OTHER
    classes: int = 0
    of_probabilities: bool = False
    is_mean: bool = False
    cross_entropy: Tensor | None = None
    target: Tensor | None = None


def loss_form(loss: Tensor, outputs: Collection[Any]) -> LossForm:
    """The form of a loss before `backward`. `outputs`: autograd's nodes of the model's outputs."""
    loss_nodes = list(_loss_nodes(loss.grad_fn))
    of_probabilities = any(_is_of_probabilities(node) for node, *_ in loss_nodes)
    if len(loss_nodes) == 1:
        node, is_alone, is_scaled = loss_nodes[0]
        if is_alone and node._saved_reduction in (MEAN, TOTAL) and _reads(node, outputs):
            kind = KINDS[_name(node)]
            is_mean = not is_scaled and node._saved_reduction == MEAN
            target = node._saved_target
            if kind != CLASSES:
                return LossForm(kind, 0, of_probabilities, is_mean, None, target)
            classes = node._saved_self.shape[1 if node._saved_self.ndim > 1 else 0]
            return LossForm(kind, classes, of_probabilities, is_mean, _mean_of(node), target)
    return LossForm(of_probabilities=of_probabilities)


def _name(node: Any) -> str:
    return str(node.name())


def _is(node: Any, stems: tuple[str, ...]) -> bool:
    """Whether a node is of one of these operations: "AddBackward0" of "Add"."""
    return _name(node).partition("Backward")[0] in stems


def _parents(node: Any) -> list[Any]:
    return [parent for parent, _ in node.next_functions if parent is not None]


def _loss_nodes(root: Any) -> Iterator[tuple[Any, bool, bool]]:
    """The loss functions that a loss is made of: each with whether it is the only term, and whether it is scaled."""
    waiting = [(root, True, False)]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        node, is_alone, is_scaled = waiting.pop()
        if node is None:
            continue
        if _name(node) in KINDS:
            yield node, is_alone, is_scaled
        elif _is(node, SUM + SCALING + REDUCED + VIEWS):
            parents = _parents(node)
            is_alone = is_alone and len(parents) == 1 and not _is(node, SUM)
            waiting += [(parent, is_alone, is_scaled or _is(node, SCALING)) for parent in parents]


def _inputs_of(node: Any) -> Iterator[Any]:
    """What a loss function reads, through views and the softmax that belongs to it, the latest first."""
    for _ in range(MAX_NODES):
        parents = _parents(node)
        if not parents:
            return
        node = parents[0]
        yield node
        if not _is(node, (*VIEWS, "LogSoftmax", "Softmax", "Sigmoid", "LogSigmoid")):
            return


def _is_of_probabilities(node: Any) -> bool:
    if _name(node) not in FROM_LOGITS:
        return False
    inputs = [inner for inner in _inputs_of(node) if not _is(inner, VIEWS)]
    if _name(node).startswith("Nll"):
        return len(inputs) > 1 and _is(inputs[0], ("LogSoftmax",)) and _is(inputs[1], ("Softmax", "Sigmoid"))
    return bool(inputs) and _is(inputs[0], ("Softmax", "Sigmoid"))


def _reads(node: Any, outputs: Collection[Any]) -> bool:
    return any(inner is output for inner in _inputs_of(node) for output in outputs)


@torch.no_grad()
def _mean_of(node: Any) -> Tensor:
    """The mean cross-entropy per label, whatever the loss's reduction is; NaN without a label."""
    log_probability = node._saved_self.detach()
    target = node._saved_target
    if log_probability.ndim == 1:
        log_probability, target = log_probability[None], target.reshape(1)
    is_counted = (target >= 0) & (target < log_probability.shape[1])  # the others are ignored
    chosen = log_probability.gather(1, target.clamp(0, log_probability.shape[1] - 1).unsqueeze(1)).squeeze(1)
    return -(chosen.float() * is_counted).sum() / is_counted.sum()
