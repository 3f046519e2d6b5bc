"""The blocks of a model's weights, in order of depth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import nn

from addnorm.compiled import plain_name
from addnorm.sites import Site
from addnorm.trace import Graph

MAX_PARTS = 3  # submodules listed in a block's name; "..." stands for the rest


@dataclass(frozen=True)
class Block:
    """The weight matrices that a site, by its index, is the first to depend on; biases and gains are left out.

    `site` is the number of sites for matrices that come in after the last one.
    """

    name: str
    site: int
    parameters: tuple[str, ...]


def blocks_of(graph: Graph, sites: Sequence[Site], model: nn.Module) -> list[Block]:
    """A block for each site that is the first to depend on some matrices, and one for matrices behind all sites."""
    left = everything = frozenset(matrices(model))
    blocks = []
    used = [graph.parameters(before=graph.nodes[site.node]) for site in sites]
    for at, before in enumerate([*used, graph.parameters()]):
        if names := tuple(name for name in before if name in left):
            left -= set(names)
            blocks.append(Block(_common_name(names, everything - set(names)), at, names))
    return blocks


def blocks_by_name(model: nn.Module) -> list[Block]:
    """Blocks of matrices whose names are equal up to the first number, for a model that was not traced.

    There are no sites: `site` is the index of the block.
    """
    groups: dict[str, list[str]] = {}
    for name in matrices(model):
        parts = name.split(".")[:-1]
        number = next((at for at, part in enumerate(parts) if part.isdigit()), len(parts) - 1)
        groups.setdefault(".".join(parts[: number + 1]) or name, []).append(name)
    return [Block(plain_name(name), at, tuple(names)) for at, (name, names) in enumerate(groups.items())]


def matrices(model: nn.Module) -> list[str]:
    """Names of the trained parameters with two axes or more."""
    return [name for name, p in model.named_parameters() if p.requires_grad and p.ndim > 1]


def _common_name(parameters: Sequence[str], others: Iterable[str] = ()) -> str:
    """The module that some parameters lie in; where `others` lie there too, its parts that they lie in."""
    split = [name.split(".")[:-1] or [name] for name in parameters]
    shared = []
    for words in zip(*split, strict=False):
        if len(set(words)) > 1:
            break
        shared.append(words[0])
    name = ".".join(shared)
    if name and not any(other.startswith(f"{name}.") for other in others):
        return plain_name(name)
    parts = list(dict.fromkeys(words[len(shared)] for words in split if len(words) > len(shared)))
    listed = parts[:MAX_PARTS] + (["..."] if len(parts) > MAX_PARTS else [])
    return plain_name(".".join([*shared, ", ".join(listed)]).rstrip("."))
