"""The residual stream in a traced forward pass: which additions are residual, and the points of the stream after them.

An addition of two tensors of one shape with a common ancestor is residual where their paths from it differ in calls
with parameters; the shorter path is the skip. What the next addition skips from is a point of the stream, so a norm or
an activation right after an addition belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from addnorm.trace import Graph, Node

SHORTCUT = 2  # calls with parameters on a skip that changes the shape: a convolution and its norm
AFTER = 12  # calls between an addition and what the next one skips from: a norm written out, activation, dropout, views
ELEMENTWISE = {"mul", "rmul", "imul", "add", "radd", "iadd"}
SEARCHED = 512  # ancestors among which the source of a skip is looked for
FEW = 2  # additions inside a branch, at most; what goes around more is a long skip

Way = tuple[tuple[str, str], ...]  # calls, and the modules that make them with # for numbers


@dataclass(frozen=True)
class Residual:
    """A residual addition: from `source` on, the `branch` has calls with parameters that the skip lacks.

    `projected`: the skip has some too, a shortcut that changes the shape.
    """

    node: Node
    source: Node
    branch: Node
    projected: bool


def stream_points(graph: Graph) -> list[tuple[Node, Residual | None]]:
    """The tensors of the stream in order, each with the addition that it comes from; None where a stream starts."""
    residuals = {residual.node.at: residual for residual in residuals_of(graph)}
    after: dict[int, Node] = {}  # by addition, the point of the stream that it leads to
    points: dict[int, tuple[Node, Residual | None]] = {}
    for residual in residuals.values():
        source = residual.source
        origin = _addition_before(source, residuals)
        if origin is None:
            points[source.at] = (source, None)
        elif origin not in after or source.at < after[origin].at:
            after[origin] = source
    usual = [_way(residuals[at].node, point) or () for at, point in after.items()]
    for at, residual in residuals.items():
        point = after[at] if at in after else _last_point(residual.node, usual)
        points[point.at] = (point, residual)
    return [points[at] for at in sorted(points)]


def residuals_of(graph: Graph) -> list[Residual]:
    """The residual additions of a pass, in order. Of a sum of several terms the last addition counts."""
    additions = {node.at: node for node in graph.additions}
    residuals = [residual for node in graph.additions if (residual := _residual(node, additions)) is not None]
    by_node = {residual.node.at: residual for residual in residuals}
    whole = [residual for residual in residuals if not _is_term(residual.node, by_node)]
    plain = [residual for residual in whole if not residual.projected]
    return [residual for residual in whole if not _is_detail(residual, plain)]


def inside(node: Node, residual: Residual) -> bool:
    """Whether a tensor lies on the branch of an addition, after the branch has left the stream."""
    on_branch = residual.branch.ancestors >> node.at & 1 and node.ancestors >> residual.source.at & 1
    return bool(on_branch) and node is not residual.source


def only_reader(node: Node) -> Node | None:
    """The one call that reads a tensor; None where there are several or none."""
    return node.children[0] if len({child.at for child in node.children}) == 1 else None


def within(name: str, owner: str) -> bool:
    """Whether a module is another one or inside it."""
    return name == owner or not owner or name.startswith(f"{owner}.")


def _residual(node: Node, additions: Mapping[int, Node]) -> Residual | None:
    """An addition as a residual one; None where it is not."""
    left, right = node.parents
    if left.shape != node.shape or right.shape != node.shape or left is right:
        return None
    pairs = [(one, other) for one in _terms(left, additions) for other in _terms(right, additions)]
    candidates = (_skip_and_branch(node, *pair) for pair in pairs + [(other, one) for one, other in pairs])
    return min(
        (residual for residual in candidates if residual is not None),
        key=lambda residual: (residual.projected, residual.source.at),
        default=None,
    )


def _terms(node: Node, additions: Mapping[int, Node]) -> Iterator[Node]:
    """A tensor, then the terms that it is the sum of, unless something else reads the partial sums."""
    yield node
    if node.at in additions and only_reader(node) is not None:
        for parent in node.parents:
            if parent.shape == node.shape:
                yield from _terms(parent, additions)


def _skip_and_branch(node: Node, skip: Node, branch: Node) -> Residual | None:
    """An addition whose skip and branch would be these; None where they are not."""
    common = skip.ancestors & branch.ancestors
    top: Node | None = None
    for source in _nearest_first(skip):
        if common >> source.at & 1:
            top = top or source
            if source.ops == skip.ops and branch.ops & ~source.ops:
                return Residual(node, source, branch, projected=False)
    if top is None:
        return None
    on_skip, on_branch = ((side.ops & ~top.ops).bit_count() for side in (skip, branch))
    return Residual(node, top, branch, projected=True) if 1 <= on_skip <= SHORTCUT and on_skip < on_branch else None


def _nearest_first(node: Node) -> Iterator[Node]:
    """A tensor and its ancestors, the latest first."""
    waiting, seen = [(-node.at, node)], {node.at}
    for _ in range(SEARCHED):
        if not waiting:
            return
        _, latest = heappop(waiting)
        yield latest
        for parent in latest.parents:
            if parent.at not in seen:
                seen.add(parent.at)
                heappush(waiting, (-parent.at, parent))


def _is_term(node: Node, residuals: Mapping[int, Residual]) -> bool:
    """Whether an addition is only a term of the next one, which adds a further branch."""
    reader = only_reader(node)
    return reader is not None and reader.at in residuals and not residuals[reader.at].branch.ancestors >> node.at & 1


def _is_detail(residual: Residual, plain: Sequence[Residual]) -> bool:
    """Whether an addition is a detail of another's branch: a sum of projections, or one of another size.

    A long skip goes around many additions, which are no details of it.
    """
    for outer in plain:
        if outer is not residual and inside(residual.node, outer):
            others = sum(inside(other.node, outer) for other in plain if other is not outer)
            if (residual.projected and not others) or (residual.node.shape != outer.node.shape and others <= FEW):
                return True
    return False


def _addition_before(point: Node, residuals: Mapping[int, Residual]) -> int | None:
    """The residual addition of which a tensor is a function by a norm, an activation or the like, or itself."""
    before = [at for at in residuals if point.ancestors >> at & 1]
    return before[-1] if before and _way(residuals[before[-1]].node, point) is not None else None


def _way(addition: Node, point: Node) -> Way | None:
    """The calls that make a tensor of an addition and of nothing else; None where something mixes its features."""
    between: dict[int, Node] = {}
    waiting = [point]
    while waiting:
        node = waiting.pop()
        if node is addition or node.at in between:
            continue
        mixes = node.parametrised and not ("norm" in node.op or node.op.strip("_") in ELEMENTWISE)
        too_far = node.at < addition.at or len(between) > AFTER
        if mixes or too_far or not node.parents or point.numel != addition.numel:
            return None
        between[node.at] = node
        waiting += node.parents
    return tuple(_call(between[at]) for at in sorted(between))


def _call(node: Node) -> tuple[str, str]:
    return node.op, re.sub(r"\d+", "#", node.owner)


def _last_point(addition: Node, usual: Sequence[Way]) -> Node:
    """The point of the stream after an addition that nothing skips from: what the usual calls make of it.

    They are made inside the module that adds, or by the same kind of module as after the other additions. Where one is
    missing, the addition itself is the point.
    """
    made, waiting = [addition], sorted(addition.children, key=lambda child: child.at)
    for op, owner in max(sorted(set(usual)), key=usual.count, default=()):
        ready = (node for node in waiting if node.op == op and all(parent in made for parent in node.parents))
        node = next((node for node in ready if within(node.owner, addition.owner) or _call(node)[1] == owner), None)
        if node is None:
            return addition
        made.append(node)
        waiting = sorted({*waiting, *node.children} - {node}, key=lambda child: child.at)
    return made[-1]
