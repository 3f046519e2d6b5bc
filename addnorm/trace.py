"""One forward pass as a graph: which tensor came from which, through which parameters, and where modules begin and end.

A `TorchFunctionMode` sees every call of torch in the forward pass, in eager mode, and changes none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from addnorm.passes import transformed
from addnorm.probe import Hook, Key, Place

LARGEST = 40_000  # tensors in a graph, at most: the masks of ancestors grow with the square of their number
ADDITIONS = {"add", "__add__", "__radd__", "add_", "__iadd__"}
VIEWS = {"contiguous", "reshape", "flatten", "clone", "float", "half", "bfloat16", "to", "type", "type_as"}


@dataclass(eq=False, slots=True)
class Node:
    """A tensor of the pass. Bit masks: `ancestors`, itself too, and `ops`, the calls with parameters before it."""

    at: int
    op: str
    parents: tuple[Node, ...]
    shape: tuple[int, ...]
    dtype: str
    owner: str  # the module in whose forward it was made
    version: int  # of the tensor's memory
    ancestors: int
    ops: int
    parametrised: bool = False
    alias: bool = False
    differentiable: bool = False
    overwritten: bool = False  # by a later call, in place
    children: list[Node] = field(default_factory=list)

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Boundary:
    """A tensor that enters or leaves a module, or whose view does (`place.whole`). `order` counts through the pass."""

    order: int
    name: str
    place: Place
    node: int


class Graph:
    """A traced pass: nodes in order, the additions among them, boundaries by node, parameters by call."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.additions: list[Node] = []
        self.boundaries: dict[int, list[Boundary]] = {}
        self.used: list[tuple[str, ...]] = []  # names of the parameters, for every call that has some
        self.cuts: list[tuple[str, Node, tuple[str, ...]]] = []  # what ends gradients; its tensor; what it is made with
        self.calls: dict[int, int] = {}  # of each module, by id
        self.too_large = False

    def parameters(self, before: Node | None = None) -> list[str]:
        """Names of the parameters in the order in which they were used; `before`: those that this tensor depends on."""
        used = (names for at, names in enumerate(self.used) if before is None or before.ops >> at & 1)
        return list(dict.fromkeys(name for names in used for name in names))


Measure = Callable[[int, Tensor], None]


