"""Where the residual stream of a model can be watched: sums that carry a skip, found in one traced forward pass.

An addition of two tensors of one shape with a common ancestor is a residual addition where
their paths from it differ in calls with parameters; the shorter path is the skip. What the next
sum skips from is a point of the stream, so that a norm or activation right after the addition
belongs to it. Each point is a tensor at the boundary of a module and is watched there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from torch import nn

from addnorm.probe import Place
from addnorm.trace import Boundary, Graph, Node

SHORTCUT = 2  # calls with parameters on a skip that changes the shape: a convolution and its norm
AFTER = 12  # calls between an addition and what the next one skips from: a norm written out, activation, dropout, views
ELEMENTWISE = {"mul", "rmul", "imul", "add", "radd", "iadd"}
NAMING = 16  # calls between what a module gives and the addition: window partitions, dropout
SEARCHED = 512  # common ancestors that are looked at


@dataclass(frozen=True)
class Site:
    """A point of the stream. `kind`: start, sum, or output for the output of a module that was named or offered."""

    name: str
    kind: str
    place: Place
    module: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    node: int = -1


@dataclass(frozen=True)
class Block:
    """Weights that come in on the way to a site (its index), or after the last one (the number of sites)."""

    name: str
    site: int
    parameters: tuple[str, ...]


class Sites(tuple[Site, ...]):
    """The sites in order of depth. Printed, they are a table."""

    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self:
            return "\n".join(["no sites yet: they are found at the first forward pass with gradients", *self.notes])
        width = max(len(site.name) for site in self)
        lines = [f"{at:>3}  {site.name:<{width}}  {site.kind:<6}  {whereabouts(site)}" for at, site in enumerate(self)]
        return "\n".join([*lines, *self.notes])


def whereabouts(site: Site) -> str:
    """Where a site is hooked, in words."""
    which = f" {site.place.key}" if site.place.key is not None else ""
    call = f", call {site.place.call + 1}" if site.place.call else ""
    return f"{site.place.side}{which} of {site.module}{call}, {' x '.join(map(str, site.shape))}"


@dataclass(frozen=True)
class Sum:
    """A residual addition: from `source` on, the `branch` has calls with parameters that the skip lacks."""

    total: Node
    source: Node
    branch: Node
    projected: bool


def find_sites(graph: Graph, model: nn.Module) -> Sites:
    """The points of the stream in a traced pass, in the order in which they come about."""
    if graph.too_large:
        return noted([], ["The forward pass makes too many tensors to look for residual additions in it."])
    points = stream_points(graph)
    found: list[Site] = []
    lost = 0
    names = {name: module for name, module in model.named_modules() if name}
    for point, total in points:
        boundary = boundary_of(graph, point, total.total if total else None)
        if boundary is None:
            lost += not any(inside(point, total) for _, total in points if total)
            continue
        name = boundary.name if boundary.place.side == "output" else f"{boundary.name} (input)"
        if total is not None:
            branch = branch_name(graph, total, names)
            several = any(part.isdigit() for part in branch.removeprefix(total.total.owner).split("."))
            if branch and (several or boundary.place.side == "input"):
                name = branch  # the module that adds does so for more than one branch
        kind = "sum" if total else "start"
        found.append(Site(name, kind, boundary.place, boundary.name, point.shape, point.dtype, boundary.node))
    return noted(unique(found), [f"{lost} sums of the stream reach no module and are left out."] * bool(lost))


def stream_points(graph: Graph) -> list[tuple[Node, Sum | None]]:
    """The tensors of the stream in order, each with the addition it comes from, None where a stream starts."""
    sums = residual_sums(graph)
    totals = {total.total.at: total for total in sums}
    after: dict[int, Node] = {}  # by addition, the point of the stream that it leads to
    starts: list[Node] = []
    for total in sums:
        origin = addition_before(total.source, totals)
        if origin is None:
            starts.append(total.source)
        elif origin not in after or total.source.at < after[origin].at:
            after[origin] = total.source
    usual = [way(totals[at].total, point) or () for at, point in after.items()]
    for at, total in totals.items():
        if at not in after:
            after[at] = last_point(total.total, usual)
    points: dict[int, tuple[Node, Sum | None]] = {node.at: (node, None) for node in starts}
    points |= {point.at: (point, totals[at]) for at, point in after.items()}
    return [points[at] for at in sorted(points)]


def residual_sums(graph: Graph) -> list[Sum]:
    """The residual additions of a pass, in order. Of a sum of several terms the last addition counts."""
    additions = {node.at: node for node in graph.additions}
    found = [total for node in graph.additions if (total := residual(node, additions)) is not None]
    by_total = {total.total.at: total for total in found}
    partial = {
        total.total.at
        for total in found
        if (reader := only_reader(total.total)) is not None
        and reader.at in by_total
        and not by_total[reader.at].branch.ancestors >> total.total.at & 1
    }
    found = [total for total in found if total.total.at not in partial]
    plain = [total for total in found if not total.projected]
    kept = []
    for total in found:
        around = [outer for outer in plain if outer is not total and inside(total.total, outer)]
        if total.projected and any(
            not any(inside(p.total, outer) for p in plain if p is not outer) for outer in around
        ):
            continue  # a sum of projections inside a branch
        if any(_is_detail(total, outer, plain) for outer in around):
            continue
        kept.append(total)
    return kept


def _is_detail(total: Sum, outer: Sum, sums: Sequence[Sum]) -> bool:
    """A sum or two of another size inside a branch are part of the branch; a long skip goes around many."""
    if total.total.shape == outer.total.shape:
        return False
    return len([other for other in sums if other is not outer and inside(other.total, outer)]) <= 2


def inside(node: Node, outer: Sum) -> bool:
    """Whether a tensor lies on the branch of a sum, behind where it leaves the stream."""
    on_branch = outer.branch.ancestors >> node.at & 1 and node.ancestors >> outer.source.at & 1
    return bool(on_branch) and node is not outer.source


def residual(node: Node, additions: Mapping[int, Node]) -> Sum | None:
    """An addition as a residual one, or None."""
    left, right = node.parents
    if left.shape != node.shape or right.shape != node.shape or left is right:
        return None
    parts = [list(terms(parent, additions)) for parent in (left, right)]
    pairs = [(one, other) for one in parts[0] for other in parts[1]]
    every = [_skip_and_branch(node, *pair) for pair in pairs + [(other, one) for one, other in pairs]]
    return min(
        (total for total in every if total is not None),
        key=lambda total: (total.projected, total.source.at),
        default=None,
    )


def terms(node: Node, additions: Mapping[int, Node]) -> Iterator[Node]:
    """What a tensor is the sum of, if nothing else reads the partial sums; the whole comes first."""
    yield node
    if node.at in additions and only_reader(node) is not None:
        for parent in node.parents:
            if parent.shape == node.shape:
                yield from terms(parent, additions)


def _skip_and_branch(node: Node, skip: Node, branch: Node) -> Sum | None:
    common = skip.ancestors & branch.ancestors
    top: Node | None = None
    for source in _from_the_top(common, skip, branch):
        top = top or source
        if source.ops == skip.ops and branch.ops & ~source.ops:
            return Sum(node, source, branch, projected=False)
    if top is None:
        return None
    on_skip, on_branch = ((side.ops & ~top.ops).bit_count() for side in (skip, branch))
    return Sum(node, top, branch, projected=True) if 1 <= on_skip <= SHORTCUT and on_skip < on_branch else None


def _from_the_top(common: int, skip: Node, branch: Node) -> Iterator[Node]:
    """Common ancestors of two tensors, the nearest first."""
    known = {node.at: node for node in _upstream(skip, SEARCHED)}
    for at in sorted(known, reverse=True):
        if common >> at & 1:
            yield known[at]


def _upstream(node: Node, most: int) -> Iterable[Node]:
    seen, waiting = {node.at: node}, [node]
    while waiting and len(seen) < most:
        nearest = max(waiting, key=lambda found: found.at)
        waiting.remove(nearest)
        for parent in nearest.parents:
            if parent.at not in seen:
                seen[parent.at] = parent
                waiting.append(parent)
    return seen.values()


def only_reader(node: Node) -> Node | None:
    """The one call that reads a tensor."""
    return node.children[0] if len({child.at for child in node.children}) == 1 else None


def addition_before(point: Node, totals: Mapping[int, Sum]) -> int | None:
    """The residual addition that a point of the stream is a
    function of: by a norm, an activation or the like, or itself.
    """
    before = [at for at in totals if point.ancestors >> at & 1]
    return before[-1] if before and way(totals[before[-1]].total, point) is not None else None


Way = tuple[tuple[str, str], ...]  # calls and the modules that make them, without numbers


def way(total: Node, point: Node) -> Way | None:
    """The calls that make a point of the stream of an addition
    and of nothing else; None where something mixes its features.
    """
    between: dict[int, Node] = {}
    waiting = [point]
    while waiting:
        node = waiting.pop()
        if node is total or node.at in between:
            continue
        mixes = node.parametrised and not ("norm" in node.op or node.op.strip("_") in ELEMENTWISE)
        if mixes or not node.parents or node.at < total.at or len(between) > AFTER or point.numel != total.numel:
            return None
        between[node.at] = node
        waiting += node.parents
    return tuple(_call(between[at]) for at in sorted(between))


def _call(node: Node) -> tuple[str, str]:
    return node.op, re.sub(r"\d+", "#", node.owner)


def last_point(total: Node, usual: Sequence[Way]) -> Node:
    """Where a sum that no other skips from leaves off: after the
    same calls as the others, made by a module inside the one

    that adds, or by the same kind of module as there.
    """
    made, waiting = [total], sorted(total.children, key=lambda child: child.at)
    for op, owner in max(sorted(set(usual)), key=usual.count, default=()):
        ready = (node for node in waiting if node.op == op and all(parent in made for parent in node.parents))
        node = next((node for node in ready if within(node.owner, total.owner) or _call(node)[1] == owner), None)
        if node is None:
            return total
        made.append(node)
        waiting = sorted({*waiting, *node.children} - {node}, key=lambda child: child.at)
    return made[-1]


def within(name: str, owner: str) -> bool:
    """Whether a module is another one or inside it."""
    return name == owner or not owner or name.startswith(f"{owner}.")


def equal_nodes(node: Node) -> list[Node]:
    """The nodes with the numbers and the whole gradient of a
    tensor: itself, and views that all of it passes through.
    """
    found = [node]
    while (reader := only_reader(found[-1])) is not None and reader.alias:
        found.append(reader)
    while node.alias and only_reader(node.parents[0]) is node:
        node = node.parents[0]
        found.append(node)
    return found


def boundary_of(graph: Graph, point: Node, total: Node | None) -> Boundary | None:
    """Where to hook a point: the output of the module that adds,
    else the outermost output, else the next module's input.
    """
    known = [boundary for node in equal_nodes(point) for boundary in graph.boundaries.get(node.at, ())]
    outputs = [boundary for boundary in known if boundary.place.side == "output"]
    if total is not None:
        adding = [boundary for boundary in outputs if boundary.name == total.owner]
        numbered = [boundary for boundary in outputs if re.search(r"\d", boundary.name)]
        outputs = adding[:1] or numbered or outputs
    if outputs:
        return min(outputs, key=lambda found: (found.name.count("."), found.order))
    # What is given to a module without weights may only tell it a shape.
    return min(
        known, key=lambda found: (not any(True for _ in found.place.module.parameters()), found.order), default=None
    )


def branch_name(graph: Graph, total: Sum, modules: Mapping[str, nn.Module]) -> str:
    """The module whose output is added, the outermost inside the one that adds, not a dropout after it."""
    node, owner, without_weights = total.branch, total.total.owner, ""
    for _ in range(NAMING):
        inner = [
            boundary.name
            for boundary in graph.boundaries.get(node.at, ())
            if boundary.place.side == "output" and boundary.name != owner and within(boundary.name, owner)
        ]
        weighty = [name for name in inner if any(True for _ in modules[name].parameters())]
        if weighty:
            return min(weighty, key=lambda name: name.count("."))
        without_weights = without_weights or min(inner, key=lambda name: name.count("."), default="")
        if len(node.parents) != 1 or node.parametrised:
            break
        node = node.parents[0]
    return without_weights


def unique(sites: Iterable[Site]) -> list[Site]:
    """With names that differ: the second of a name is called `name #2`."""
    seen: dict[str, int] = {}
    found = []
    for site in sites:
        seen[site.name] = count = seen.get(site.name, 0) + 1
        found.append(site if count == 1 else replace(site, name=f"{site.name} #{count}"))
    return found


def noted(sites: Iterable[Site], notes: Iterable[str]) -> Sites:
    """Sites with what is to be said about them."""
    found = Sites(sites)
    found.notes = tuple(notes)
    return found


def outputs_of(graph: Graph, names: Mapping[str, nn.Module], model: nn.Module) -> list[Site]:
    """The outputs of some modules, one site for every call, in the order in which they came."""
    chosen = {id(module): name for name, module in names.items()}
    known = {id(module): name for name, module in model.named_modules()}
    nodes = {node.at: node for node in graph.nodes}
    found: dict[tuple[int, int], tuple[int, Site]] = {}
    for at, boundaries in graph.boundaries.items():
        for boundary in boundaries:
            place = boundary.place
            first = found.get((id(place.module), place.call))
            if id(place.module) not in chosen or place.side != "output" or (first and first[1].place.key in (None, 0)):
                continue
            node, name = nodes[at], chosen[id(place.module)]
            site = Site(name, "output", place, known.get(id(place.module), name), node.shape, node.dtype, at)
            found[id(place.module), place.call] = (boundary.order, site)
    return unique(site for _, site in sorted(found.values(), key=lambda pair: pair[0]))


def offered(model: nn.Module) -> dict[str, nn.Module]:
    """The blocks of a model in which no residual sums were found: the longest list of modules, or else its parts."""
    lists = [
        {f"{name}.{key}".lstrip("."): child for key, child in module.named_children()}
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList | nn.Sequential)
    ]
    longest = max(lists, key=len, default={})
    return longest if len(longest) > 1 else dict(model.named_children())


def chosen_modules(model: nn.Module, wanted: str | Iterable[str] | Mapping[str, nn.Module]) -> dict[str, nn.Module]:
    """The modules that globs or a mapping name. ValueError for a name that the model has not."""
    if isinstance(wanted, Mapping):
        inside_model = {id(module) for module in model.modules()}
        for name, module in wanted.items():
            if not isinstance(module, nn.Module) or id(module) not in inside_model:
                raise ValueError(f"sites: {name} is no module of this model")
        return dict(wanted)
    named = {name: module for name, module in model.named_modules() if name}
    found: dict[str, nn.Module] = {}
    for pattern in [wanted] if isinstance(wanted, str) else wanted:
        matched = {name: module for name, module in named.items() if fnmatchcase(name, pattern)}
        if not matched:
            some = ", ".join(list(named)[:5])
            raise ValueError(f"sites: no module of this model is called {pattern}; there are {some}, ...")
        found |= matched
    return found


def blocks_of(graph: Graph, sites: Sequence[Site], model: nn.Module) -> list[Block]:
    """The weight matrices of a model by the site before which they first come in. Biases and gains are left out."""
    matrices = {name for name, p in model.named_parameters() if p.requires_grad and p.ndim > 1}
    nodes = {node.at: node for node in graph.nodes}
    taken: set[str] = set()
    found = []
    for at, site in enumerate(sites):
        names = [name for name in graph.parameters_before(nodes[site.node]) if name in matrices and name not in taken]
        taken |= set(names)
        if names:
            found.append(Block(common_name(names), at, tuple(names)))
    used = dict.fromkeys(name for call in graph.used for name in call)
    rest = [name for name in used if name in matrices and name not in taken]
    return found + ([Block(common_name(rest), len(sites), tuple(rest))] if rest else [])


def blocks_by_name(model: nn.Module) -> list[Block]:
    """The weight matrices by their names, up to the first number
    in them, where the way through the model is not known.
    """
    groups: dict[str, list[str]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.ndim > 1:
            parts = name.split(".")[:-1]
            number = next((at for at, part in enumerate(parts) if part.isdigit()), len(parts) - 1)
            groups.setdefault(".".join(parts[: number + 1]) or name, []).append(name)
    return [Block(name, at, tuple(names)) for at, (name, names) in enumerate(groups.items())]


def common_name(parameters: Sequence[str]) -> str:
    """What the names of some parameters have in common, in whole words."""
    split = [name.split(".")[:-1] or [name] for name in parameters]
    shared = []
    for words in zip(*split, strict=False):
        if len(set(words)) > 1:
            break
        shared.append(words[0])
    return ".".join(shared) or ", ".join(dict.fromkeys(words[0] for words in split))
