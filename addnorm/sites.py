"""The sites at which a model is watched: the points of its stream, each as a tensor at the boundary of a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from torch import nn

from addnorm.compiled import plain_name
from addnorm.probe import Place
from addnorm.stream import Residual, is_on_branch, is_within, sole_reader, stream_points
from addnorm.trace import Boundary, Graph, Node

LISTS = (nn.ModuleList, nn.ModuleDict, nn.Sequential)
MIN_PARTS = 4  # parts with weights; a model with fewer is watched at the members of its parts
MAX_CALLS_TO_ADDITION = 16  # calls between a module's output and its addition: window partitions, dropout


@dataclass(frozen=True)
class Site:
    """A watched tensor. `kind`: "start" or "sum" for a point of the stream, "output" for a module's output."""

    name: str
    kind: str
    place: Place
    module: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    node: int = -1  # in the graph of the traced pass


class Sites(tuple[Site, ...]):
    """Sites in order of depth, with notes about missing ones. They print as a table."""

    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self:
            return "\n".join(self.notes)
        width = max(len(site.name) for site in self)
        rows = [f"{at:>3}  {site.name:<{width}}  {site.kind:<6}  {hook_location(site)}" for at, site in enumerate(self)]
        return "\n".join([*rows, *self.notes])


def sites_with_notes(sites: Iterable[Site], notes: Iterable[str]) -> Sites:
    with_notes = Sites(sites)
    with_notes.notes = tuple(notes)
    return with_notes


def hook_location(site: Site) -> str:
    """The tensor that a site hooks, in words: "output of blocks.0, call 2, 8 x 64"."""
    key = f" {site.place.key}" if site.place.key is not None else ""
    call = f", call {site.place.call + 1}" if site.place.call else ""
    slicing = ", before it is sliced" if site.place.is_base else ""
    return f"{site.place.side}{key} of {site.module}{call}{slicing}, {' x '.join(map(str, site.shape))}"


READ_OVER_DEPTH = (
    "No stream runs through this model: its blocks read several earlier outputs at once (attention over depth, dense "
    "connections); the blocks' outputs are recorded."
)


def find_sites(graph: Graph, model: nn.Module, *, hears_sums: bool = False) -> Sites:
    """The points of the stream in a traced pass, in order of depth.

    `hears_sums`: where half of the sums or more reach no module, they are sites all the same, by their number.
    """
    points, boundaries = _points_at_boundaries(graph)
    modules = dict(model.named_modules())
    sites: list[Site] = []
    missing = 0
    sums = [boundary for boundary, (_, residual) in zip(boundaries, points, strict=True) if residual]
    hears_sums = hears_sums and 2 * sums.count(None) >= len(sums)
    for boundary, (point, residual) in zip(boundaries, points, strict=True):
        if boundary is None and residual is not None and hears_sums and residual.node.number >= 0:
            sites.append(_unbounded_site(graph, residual, model, modules))
            continue
        if boundary is None:
            missing += _is_on_stream(point, points)
            continue
        site = Site(
            name=plain_name(_site_name(graph, boundary, residual, modules)),
            kind="sum" if residual else "start",
            place=boundary.place,
            module=plain_name(boundary.name),
            shape=point.shape,
            dtype=point.dtype,
            node=boundary.node,
        )
        sites.append(site)
    notes = [f"{missing} sums of the stream reach no module and are left out."] if missing else []
    return sites_with_notes(_with_unique_names(sites), notes)


def _points_at_boundaries(graph: Graph) -> tuple[list[tuple[Node, Residual | None]], list[Boundary | None]]:
    """The points of the stream, and the boundaries at which to hook them.

    Where what follows a sum reaches no module, as at the end of streams that are added up, but every sum itself does,
    the sums are the points.
    """
    points = stream_points(graph)
    boundaries = [_boundary_of(graph, *pair) for pair in points]
    if any(each is None and _is_on_stream(point, points) for each, (point, _) in zip(boundaries, points, strict=True)):
        sums = sorted(((each.node if each else point, each) for point, each in points), key=lambda pair: pair[0].index)
        boundaries_of_sums = [_boundary_of(graph, *pair) for pair in sums]
        if None not in boundaries_of_sums:
            return sums, boundaries_of_sums
    return points, boundaries


