"""Results on the held-out split, of a net as it is and with sublayers skipped (Veit 2016, 1605.06431)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.answers import Sublayers, Without
from models.nets import IdentitySublayer, Net
from models.nets.stacks import Stack
from models.spec.overrides import PARTS
from models.spec.plan import block_name
from models.tasks import TaskData
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work, cross_entropy
from models.training.modes import eval_mode

Replacements = dict[str, nn.Module]  # new modules by their path in the stack


def sublayer_lesions(snapshot: Snapshot) -> Work[Sublayers]:
    """Evaluates the held-out split with attention or feed-forward net skipped, in each block and in all of them.

    ValueError for a net other than a transformer.
    """
    net, blocks = snapshot.model.stream, range(1, snapshot.cfg.depth + 1)
    if snapshot.cfg.net != "transformer":
        raise ValueError(f"net is {snapshot.cfg.net!r}; only a transformer has attention and feed-forward nets")
    intact = evaluate_held_out(snapshot.model, snapshot.task)
    without: dict[str, Without] = {}
    for kind_index, kind in enumerate(PARTS):
        results: list[HeldOut] = []
        in_all_blocks: Replacements = {}
        for block in blocks:
            replacements = skip_replacements(net, block, kind)
            in_all_blocks |= replacements
            with replaced(net, replacements):
                results.append(evaluate_held_out(snapshot.model, snapshot.task))
            yield (kind_index + block / snapshot.cfg.depth) / len(PARTS)
        with replaced(net, in_all_blocks):
            all_skipped = evaluate_held_out(snapshot.model, snapshot.task)
        without[kind] = Without(*curves(results), all_skipped.loss, all_skipped.accuracy)
    return Sublayers(intact.loss, intact.accuracy, without)


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
