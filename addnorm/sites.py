"""Where a model can be watched: the points of its stream, each as a tensor at the boundary of a module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from torch import nn

from addnorm.compiled import plain_name
from addnorm.probe import Place
from addnorm.stream import Residual, inside, only_reader, stream_points, within
from addnorm.trace import Boundary, Graph, Node

LISTS = (nn.ModuleList, nn.ModuleDict, nn.Sequential)
MIN_PARTS = 4  # with weights; of fewer, the members are offered
NAMING = 16  # calls between the output of a module and its addition: window partitions, dropout


@dataclass(frozen=True)
class Site:
    """A tensor that is watched. `kind`: start or sum for a point of the stream, output for a module's output."""

    name: str
    kind: str
    place: Place
    module: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    node: int = -1  # in the graph of the traced pass


class Sites(tuple[Site, ...]):
    """The sites in order of depth, which print as a table, and notes about what was not found."""

    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self:
            return "\n".join(self.notes)
        width = max(len(site.name) for site in self)
        lines = [f"{at:>3}  {site.name:<{width}}  {site.kind:<6}  {whereabouts(site)}" for at, site in enumerate(self)]
        return "\n".join([*lines, *self.notes])


def whereabouts(site: Site) -> str:
    """Where a site is hooked, in words."""
    which = f" {site.place.key}" if site.place.key is not None else ""
    call = f", call {site.place.call + 1}" if site.place.call else ""
    whole = ", before it is sliced" if site.place.whole else ""
    return f"{site.place.side}{which} of {site.module}{call}{whole}, {' x '.join(map(str, site.shape))}"


def find_sites(graph: Graph, model: nn.Module) -> Sites:
    """The points of the stream in a traced pass, in order of depth."""
    points = stream_points(graph)
    sites: list[Site] = []
    lost = 0
    modules = dict(model.named_modules())
    for point, residual in points:
        boundary = _boundary_of(graph, point, residual)
        if boundary is None:
            lost += not any(inside(point, outer) for _, outer in points if outer)
            continue
        name = boundary.name if boundary.place.side == "output" else f"{boundary.name} (input)"
        if residual is not None:
            branch = _branch_name(graph, residual, modules)
            several = any(part.isdigit() for part in branch.removeprefix(residual.node.owner).split("."))
            if branch and (several or boundary.place.side == "input"):
                name = branch  # the module that adds does so for more than one branch
        kind = "sum" if residual else "start"
        sites.append(
            Site(
                plain_name(name),
                kind,
                boundary.place,
                plain_name(boundary.name),
                point.shape,
                point.dtype,
                boundary.node,
            )
        )
    return noted(_unique(sites), [f"{lost} sums of the stream reach no module and are left out."] * bool(lost))


def _equal_nodes(node: Node) -> list[Node]:
    """The nodes with a tensor's numbers and its whole gradient: itself, and views that all of it passes through."""
    chain = [node]
    while (reader := only_reader(chain[-1])) is not None and reader.alias:
        chain.append(reader)
    while node.alias and only_reader(node.parents[0]) is node:
        node = node.parents[0]
        chain.append(node)
    return chain


def _boundary_of(graph: Graph, point: Node, residual: Residual | None) -> Boundary | None:
    """Where to hook a point: the output of the module that adds, else the outermost output, else an input.

    Where it reaches no module but as a view (`x[:, -1]`), that view's.
    """
    known = [boundary for node in _equal_nodes(point) for boundary in graph.boundaries.get(node.at, ())]
    known = [boundary for boundary in known if not boundary.place.whole] or known
    outputs = [boundary for boundary in known if boundary.place.side == "output"]
    if residual is not None:
        adding = [boundary for boundary in outputs if boundary.name == residual.node.owner]
        numbered = [boundary for boundary in outputs if re.search(r"\d", boundary.name)]
        outputs = adding[:1] or numbered or outputs
    if outputs:
        return min(outputs, key=lambda boundary: (boundary.name.count("."), boundary.order))
    # A module without weights may use its input for the shape alone.
    return min(known, key=lambda boundary: (not _has_weights(boundary.place.module), boundary.order), default=None)


