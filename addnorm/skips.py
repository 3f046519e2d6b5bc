"""Finds the blocks of a traced pass that lack a skip which the other blocks of their kind have."""

from __future__ import annotations

import re
from typing import NamedTuple

from torch import nn

from addnorm.compiled import plain_name
from addnorm.stream import is_on_branch, residuals_of
from addnorm.trace import Graph, Node

MIN_PEERS = 2  # blocks with a skip, and as many times more of them than of those without


class Lack(NamedTuple):
    """A block without a skip that this many others of its kind have."""

    name: str
    peers: int


def lacking_skips(graph: Graph, model: nn.Module) -> list[Lack]:
    """The blocks without a skip, the outermost of those inside each other.

    Blocks are of one kind if they have the same shapes of parameters, and names that differ in numbers alone. Blocks
    that a pass leaves out, or that change the shape of their input, lack nothing.
    """
    residuals = residuals_of(graph)
    if not residuals:
        return []
    inputs, outputs = _first_boundaries(graph)

    def is_bridged(block: str, path: str) -> bool:
        sums = (residual for residual in residuals if residual.node.shape == outputs[block].shape)
        return any(is_on_branch(outputs[path], residual) for residual in sums)

    def keeps_shape(name: str) -> bool:
        return name not in inputs or name not in outputs or inputs[name].shape == outputs[name].shape

    lacking: dict[str, int] = {}
    for blocks in _kinds(model).values():
        for part in _parts_of(blocks[0][1]):
            paths = {name: _join(name, part) for name, _ in blocks}
            flags = {name: is_bridged(name, path) for name, path in paths.items() if {name, path} <= outputs.keys()}
            without = [name for name, has_skip in flags.items() if not has_skip]
            peers = len(flags) - len(without)
            if not without or peers < MIN_PEERS * len(without):
                continue
            for name in without:
                if all(map(keeps_shape, [name, *_numbered_parents(name)])):
                    lacking.setdefault(name, peers)
    outermost = [name for name in lacking if not any(name.startswith(f"{other}.") for other in lacking)]
    return [Lack(plain_name(name), lacking[name]) for name in outermost]


def _first_boundaries(graph: Graph) -> tuple[dict[str, Node], dict[str, Node]]:
    """The first input and the first output of every module that was called, by its name."""
    inputs: dict[str, Node] = {}
    outputs: dict[str, Node] = {}
    for index, boundaries in graph.boundaries.items():
        for boundary in boundaries:
            if not boundary.place.is_base and not boundary.place.call:
                by_name = outputs if boundary.place.side == "output" else inputs
                by_name.setdefault(boundary.name, graph.nodes[index])
    return inputs, outputs


def _kinds(model: nn.Module) -> dict[object, list[tuple[str, nn.Module]]]:
    """The numbered modules with matrices, by shapes of parameters, also around them, and name without numbers."""
    kinds: dict[object, list[tuple[str, nn.Module]]] = {}
    for name, module in model.named_modules():
        if not re.search(r"\d", name.rpartition(".")[2]):
            continue
        shapes = _shapes(module)
        if any(len(shape) > 1 for shape in shapes):
            parents = tuple(_shapes(model.get_submodule(parent)) for parent in _numbered_parents(name))
            kinds.setdefault((shapes, parents, re.sub(r"\d+", "#", name)), []).append((name, module))
    return kinds


def _shapes(module: nn.Module) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(p.shape) for p in module.parameters())


def _numbered_parents(name: str) -> list[str]:
    """The modules around a module whose own names have a number."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts)) if re.search(r"\d", parts[end - 1])]


def _parts_of(block: nn.Module) -> list[str]:
    """Names, inside a block, of itself and of its modules with parameters."""
    return [name for name, module in block.named_modules() if next(module.parameters(), None) is not None]


def _join(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name
