"""One forward pass as a graph: parents and parameters of every tensor, and the boundaries of modules.

A `TorchFunctionMode` observes every torch call of the forward pass, in eager mode, and changes none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from addnorm.passes import is_transforming
from addnorm.probe import Hook, Key, Place
from addnorm.sums import ADDITIONS, ADDITIONS_TO_FIRST, CHOICES, CONCATENATIONS, REDUCTIONS, SUBTRACTIONS, sum_of

MAX_NODES = 40_000  # the masks of ancestors grow with the square of this
IN_PLACE = {f"{name}_" for name in (*ADDITIONS, *SUBTRACTIONS, *ADDITIONS_TO_FIRST)}
VIEWS = {"contiguous", "reshape", "flatten", "clone", "float", "half", "bfloat16", "to", "type", "type_as"}


@dataclass(eq=False, slots=True)
class Node:
    """A tensor of the pass.

    Two bit masks: `ancestors` over the nodes that it is computed from, itself included, and `ops` over the calls with
    parameters that it depends on.
    """

    index: int
    op: str
    parents: tuple[Node, ...]
    shape: tuple[int, ...]
    dtype: str
    owner: str  # the module whose forward made it
    version: int  # counts the changes of the tensor in place
    ancestors: int
    ops: int
    parametrised: bool = False
    alias: bool = False  # has the same numbers as its only parent
    differentiable: bool = False
    overwritten: bool = False  # by a later call, in place
    terms: tuple[Node, ...] = ()  # of a sum or a difference
    number: int = -1  # of a sum among the sums of the pass
    children: list[Node] = field(default_factory=list)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Boundary:
    """A tensor, or the base of a tensor (`place.is_base`), that enters or leaves a module. `order` counts them."""

    order: int
    name: str
    place: Place
    node: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A tensor without a gradient that is computed from tensors with one. `label`: the call and its module."""

    label: str
    node: Node
    parameters: tuple[str, ...]  # of the call