def _branch_name(graph: Graph, residual: Residual, modules: Mapping[str, nn.Module]) -> str:
    """The module whose output is added, the outermost inside the one that adds, not a dropout after it."""
    node, owner, without_weights = residual.branch, residual.node.owner, ""
    for _ in range(NAMING):
        inner = [
            boundary.name
            for boundary in graph.boundaries.get(node.at, ())
            if boundary.place.side == "output" and not boundary.place.whole
            if boundary.name != owner and within(boundary.name, owner)
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
    return any(True for _ in module.parameters())


def _unique(sites: Iterable[Site]) -> list[Site]:
    """The sites by names that differ: the second of a name is called `name #2`."""
    seen: dict[str, int] = {}
    unique = []
    for site in sites:
        seen[site.name] = count = seen.get(site.name, 0) + 1
        unique.append(site if count == 1 else replace(site, name=f"{site.name} #{count}"))
    return unique


def noted(sites: Iterable[Site], notes: Iterable[str]) -> Sites:
    """Sites with notes about them."""
    with_notes = Sites(sites)
    with_notes.notes = tuple(notes)
    return with_notes


def outputs_of(graph: Graph, names: Mapping[str, nn.Module], model: nn.Module) -> list[Site]:
    """The outputs of some modules, one site for every call, in the order of the calls."""
    chosen = {module: name for name, module in names.items()}
    known = {module: name for name, module in model.named_modules()}
    by_place: dict[tuple[nn.Module, int], tuple[int, Site]] = {}
    for at, boundaries in graph.boundaries.items():
        for boundary in boundaries:
            place = boundary.place
            first = by_place.get((place.module, place.call))
            if place.module not in chosen or place.side != "output" or place.whole:
                continue
            if first and first[1].place.key in (None, 0):
                continue
            node, name = graph.nodes[at], plain_name(chosen[place.module])
            site = Site(name, "output", place, plain_name(known.get(place.module, name)), node.shape, node.dtype, at)
            by_place[place.module, place.call] = (boundary.order, site)
    return _unique(site for _, site in sorted(by_place.values(), key=lambda pair: pair[0]))


def hidden_in_words(hidden: int, count: int) -> str:
    """How many of a model's sites lie where torch.compile hides them, in a sentence."""
    which = f"All {count} sites" if hidden == count else f"{hidden} of {count} sites"
    return f"{which} lie inside compiled parts, where nothing is seen, and are left out; an uncompiled run has them."


def as_written_in_words(hidden: int, count: int) -> str:
    """That a compiled model runs as it is written where it is recorded, and what that changes, in a sentence."""
    which = f"All {count} sites" if hidden == count else f"{hidden} of {count} sites"
    return (
        f"{which} lie inside compiled parts, which run as they are written on the steps that are recorded: the last "
        "digits of the loss may differ there. `eager=False` leaves them compiled, and these sites out."
    )


def offered(model: nn.Module) -> dict[str, nn.Module]:
    """What to watch where no residual additions were found: the model's parts, of a list of modules its members."""
    parts = _parts("", model)
    if sum(map(_has_weights, parts.values())) >= MIN_PARTS:
        return parts
    return {
        whole: member
        for name, part in parts.items()
        for whole, member in (_members(name, part) or {name: part}).items()
    }


def _parts(name: str, module: nn.Module) -> dict[str, nn.Module]:
    """The members of a list, and the parts of a module with lists inside; members stay whole."""
    members = _members(name, module)
    modules: dict[str, nn.Module] = {}
    for key, part in members.items():
        is_list = isinstance(part, nn.ModuleList | nn.ModuleDict)
        inner = not isinstance(module, LISTS) and any(
            isinstance(one, LISTS) for one in part.modules() if one is not part
        )
        modules |= _parts(key, part) if is_list or inner or len(members) == 1 else {key: part}
    return modules or {name: module}


def _members(name: str, module: nn.Module) -> dict[str, nn.Module]:
    return {f"{name}.{key}".lstrip("."): child for key, child in module.named_children()}


def chosen_modules(model: nn.Module, wanted: str | Iterable[str] | Mapping[str, nn.Module]) -> dict[str, nn.Module]:
    """The modules that globs or a mapping name. ValueError for a name that the model lacks."""
    if isinstance(wanted, Mapping):
        inside_model = {id(module) for module in model.modules()}
        for name, module in wanted.items():
            if not isinstance(module, nn.Module) or id(module) not in inside_model:
                raise ValueError(f"sites: {name} is not a module of this model")
        return dict(wanted)
    named = {name: module for name, module in model.named_modules() if name}
    modules: dict[str, nn.Module] = {}
    for pattern in [wanted] if isinstance(wanted, str) else wanted:
        matched = {name: module for name, module in named.items() if fnmatchcase(name, pattern)}
        if not matched:
            some = ", ".join(list(named)[:5])
            raise ValueError(f"sites: no module of this model is called {pattern}; there are {some}, ...")
        modules |= matched
    return modules
