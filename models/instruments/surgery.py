"""Results on the held-out split, of a net as it is and with sublayers skipped (Veit 2016, 1605.06431)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.nets import IdentitySublayer, Net
from models.nets.stacks import Stack
from models.spec.plan import block_name
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.training import cross_entropy
from models.training.modes import eval_mode

Replacements = dict[str, nn.Module]  # new modules by their path in the stack


class HeldOut(NamedTuple):
    """Loss and accuracy on the held-out split, and the answers (N,) at the positions that take a loss."""

    loss: float
    accuracy: float
    answers: Tensor


@torch.no_grad()
def evaluate_held_out(model: Net, task: TaskData) -> HeldOut:
    """Evaluates the held-out split in eval mode."""
    x, y = task.held_out
    with eval_mode(model):
        logits = model(x)
    has_loss = y != NO_LOSS
    answers = logits.argmax(-1)[has_loss]
    return HeldOut(cross_entropy(logits, y).item(), (answers == y[has_loss]).float().mean().item(), answers)


def curves(results: Sequence[HeldOut]) -> tuple[np.ndarray, np.ndarray]:
    """Losses and accuracies of several evaluations."""
    return np.array([result.loss for result in results]), np.array([result.accuracy for result in results])


def skip_replacements(net: Stack, block: int, only_kind: str = "") -> Replacements:
    """The replacements that skip every sublayer of a block, or only the one of kind `only_kind`.

    ResiDual then collects nothing there; in DLCL the block outputs the sum that it reads.
    """
    kinds = [kind for kind in children_of_block(net, block) if only_kind in ("", kind)]
    return {f"{block_path(block)}.{kind}": IdentitySublayer() for kind in kinds}


@contextmanager
def replaced(net: nn.Module, replacements: Mapping[str, nn.Module]) -> Iterator[None]:
    """Replaces modules of a net within a `with` block."""
    originals = {path: net.get_submodule(path) for path in replacements}
    _set_modules(net, replacements)
    try:
        yield
    finally:
        _set_modules(net, originals)


def _set_modules(net: nn.Module, modules: Mapping[str, nn.Module]) -> None:
    for path, module in modules.items():
        parent, _, name = path.rpartition(".")
        net.get_submodule(parent)._modules[name] = module


def block_path(block: int) -> str:
    return f"blocks.{block_name(block)}"


def children_of_block(net: Stack, block: int) -> dict[str, nn.Module]:
    return dict(net.get_submodule(block_path(block)).named_children())