def _is_on_stream(point: Node, points: Iterable[tuple[Node, Residual | None]]) -> bool:
    """Whether a point lies on no branch of the others."""
    return not any(is_on_branch(point, outer) for _, outer in points if outer)


def _unbounded_site(graph: Graph, residual: Residual, model: nn.Module, modules: Mapping[str, nn.Module]) -> Site:
    """A site at a sum that reaches no module, heard by its number among the sums of the pass."""
    node = residual.node
    return Site(
        name=plain_name(_branch_name(graph, residual, modules) or node.owner or "sum"),
        kind="sum",
        place=Place(model, "sum", node.number),
        module=plain_name(node.owner),
        shape=node.shape,
        dtype=node.dtype,
        node=node.index,
    )


def _site_name(graph: Graph, boundary: Boundary, residual: Residual | None, modules: Mapping[str, nn.Module]) -> str:
    """The name of the module at a boundary, or that of the branch if the module has several residual additions."""
    is_input = boundary.place.side == "input"
    if residual is not None:
        branch = _branch_name(graph, residual, modules)
        is_one_of_several = any(part.isdigit() for part in branch.removeprefix(residual.node.owner).split("."))
        if branch and (is_one_of_several or is_input):
            return branch
    return f"{boundary.name} (input)" if is_input else boundary.name


def _equal_nodes(node: Node) -> list[Node]:
    """The nodes with the same numbers and the same gradient: the node itself, and views without other readers."""
    chain = [node]
    while (reader := sole_reader(chain[-1])) is not None and reader.alias:
        chain.append(reader)
    while node.alias and sole_reader(node.parents[0]) is node:
        node = node.parents[0]
        chain.append(node)
    return chain


def _boundary_of(graph: Graph, point: Node, residual: Residual | None) -> Boundary | None:
    """The boundary at which to hook a point; None if the point reaches no module.

    It is the output of the module that adds, else the outermost output, else an input. A point that reaches modules
    only through a view (`x[:, -1]`) is hooked at the view.
    """
    boundaries = [item for node in _equal_nodes(point) for item in graph.boundaries.get(node.index, ())]
    boundaries = [boundary for boundary in boundaries if not boundary.place.is_base] or boundaries
    outputs = [boundary for boundary in boundaries if boundary.place.side == "output"]
    if residual is not None:
        adding = [boundary for boundary in outputs if boundary.name == residual.node.owner]
        numbered = [boundary for boundary in outputs if re.search(r"\d", boundary.name)]
        outputs = adding[:1] or numbered or outputs
    if outputs:
        return min(outputs, key=lambda boundary: (boundary.name.count("."), boundary.order))
    # A module without weights may use its input for the shape alone.
    return min(boundaries, key=lambda boundary: (not _has_weights(boundary.place.module), boundary.order), default=None)


def _branch_name(graph: Graph, residual: Residual, modules: Mapping[str, nn.Module]) -> str:
    """The outermost module inside the adding one whose output is added. Modules with weights come before others."""
    node, owner = residual.branch, residual.node.owner
    without_weights = ""
    for _ in range(MAX_CALLS_TO_ADDITION):
        inner = [
            boundary.name
            for boundary in graph.boundaries.get(node.index, ())
            if boundary.place.side == "output" and not boundary.place.is_base
            if boundary.name != owner and is_within(boundary.name, owner)
        ]
        with_weights = [name for name in inner if _has_weights(modules[name])]
        if with_weights:
            return min(with_weights, key=lambda name: name.count("."))
        without_weights = without_weights or min(inner, key=lambda name: name.count("."), default="")
        if len(node.parents) != 1 or node.parametrised:
            break
        node = node.parents[0]
    return without_weights