class Tracer(TorchFunctionMode):
    """Traces what runs inside it. `measure` gets each tensor at a boundary, once, while it has its value."""

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
        self._made_of: WeakIdKeyDictionary = WeakIdKeyDictionary()  # tensors made of parameters alone: their names
        self._open: list[str] = [""]
        self._calls = self.graph.calls
        self._order = 0
        self._measuring = False
        self._exits = ExitStack()

    def __enter__(self) -> Tracer:
        for name, module in self._model.named_modules():
            if module is self._model:
                continue
            before = module.register_forward_pre_hook(Hook(self._enters, name), with_kwargs=True)
            after = module.register_forward_hook(Hook(self._leaves, name), always_call=True, with_kwargs=True)
            self._exits.callback(before.remove)
            self._exits.callback(after.remove)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._exits.close()
        self._node_of, self._made_of = WeakIdKeyDictionary(), WeakIdKeyDictionary()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        watching = self.failure is None and not self.graph.too_large and not self._measuring
        if watching and not transformed() and isinstance(out, Tensor | tuple | list | None):
            self._try(lambda: self._note(getattr(func, "__name__", ""), args, kwargs, out))
        return out

    def _note(self, op: str, args: Any, kwargs: Any, out: Any) -> None:
        if op == "__setitem__":
            out = args[0]
        made = [tensor for tensor, _ in tensors_in(out) if floating(tensor)]
        if not made:
            return
        parents, names, constant = self._sources(
            [tensor for tensor, _ in tensors_in((*args, *kwargs.values()), deep=2)]
        )
        for tensor in made:
            before: Node | None = self._node_of.get(tensor)
            if id(tensor) in self._names or (before is not None and before.version == tensor._version):
                continue  # returned as it came
            if constant:
                self._made_of[tensor] = names
                continue
            node = self._add(op, parents, tensor, names)
            if before is not None:
                before.overwritten, node.alias = True, False
            self._node_of[tensor] = node
            cuts = any(parent.differentiable for parent in parents) or not self._trained.isdisjoint(names)
            if cuts and not node.differentiable:
                self._cut(op, node, names)
            if op in ADDITIONS and len(parents) == 2:
                self.graph.additions.append(node)

    def _cut(self, op: str, node: Node, names: tuple[str, ...]) -> None:
        what = {"__get__": "data"}.get(op, op.strip("_")) if torch.is_grad_enabled() else "no_grad"
        self.graph.cuts.append((f"{what} in {node.owner or 'the model'}", node, names))

    def _sources(self, given: Sequence[Tensor]) -> tuple[tuple[Node, ...], tuple[str, ...], bool]:
        """The nodes and the names of parameters among what a call was given, and whether that is parameters alone."""
        parents: list[Node] = []
        names: list[str] = []
        others = 0  # indices of a look-up, masks, buffers
        for tensor in given:
            if id(tensor) in self._names:
                names.append(self._names[id(tensor)])
            elif (pure := self._made_of.get(tensor)) is not None:
                names += pure
            elif floating(tensor) and id(tensor) not in self._buffers:
                parents.append(self._node(tensor))
            else:
                others += 1
        return tuple(parents), tuple(names), bool(names) and not parents and not others

    def _add(self, op: str, parents: tuple[Node, ...], tensor: Tensor, names: tuple[str, ...]) -> Node:
        graph = self.graph
        ancestors = ops = 0
        for parent in parents:
            ancestors |= parent.ancestors
            ops |= parent.ops
        if names:
            ops |= 1 << len(graph.used)
            graph.used.append(names)
        at, shape = len(graph.nodes), tuple(tensor.shape)
        alias = (
            not names
            and len(parents) == 1
            and parents[0].numel == tensor.numel()
            and (op in VIEWS or tensor._is_view())
        )
        dtype = str(tensor.dtype).removeprefix("torch.")
        own = 1 << at
        node = Node(
            at, op, parents, shape, dtype, self._open[-1], tensor._version, ancestors | own, ops, bool(names), alias
        )
        node.differentiable = tensor.requires_grad
        for parent in parents:
            parent.children.append(node)
        graph.nodes.append(node)
        graph.too_large = len(graph.nodes) >= LARGEST
        return node

    def _node(self, tensor: Tensor) -> Node:
        """The node of a tensor; a new one where it comes from outside."""
        node: Node | None = self._node_of.get(tensor)
        if node is None:
            node = self._node_of[tensor] = self._add("", (), tensor, ())
        return node

    def _enters(self, name: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        self._open.append(name)
        self._try(lambda: self._boundary(name, module, "input", (*enumerate(args), *kwargs.items())))

    def _leaves(self, name: str, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if output is not None:
            self._try(lambda: self._link(module, args, kwargs, output))
            self._try(
                lambda: self._boundary(name, module, "output", [(key, tensor) for tensor, key in tensors_in(output)])
            )
        self._calls[id(module)] = self._calls.get(id(module), 0) + 1
        if self._open[-1] == name:
            self._open.pop()

    def _try(self, look: Callable[[], None]) -> None:
        """Keeps a fault of ours from the forward pass."""
        if self.failure is None:
            try:
                look()
            except Exception as error:
                self.failure = error

    def _link(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        """Makes a module's inputs the parents of outputs that no call of torch was seen to make: a custom kernel's."""
        lost = [t for t, _ in tensors_in(output) if floating(t) and t not in self._node_of and t not in self._made_of]
        if lost and not self.graph.too_large:
            given = [t for t, _ in tensors_in((*args, *kwargs.values()), deep=2) if floating(t)]
            parents = tuple(self._node(t) for t in given if id(t) not in self._names and t not in self._made_of)
            names = tuple(self._names[id(p)] for p in module.parameters() if id(p) in self._names)
            for tensor in lost:
                if id(tensor) not in self._names:
                    self._node_of[tensor] = self._add(type(module).__name__, parents, tensor, names)

    def _boundary(self, name: str, module: nn.Module, side: str, tensors: Sequence[tuple[Key, Any]]) -> None:
        self._order += 1
        for key, tensor in tensors:
            if not isinstance(tensor, Tensor) or not floating(tensor) or self.graph.too_large:
                continue
            if id(tensor) in self._names or tensor in self._made_of:
                continue
            place = Place(module, side, key, self._calls.get(id(module), 0))
            self._reaches(name, place, self._node(tensor), tensor)
            self._measuring = True  # for a getter is a call, too
            whole = tensor._base
            node = None if whole is None else self._node_of.get(whole)
            self._measuring = False
            if whole is not None and node is not None and node.version == whole._version:
                self._reaches(name, replace(place, whole=True), node, whole)

    def _reaches(self, name: str, place: Place, node: Node, tensor: Tensor) -> None:
        known = self.graph.boundaries.setdefault(node.at, [])
        known.append(Boundary(self._order, name, place, node.at))
        if len(known) == 1 and self._measure is not None:
            self._measuring = True
            self._measure(node.at, tensor)
            self._measuring = False


def floating(tensor: Tensor) -> bool:
    """Whether a tensor holds real or complex numbers. Indices and masks are no part of a stream."""
    return tensor.is_floating_point() or tensor.is_complex()


def tensors_in(value: Any, deep: int = 1) -> Iterator[tuple[Tensor, Key]]:
    """The tensors of an argument or an output with their keys; a tensor alone has the key None."""
    if isinstance(value, Tensor):
        yield value, None
    elif isinstance(value, Mapping):
        yield from ((item, key) for key, item in value.items() if isinstance(item, Tensor))
    elif isinstance(value, tuple | list):
        for at, item in enumerate(value):
            if isinstance(item, Tensor):
                yield item, at
            elif deep > 1 and isinstance(item, tuple | list):
                yield from tensors_in(item, deep - 1)


def output_of(value: Any) -> Tensor | None:
    """What a model answers: its logits where they have that name, else its first tensor that is no single number."""
    logits = value.get("logits") if isinstance(value, Mapping) else getattr(value, "logits", None)
    tensors = [logits] if isinstance(logits, Tensor) else [tensor for tensor, _ in tensors_in(value)]
    return next((tensor for tensor in tensors if floating(tensor) and tensor.ndim), None)
