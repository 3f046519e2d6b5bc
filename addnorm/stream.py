"""The residual stream in a traced forward pass: its residual additions and the points after them.

An addition of two tensors of one shape with a common ancestor is residual if their paths from it differ in calls with
parameters; the shorter path is the skip. The tensor that the next addition skips from is a point of the stream, so a
norm or an activation right after an addition belongs to it. Several streams that a call mixes are one tensor, from
before the mixing on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import permutations

from addnorm.sums import ADDITIONS_IN_PLACES, CHOICES, CONCATENATIONS, SUBTRACTIONS
from addnorm.trace import Graph, Node

MAX_SHORTCUT_CALLS = 2  # calls with parameters on a skip that changes the shape: a convolution and its norm
MAX_CALLS_AFTER_ADDITION = 12  # calls from an addition to its point: a norm written out, activation, dropout, views
MAX_SEARCHED_ANCESTORS = 512  # in the search for the source of a skip
MAX_INNER_ADDITIONS = 2  # additions inside a branch; a skip around more of them is a long skip
ELEMENTWISE = {"mul", "rmul", "imul", "add", "radd", "iadd"}

OpPath = tuple[tuple[str, str], ...]  # calls, each with the name of its module, in which # replaces numbers


@dataclass(frozen=True)
class Residual:
    """A residual addition of a skip and a branch, both computed from `source`.

    The branch has calls with parameters that the skip lacks. If the skip has some as well, it is `projected`: a
    shortcut that changes the shape.
    """

    node: Node
    source: Node
    branch: Node
    projected: bool


def stream_points(graph: Graph) -> list[tuple[Node, Residual | None]]:
    """The points of the stream in order, each with the residual addition before it: None at the start of a stream."""
    residuals = {residual.node.index: residual for residual in residuals_of(graph)}
    point_after: dict[int, Node] = {}  # by addition
    points: dict[int, tuple[Node, Residual | None]] = {}
    for residual in residuals.values():
        source = _before_mixing(residual)
        origin = _addition_before(source, residuals)
        if origin is None:
            points[source.index] = (source, None)
        elif origin not in point_after or source.index < point_after[origin].index:
            point_after[origin] = source
    paths_to_points = [_path_between(residuals[index].node, point) or () for index, point in point_after.items()]
    for index, residual in residuals.items():
        point = point_after[index] if index in point_after else _last_point(residual.node, paths_to_points)
        points[point.index] = (point, residual)
    return [points[index] for index in sorted(points)]


def reads_over_depth(graph: Graph) -> bool:
    """Whether calls put the same first tensor together with more and more later ones: attention over depth."""
    first: dict[int, set[int]] = {}
    for node in graph.nodes:
        if node.op in CONCATENATIONS and len(node.parents) > 1:
            first.setdefault(_base(node.parents[0]).index, set()).add(len(node.parents))
    return any(len(counts) > 1 for counts in first.values())


def _base(node: Node) -> Node:
    """The tensor of which a node is a view."""
    while node.alias:
        node = node.parents[0]
    return node


def _is_put_together(node: Node) -> bool:
    """Whether a sum is one of several tensors that are put together, or what is made of such."""
    readers = (reader for child in node.children for reader in (child, *child.children))
    return any(reader.op in CONCATENATIONS for reader in (*readers, *node.parents))


def residuals_of(graph: Graph) -> list[Residual]:
    """The residual additions of a pass, in order. In a sum of several terms, only the last addition counts."""
    additions = {node.index: node for node in graph.additions}
    used = _parametrised_ancestors(graph)
    residuals = [residual for node in graph.additions if (residual := _residual(node, additions, used)) is not None]
    by_node = {residual.node.index: residual for residual in residuals}
    complete = [residual for residual in residuals if not _is_term(residual.node, by_node)]
    if reads_over_depth(graph) and all(_is_put_together(residual.node) for residual in complete):
        return []
    plain = [residual for residual in complete if not residual.projected]
    return [residual for residual in complete if not _is_detail(residual, plain)]


def is_on_branch(node: Node, residual: Residual) -> bool:
    """Whether a tensor lies on the branch of an addition, after the branch has left the stream."""
    lies_between = residual.branch.ancestors >> node.index & 1 and node.ancestors >> residual.source.index & 1
    return bool(lies_between) and node is not residual.source


def sole_reader(node: Node) -> Node | None:
    """The call that reads a tensor; None unless there is exactly one."""
    return node.children[0] if len({child.index for child in node.children}) == 1 else None


def is_within(name: str, owner: str) -> bool:
    """Whether a module is `owner` or inside it."""
    return name == owner or not owner or name.startswith(f"{owner}.")


def _parametrised_ancestors(graph: Graph) -> int:
    """A bit mask of the nodes that calls with parameters depend on."""
    mask = 0
    for node in graph.nodes:
        if node.parametrised:
            mask |= node.ancestors
    return mask


def _residual(node: Node, additions: Mapping[int, Node], used: int) -> Residual | None:
    """The residual addition that a node computes; None for any other node.

    A difference is one if a later call with parameters depends on it: else it may be an error that the model's loss is
    made of. Neither a difference nor what adds in places, as experts do, has a projected skip. `used`: the nodes that
    such calls depend on.
    """
    is_difference = node.op in SUBTRACTIONS
    has_plain_skip = is_difference or node.op in CHOICES or node.op.removesuffix("_") in ADDITIONS_IN_PLACES
    terms = node.terms
    if any(term.shape != node.shape for term in terms) or len({term.index for term in terms}) < 2:
        return None
    if is_difference and not used >> node.index & 1:
        return None
    expanded = [list(_terms(term, additions)) for term in terms]
    pairs = [
        (skip, branch)
        for first, second in permutations(range(len(terms)), 2)
        for skip in expanded[first]
        for branch in expanded[second]
    ]
    candidates = (_residual_of_pair(node, skip, branch) for skip, branch in pairs)
    return min(
        (residual for residual in candidates if residual is not None and not (has_plain_skip and residual.projected)),
        key=lambda residual: (residual.projected, residual.source.index),
        default=None,
    )


def _terms(node: Node, additions: Mapping[int, Node]) -> Iterator[Node]:
    """A tensor and, if it is a sum that no other call reads, the terms of this sum."""
    yield node
    if node.index in additions and sole_reader(node) is not None:
        for term in node.terms:
            if term.shape == node.shape:
                yield from _terms(term, additions)


def _residual_of_pair(node: Node, skip: Node, branch: Node) -> Residual | None:
    """The residual addition of this skip and this branch; None if the two tensors are not a skip and a branch."""
    common = skip.ancestors & branch.ancestors
    nearest: Node | None = None
    for source in _latest_first(skip):
        if common >> source.index & 1:
            nearest = nearest or source
            if source.ops == skip.ops and branch.ops & ~source.ops:
                return Residual(node, source, branch, projected=False)
    if nearest is None:
        return None
    skip_calls = (skip.ops & ~nearest.ops).bit_count()
    branch_calls = (branch.ops & ~nearest.ops).bit_count()
    is_shortcut = 1 <= skip_calls <= MAX_SHORTCUT_CALLS and skip_calls < branch_calls
    return Residual(node, nearest, branch, projected=True) if is_shortcut else None


def _latest_first(node: Node) -> Iterator[Node]:
    """A tensor and up to MAX_SEARCHED_ANCESTORS of its ancestors, the latest first."""
    queue = [(-node.index, node)]
    queued = {node.index}
    for _ in range(MAX_SEARCHED_ANCESTORS):
        if not queue:
            return
        _, latest = heappop(queue)
        yield latest
        for parent in latest.parents:
            if parent.index not in queued:
                queued.add(parent.index)
                heappush(queue, (-parent.index, parent))


def _is_term(node: Node, residuals: Mapping[int, Residual]) -> bool:
    """Whether an addition is a partial sum, to which the next addition adds another branch, or in places the sum."""
    reader = sole_reader(node)
    if reader is not None and reader.op in CHOICES and (choice := sole_reader(reader)) and reader in choice.terms:
        return True
    if reader is None or reader.index not in residuals:
        return False
    return not residuals[reader.index].branch.ancestors >> node.index & 1


def _is_detail(residual: Residual, plain: Sequence[Residual]) -> bool:
    """Whether an addition is a detail inside a branch: a sum of projections, or one of another shape.

    The many additions inside a long skip are no details.
    """
    for outer in plain:
        if outer is not residual and is_on_branch(residual.node, outer):
            inner = sum(is_on_branch(other.node, outer) for other in plain if other is not outer)
            has_other_shape = residual.node.shape != outer.node.shape
            if (residual.projected and not inner) or (has_other_shape and inner <= MAX_INNER_ADDITIONS):
                return True
    return False


def _before_mixing(residual: Residual) -> Node:
    """The source of an addition; where it lies inside the mixing of several streams, what these were before.

    That is the nearest tensor of as many numbers as the sum that all of the sum is computed from.
    """
    node, source = residual.node, residual.source
    if _dominates(source, node) if residual.projected else source.numel == node.numel:
        return source
    alike = (earlier for earlier in _latest_first(node) if earlier.numel == node.numel)
    return next((earlier for earlier in alike if earlier.index < source.index and _dominates(earlier, node)), source)


def _dominates(source: Node, node: Node) -> bool:
    """Whether every path to a node from what a source is computed from leads through the source."""
    waiting, seen = [node], {node.index, source.index}
    while waiting:
        for parent in waiting.pop().parents:
            if parent.index not in seen:
                if source.ancestors >> parent.index & 1:
                    return False
                seen.add(parent.index)
                waiting.append(parent)
    return True


def _addition_before(point: Node, residuals: Mapping[int, Residual]) -> int | None:
    """The index of the residual addition that a tensor comes from, at most by a norm, an activation or the like.

    None without such an addition.
    """
    earlier = [index for index in residuals if point.ancestors >> index & 1]
    if not earlier or _path_between(residuals[earlier[-1]].node, point) is None:
        return None
    return earlier[-1]


def _path_between(addition: Node, point: Node) -> OpPath | None:
    """The calls that compute a point from an addition alone; None if one of them mixes features."""
    between: dict[int, Node] = {}
    waiting = [point]
    while waiting:
        node = waiting.pop()
        if node is addition or node.index in between:
            continue
        mixes = node.parametrised and not ("norm" in node.op or node.op.strip("_") in ELEMENTWISE)
        is_too_far = node.index < addition.index or len(between) > MAX_CALLS_AFTER_ADDITION
        if mixes or is_too_far or not node.parents or point.numel != addition.numel:
            return None
        between[node.index] = node
        waiting += node.parents
    return tuple(_call(between[index]) for index in sorted(between))


def _call(node: Node) -> tuple[str, str]:
    """A call and its module: ("layer_norm", "blocks.#.norm")."""
    return node.op, re.sub(r"\d+", "#", node.owner)


def _last_point(addition: Node, paths_to_points: Sequence[OpPath]) -> Node:
    """The point after an addition from which no skip leaves: the end of the path most common after other additions.

    Each call of the path must be made in the module that adds, or in a module named as in that path. If a call is
    missing, the addition itself is the point.
    """
    path = [addition]
    waiting = sorted(addition.children, key=lambda child: child.index)
    for op, owner in max(sorted(set(paths_to_points)), key=paths_to_points.count, default=()):
        ready = (node for node in waiting if node.op == op and all(parent in path for parent in node.parents))
        fitting = (node for node in ready if is_within(node.owner, addition.owner) or _call(node)[1] == owner)
        node = next(fitting, None)
        if node is None:
            return addition
        path.append(node)
        waiting = sorted({*waiting, *node.children} - {node}, key=lambda child: child.index)
    return path[-1]