class Graph:
    """A traced pass."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []  # in order of computation
        self.additions: list[Node] = []
        self.boundaries: dict[int, list[Boundary]] = {}  # by node
        self.parameters_by_call: list[tuple[str, ...]] = []  # names; calls without parameters are left out
        self.cuts: list[Cut] = []
        self.calls: dict[int, int] = {}  # of each module, by id
        self.strays: dict[int, tuple[nn.Parameter, str]] = {}  # by id: parameters that the model lacks, and their users
        self.too_large = False

    def parameters(self, before: Node | None = None) -> list[str]:
        """Names of the parameters in order of use; with `before`, only those that this tensor depends on."""
        calls = enumerate(self.parameters_by_call)
        used = (names for call, names in calls if before is None or before.ops >> call & 1)
        return list(dict.fromkeys(name for names in used for name in names))


@dataclass(frozen=True, slots=True)
class Sources:
    """The inputs of a call: nodes, names of parameters, and whether it has nothing but parameters."""

    nodes: tuple[Node, ...]
    parameters: tuple[str, ...]
    is_constant: bool


Measure = Callable[[int, Tensor], None]


class Tracer(TorchFunctionMode):
    """Traces the calls inside a `with` block. `measure` receives each tensor at a boundary once, before it changes."""

    def __init__(self, model: nn.Module, measure: Measure | None = None) -> None:
        super().__init__()
        self.graph = Graph()
        self.failure: Exception | None = None
        self._model = model
        self._measure = measure
        self._names = {id(p): name for name, p in model.named_parameters()}
        self._trained = {name for name, p in model.named_parameters() if p.requires_grad}
        self._buffers = {id(b) for b in model.buffers()}
        self._node_of: WeakIdKeyDictionary = WeakIdKeyDictionary()
        self._parameters_of: WeakIdKeyDictionary = WeakIdKeyDictionary()  # names, of tensors made of parameters alone
        self._indices: dict[int, Any] = {}  # by node: where it was taken from its parent
        self._module_stack: list[str] = [""]
        self._calls = self.graph.calls
        self._order = 0
        self._is_measuring = False
        self._measured: set[int] = set()  # nodes
        self._sums = 0  # so far
        self._exits = ExitStack()

    def __enter__(self) -> Tracer:
        scripts = {module for module in self._model.modules() if isinstance(module, torch.jit.ScriptModule)}
        if scripts:  # they take no hooks of their own

            def link(module: nn.Module, args: Any, output: Any) -> None:
                if module in scripts and output is not None:
                    self._safely(lambda: self._link(module, args, {}, output))

            self._exits.callback(register_module_forward_hook(link).remove)
        for name, module in self._model.named_modules():
            if module is self._model or module in scripts:
                continue
            before = module.register_forward_pre_hook(Hook(self._before_forward, name), with_kwargs=True)
            after = module.register_forward_hook(Hook(self._after_forward, name), always_call=True, with_kwargs=True)
            self._exits.callback(before.remove)
            self._exits.callback(after.remove)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._exits.close()
        self._node_of = WeakIdKeyDictionary()
        self._parameters_of = WeakIdKeyDictionary()
        self._indices = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if not self._is_measuring and sum_of(func, args, out) is not None:
            self._sums += 1
        is_tracing = self.failure is None and not self.graph.too_large and not self._is_measuring
        if is_tracing and not is_transforming() and isinstance(out, Tensor | tuple | list | None):
            self._safely(lambda: self._add_call(getattr(func, "__name__", ""), args, kwargs, out))
        return out

    def _add_call(self, op: str, args: Any, kwargs: Any, out: Any) -> None:
        if op == "__setitem__":
            out = args[0]
        results = [tensor for tensor, _ in tensors_in(out) if is_numeric(tensor)]
        if not results:
            return
        sources = self._sources([tensor for tensor, _ in tensors_in((*args, *kwargs.values()), depth=2)])
        if op.endswith("_like") or op.startswith("new_"):  # of the shape alone
            sources = replace(sources, nodes=())
        for tensor in results:
            earlier_node: Node | None = self._node_of.get(tensor)
            is_unchanged = earlier_node is not None and earlier_node.version == tensor._version
            if id(tensor) in self._names or is_unchanged:
                continue
            if op == "__setitem__" and earlier_node is not None and _has_been_written(earlier_node, sources.nodes):
                earlier_node.version = tensor._version
                continue
            if sources.is_constant:
                self._parameters_of[tensor] = sources.parameters
                continue
            node = (
                self._add_sum(op, args, kwargs, tensor)
                or self._add_choice(op, args, sources.nodes, tensor)
                or self._add_node(op, sources.nodes, tensor, sources.parameters)
            )
            if op == "__getitem__":
                self._indices[node.index] = args[1]
            if earlier_node is not None:
                earlier_node.overwritten = True
                node.alias = False
            self._node_of[tensor] = node
            has_trained_input = any(parent.differentiable for parent in sources.nodes) or any(
                name in self._trained for name in sources.parameters
            )
            if has_trained_input and not node.differentiable:
                self.graph.cuts.append(Cut(_cut_label(op, node), node, sources.parameters))
            node.terms = node.terms or self._terms_of(op, node)
            if node.terms:
                node.number = self._sums - 1
                self.graph.additions.append(node)
                self._measure_once(node, tensor)
            if earlier_node is not None and op in IN_PLACE:
                self._write_through(earlier_node, node, tensor)

    def _add_sum(self, op: str, args: Any, kwargs: Any, tensor: Tensor) -> Node | None:
        """The node of a call that adds to its first tensor, and one for what it adds; None for any other call."""
        name = op.removesuffix("_")
        if name not in ADDITIONS_TO_FIRST:
            return None
        if name == "index_put" and not (kwargs.get("accumulate") or args[3:4] == (True,)):
            return None
        values = [*args, *kwargs.values()]
        first = self._sources([value for value, _ in tensors_in(values[:1], depth=2)]).nodes
        others = self._sources([value for value, _ in tensors_in(values[1:], depth=2)])
        if len(first) != 1 or not others.nodes or first[0].shape != tuple(tensor.shape):
            return None
        added = self._add_node(op, others.nodes, tensor, others.parameters)
        node = self._add_node(op, (first[0], added), tensor, ())
        node.terms = (first[0], added)
        return node

    def _add_choice(self, op: str, args: Any, nodes: tuple[Node, ...], tensor: Tensor) -> Node | None:
        """The node of a call that adds to a tensor in places, and one for what it adds; None for any other call.

        These are `where(mask, x + f, x)` and `x[mask] = x[mask] + f`, also written `x[mask] += f`.
        """
        if op not in CHOICES or len(set(map(id, nodes))) != 2:
            return None
        first, second = nodes
        if op == "where":
            common = set(_summands(first)) & set(_summands(second))
        else:
            taken = (part for part in _summands(second) if first in part.parents and part.index in self._indices)
            common = {part for part in taken if _is_same_index(self._indices[part.index], args[1])}
        part = max(common, key=lambda node: node.index, default=None)
        whole = part if op == "where" else first
        if part is None or whole is None or whole.shape != tuple(tensor.shape):
            return None
        return self._add_in_places(op, whole, part, nodes, tensor)

    def _add_in_places(self, op: str, whole: Node, part: Node, nodes: Sequence[Node], tensor: Tensor) -> Node:
        """The node of a tensor in which a part of `whole` is replaced by sums with it, and one for what these add."""
        sums = [node for node in nodes if node not in (whole, part)]
        added = self._add_node(op, tuple(term for node in sums for term in _added_to(part, node)), tensor, ())
        for node in sums:
            node.children.append(added)
        changed = self._add_node(op, (whole, added), tensor, ())
        changed.terms = (whole, added)
        return changed

    def _write_through(self, part: Node, node: Node, tensor: Tensor) -> None:
        """Adds a node for the tensor of which a part was changed in place: `x[0].add_(f)`."""
        base = tensor._base
        whole = None if base is None else self._node_of.get(base)
        if base is None or whole is None or part.parents != (whole,) or node.numel == whole.numel:
            return
        changed = self._add_in_places("__setitem__", whole, part, [node], base)
        whole.overwritten = True
        self._node_of[base] = changed
        if node.terms:
            self.graph.additions.append(changed)
            self._measure_once(changed, base)
        else:
            changed.terms = ()

    def _terms_of(self, op: str, node: Node) -> tuple[Node, ...]:
        """The tensors of which a call makes a sum; empty for any other call."""
        if op in ADDITIONS or op in SUBTRACTIONS:
            return node.parents if len(node.parents) == 2 else ()
        is_sum = op in REDUCTIONS and len(node.parents) == 1 and node.parents[0].op in CONCATENATIONS
        if not is_sum:
            return ()
        terms = tuple(part.parents[0] if part.alias else part for part in node.parents[0].parents)
        return terms if len(terms) > 1 and all(term.shape == node.shape for term in terms) else ()

    def _sources(self, inputs: Sequence[Tensor]) -> Sources:
        nodes: list[Node] = []
        parameters: list[str] = []
        has_others = False  # indices of a look-up, masks, buffers
        for tensor in inputs:
            if id(tensor) in self._names:
                parameters.append(self._names[id(tensor)])
                continue
            if isinstance(tensor, nn.Parameter) and tensor.requires_grad:
                self.graph.strays[id(tensor)] = (tensor, self._module_stack[-1])
            if (names := self._parameters_of.get(tensor)) is not None:
                parameters += names
            elif is_numeric(tensor) and id(tensor) not in self._buffers:
                nodes.append(self._node(tensor))
            else:
                has_others = True
        return Sources(tuple(nodes), tuple(parameters), bool(parameters) and not nodes and not has_others)

    def _add_node(self, op: str, parents: tuple[Node, ...], tensor: Tensor, names: tuple[str, ...]) -> Node:
        graph = self.graph
        index = len(graph.nodes)
        ancestors = 1 << index
        ops = 0
        for parent in parents:
            ancestors |= parent.ancestors
            ops |= parent.ops
        if names:
            ops |= 1 << len(graph.parameters_by_call)
            graph.parameters_by_call.append(names)
        has_equal_parent = not names and len(parents) == 1 and parents[0].numel == tensor.numel()
        node = Node(
            index=index,
            op=op,
            parents=parents,
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
            owner=self._module_stack[-1],
            version=tensor._version,
            ancestors=ancestors,
            ops=ops,
            parametrised=bool(names),
            alias=has_equal_parent and (op in VIEWS or tensor._is_view()),
            differentiable=tensor.requires_grad,
        )
        for parent in parents:
            parent.children.append(node)
        graph.nodes.append(node)
        graph.too_large = len(graph.nodes) >= MAX_NODES
        return node

    def _node(self, tensor: Tensor) -> Node:
        """The node of a tensor; a new one if the tensor comes from outside the pass."""
        node: Node | None = self._node_of.get(tensor)
        if node is None:
            node = self._add_node("", (), tensor, ())
            self._node_of[tensor] = node
        return node

    def _before_forward(self, name: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        self._module_stack.append(name)
        arguments: list[tuple[Any, Key]] = [(value, index) for index, value in enumerate(args)]
        arguments += [(value, key) for key, value in kwargs.items()]
        self._safely(lambda: self._add_boundaries(name, module, "input", arguments))

    def _after_forward(self, name: str, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if output is not None:
            self._safely(lambda: self._link(module, args, kwargs, output))
            self._safely(lambda: self._add_boundaries(name, module, "output", tensors_in(output)))
        self._calls[id(module)] = self._calls.get(id(module), 0) + 1
        if self._module_stack[-1] == name:
            self._module_stack.pop()

    def _safely(self, action: Callable[[], None]) -> None:
        """Runs `action` unless tracing has failed, and keeps its error from the forward pass."""
        if self.failure is None:
            try:
                action()
            except Exception as error:
                self.failure = error

    def _link(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        """Makes a module's inputs the parents of outputs that no observed call made: those of a custom kernel."""
        orphans = [tensor for tensor, _ in tensors_in(output) if is_numeric(tensor) and self._is_new(tensor)]
        if not orphans or self.graph.too_large:
            return
        inputs = [tensor for tensor, _ in tensors_in((*args, *kwargs.values()), depth=2) if is_numeric(tensor)]
        parents = tuple(
            self._node(tensor)
            for tensor in inputs
            if id(tensor) not in self._names and tensor not in self._parameters_of
        )
        names = tuple(self._names[id(p)] for p in module.parameters() if id(p) in self._names)
        for tensor in orphans:
            if id(tensor) not in self._names:
                self._node_of[tensor] = self._add_node(type(module).__name__, parents, tensor, names)

    def _is_new(self, tensor: Tensor) -> bool:
        return tensor not in self._node_of and tensor not in self._parameters_of

    def _add_boundaries(self, name: str, module: nn.Module, side: str, tensors: Iterable[tuple[Any, Key]]) -> None:
        self._order += 1
        for tensor, key in tensors:
            if not isinstance(tensor, Tensor) or not is_numeric(tensor) or self.graph.too_large:
                continue
            if id(tensor) in self._names or tensor in self._parameters_of:
                continue
            place = Place(module, side, key, self._calls.get(id(module), 0))
            self._add_boundary(name, place, self._node(tensor), tensor)
            self._is_measuring = True  # the getter is a torch call too
            base = tensor._base
            node = None if base is None else self._node_of.get(base)
            self._is_measuring = False
            if base is not None and node is not None and node.version == base._version:
                self._add_boundary(name, replace(place, is_base=True), node, base)

    def _add_boundary(self, name: str, place: Place, node: Node, tensor: Tensor) -> None:
        boundaries = self.graph.boundaries.setdefault(node.index, [])
        boundaries.append(Boundary(self._order, name, place, node.index))
        self._measure_once(node, tensor)

    def _measure_once(self, node: Node, tensor: Tensor) -> None:
        if self._measure is not None and node.index not in self._measured:
            self._measured.add(node.index)
            self._is_measuring = True
            self._measure(node.index, tensor)
            self._is_measuring = False


