"""The blocks of a model's weights, in order of depth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from torch import nn

from addnorm.compiled import plain_name
from addnorm.sites import Site
from addnorm.trace import Graph

MAX_PARTS = 3  # submodules listed in a block's name; "..." stands for the others


@dataclass(frozen=True)
class Block:
    """Weight matrices between two sites; biases and gains belong to no block.

    `site` is the index of the first site that depends on them, or the number of sites if none does.
    """

    name: str
    site: int
    parameters: tuple[str, ...]


def blocks_of(graph: Graph, sites: Sequence[Site], model: nn.Module, resting: Collection[int] = ()) -> list[Block]:
    """Blocks of a traced pass, in order of depth: each matrix belongs to the first site that depends on it.

    Matrices used only after the last site form a block of their own.
    """
    remaining = everything = frozenset(trained_matrices(model, resting))
    blocks = []
    used_before = [graph.parameters(before=graph.nodes[site.node]) for site in sites]
    for index, parameters in enumerate([*used_before, graph.parameters()]):
        if names := tuple(name for name in parameters if name in remaining):
            remaining -= set(names)
            blocks.append(Block(_common_name(names, everything - set(names)), index, names))
    return blocks


def blocks_by_name(model: nn.Module, resting: Collection[int] = ()) -> list[Block]:
    """Blocks of a model that was not traced: matrices whose names agree up to the first number.

    There are no sites: `site` is the index of the block.
    """
    groups: dict[str, list[str]] = {}
    for name in trained_matrices(model, resting):
        parts = name.split(".")[:-1]
        end = next((index for index, part in enumerate(parts) if part.isdigit()), len(parts) - 1)
        groups.setdefault(".".join(parts[: end + 1]) or name, []).append(name)
    return [Block(plain_name(name), index, tuple(names)) for index, (name, names) in enumerate(groups.items())]


def trained_matrices(model: nn.Module, resting: Collection[int] = ()) -> list[str]:
    """Names of the matrices that are trained, or whose ids are those of an optimizer that is `resting`."""
    return [name for name, p in model.named_parameters() if (p.requires_grad or id(p) in resting) and p.ndim > 1]


def _common_name(parameters: Sequence[str], others: Iterable[str] = ()) -> str:
    """The innermost module that contains all parameters: "blocks.0".

    If it contains any of `others` too, the name lists the submodules that hold the parameters: "blocks.0.q, k".
    """
    paths = [name.split(".")[:-1] or [name] for name in parameters]
    common = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    name = ".".join(common)
    if name and not any(other.startswith(f"{name}.") for other in others):
        return plain_name(name)
    submodules = list(dict.fromkeys(path[len(common)] for path in paths if len(path) > len(common)))
    listed = submodules[:MAX_PARTS] + (["..."] if len(submodules) > MAX_PARTS else [])
    return plain_name(".".join([*common, ", ".join(listed)]).rstrip("."))