def _has_weights(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


def _with_unique_names(sites: Iterable[Site]) -> list[Site]:
    """The sites, the second of a name renamed to `name #2`."""
    counts: dict[str, int] = {}
    unique = []
    for site in sites:
        count = counts.get(site.name, 0) + 1
        counts[site.name] = count
        unique.append(site if count == 1 else replace(site, name=f"{site.name} #{count}"))
    return unique


def output_sites(graph: Graph, modules: Mapping[str, nn.Module], model: nn.Module) -> list[Site]:
    """A site for every call of some modules, at its first output, in order of the calls. `modules`: by site name."""
    site_names = {module: name for name, module in modules.items()}
    module_names = {module: name for name, module in model.named_modules()}
    by_call: dict[tuple[nn.Module, int], tuple[int, Site]] = {}
    for index, boundaries in graph.boundaries.items():
        for boundary in boundaries:
            place = boundary.place
            if place.module not in site_names or place.side != "output" or place.is_base:
                continue
            _, earlier_site = by_call.get((place.module, place.call), (0, None))
            if earlier_site is not None and earlier_site.place.key in (None, 0):
                continue  # the first output already has a site
            node = graph.nodes[index]
            name = plain_name(site_names[place.module])
            site = Site(
                name=name,
                kind="output",
                place=place,
                module=plain_name(module_names.get(place.module, name)),
                shape=node.shape,
                dtype=node.dtype,
                node=index,
            )
            by_call[place.module, place.call] = (boundary.order, site)
    return _with_unique_names(site for _, site in sorted(by_call.values(), key=lambda pair: pair[0]))


def hidden_sites_note(hidden: int, count: int) -> str:
    """A sentence on sites that are left out because torch.compile hides them."""
    sites = f"All {count} sites" if hidden == count else f"{hidden} of {count} sites"
    return f"{sites} lie inside compiled parts, where nothing is seen, and are left out; an uncompiled run has them."


def eager_sites_note(hidden: int, count: int) -> str:
    """A sentence on sites for which compiled parts run eagerly, and its effect on the loss."""
    sites = f"All {count} sites" if hidden == count else f"{hidden} of {count} sites"
    return (
        f"{sites} lie inside compiled parts, which run as they are written on the steps that are recorded: the last "
        "digits of the loss may differ there. `eager=False` leaves them compiled, and these sites out."
    )


def fallback_modules(model: nn.Module) -> dict[str, nn.Module]:
    """The modules to watch in a model without residual additions: its parts, or their members if it has few parts."""
    parts = _parts("", model)
    if sum(map(_has_weights, parts.values())) >= MIN_PARTS:
        return parts
    modules: dict[str, nn.Module] = {}
    for name, part in parts.items():
        modules |= _members(name, part) or {name: part}
    return modules


def _parts(name: str, module: nn.Module) -> dict[str, nn.Module]:
    """The parts of a module by name: the members of lists, and modules that contain no lists."""
    members = _members(name, module)
    modules: dict[str, nn.Module] = {}
    for key, part in members.items():
        is_list = isinstance(part, nn.ModuleList | nn.ModuleDict)
        has_lists = any(isinstance(inner, LISTS) for inner in part.modules() if inner is not part)
        is_split = is_list or len(members) == 1 or (has_lists and not isinstance(module, LISTS))
        modules |= _parts(key, part) if is_split else {key: part}
    return modules or {name: module}


def _members(name: str, module: nn.Module) -> dict[str, nn.Module]:
    return {f"{name}.{key}".lstrip("."): child for key, child in module.named_children()}


def matching_modules(model: nn.Module, sites: str | Iterable[str] | Mapping[str, nn.Module]) -> dict[str, nn.Module]:
    """The modules that globs match or a mapping names. Raises ValueError for a name that the model lacks."""
    if isinstance(sites, Mapping):
        inside_model = {id(module) for module in model.modules()}
        for name, module in sites.items():
            if not isinstance(module, nn.Module) or id(module) not in inside_model:
                raise ValueError(f"sites: {name} is not a module of this model")
        return dict(sites)
    named = {name: module for name, module in model.named_modules() if name}
    modules: dict[str, nn.Module] = {}
    for pattern in [sites] if isinstance(sites, str) else sites:
        matched = {name: module for name, module in named.items() if fnmatchcase(name, pattern)}
        if not matched:
            examples = ", ".join(list(named)[:5])
            raise ValueError(f"sites: no module of this model is called {pattern}; there are {examples}, ...")
        modules |= matched
    return modules