def _summands(node: Node) -> Iterator[Node]:
    """A tensor and, of a sum, its terms and theirs."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.parents if node.alias else node.terms


def _added_to(part: Node, node: Node) -> list[Node]:
    """What a sum adds to a tensor."""
    terms = node.parents if node.alias else node.terms
    if node is part or not terms:
        return [] if node is part else [node]
    return [added for term in terms for added in _added_to(part, term)]


def _has_been_written(node: Node, nodes: Iterable[Node]) -> bool:
    """Whether a tensor holds a sum in its place already: Python adds in place in `x[0] += f`, then assigns."""
    return any(term in other.children for term in node.terms[1:] for other in nodes if other is not node)


def _is_same_index(index: Any, other: Any) -> bool:
    if isinstance(index, tuple) and isinstance(other, tuple):
        return len(index) == len(other) and all(map(_is_same_index, index, other))
    return index is other or not (isinstance(index, Tensor) or isinstance(other, Tensor) or index != other)


def _cut_label(op: str, node: Node) -> str:
    """The call that ends gradients and its module: "detach in blocks.0"."""
    call = {"__get__": "data"}.get(op, op.strip("_")) if torch.is_grad_enabled() else "no_grad"
    return f"{call} in {node.owner or 'the model'}"


def strays_of(graph: Graph | None, updated: Iterable[Tensor]) -> dict[str, Tensor]:
    """By a name the parameters that a pass uses and neither the model nor `updated` has."""
    ids = {id(p) for p in updated}
    strays = [] if graph is None else [stray for key, stray in graph.strays.items() if key not in ids]
    named: dict[str, Tensor] = {}
    for index, (parameter, owner) in enumerate(strays):
        shape = " x ".join(map(str, parameter.shape))
        named[f"parameter {index} of {shape} in {owner or 'the model'}, which is in no module"] = parameter
    return named


def is_numeric(tensor: Tensor) -> bool:
    """Whether a tensor holds real or complex numbers, and not indices or a mask."""
    return tensor.is_floating_point() or tensor.is_complex()


def tensors_in(value: Any, depth: int = 1) -> Iterator[tuple[Tensor, Key]]:
    """The tensors of an argument or an output with their keys; the key of a single tensor is None."""
    if isinstance(value, Tensor):
        yield value, None
    elif isinstance(value, Mapping):
        yield from ((item, key) for key, item in value.items() if isinstance(item, Tensor))
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            if isinstance(item, Tensor):
                yield item, index
            elif depth > 1 and isinstance(item, tuple | list):
                yield from tensors_in(item, depth - 1)


def output_of(value: Any) -> Tensor | None:
    """The main output of a model: its `logits` if it has some, else its first tensor with an axis."""
    logits = value.get("logits") if isinstance(value, Mapping) else getattr(value, "logits", None)
    tensors = [logits] if isinstance(logits, Tensor) else [tensor for tensor, _ in tensors_in(value)]
    return next((tensor for tensor in tensors if is_numeric(tensor) and tensor.ndim), None)
