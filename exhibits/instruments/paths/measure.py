"""Paths of the gradient: through skip or branch at every add, and by the number of branches passed.

K gradients are carried backward together, one for each number of branches passed (Veit 2016, 1605.06431).

Legend: K gradients, B batch, T tokens, D width.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from exhibits.instruments.paths.answer import GRADIENT_SHARES, PATH_LENGTHS, GradientShares, PathLengths
from models.instruments import on_snapshot
from models.nets import Net
from models.nets.branches import FirstValues, ValueResidual
from models.nets.build import matrix_size
from models.nets.hooks import Hook, forward_hooks
from models.nets.stacks import DLCLStack, ResiDualStack, ScalarStack, Stack
from models.spec.vocabulary import CONNECTED
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work, cross_entropy

MAX_WORK = 2e10  # multiplications of one walk, a few seconds of one core; a larger net gets fewer samples
MAX_SLICE_WORK = 2e8  # multiplications between two yields
PLAIN_WALK_PASSES = 3  # passes through the weights that a walk with one gradient costs: forward, backward, and a margin


def gradient_shares(snapshot: Snapshot) -> Work[GradientShares]:
    """The gradient at every add, split into what came through the skip and through the branch."""
    samples = affordable_samples(snapshot, PLAIN_WALK_PASSES)
    walk, _ = yield from _walk_back(snapshot, samples=samples, by_count=False)
    columns = map(np.array, zip(*reversed(walk.add_gradients), strict=True))
    return GradientShares(samples, **dict(zip(AddGradients._fields, columns, strict=True)))


def path_lengths(snapshot: Snapshot) -> Work[PathLengths]:
    """The gradient at x0, split by the number of branches that it passed."""
    samples = affordable_samples(snapshot, (snapshot.cfg.sublayers + 1) / 2)
    _, grad = yield from _walk_back(snapshot, samples=samples, by_count=True)
    by_count = grad.flatten(1)
    whole = by_count.sum(0)
    lengths = by_count.norm(dim=1)
    return PathLengths(
        samples=samples,
        share=(lengths / lengths.sum()).numpy(),
        projection=(by_count @ whole / whole.square().sum()).numpy(),
        length=lengths.numpy(),
        whole=whole.norm().item(),
    )


def affordable_samples(snapshot: Snapshot, passes: float) -> int:
    """Largest number of samples with which a walk of `passes` passes through the weights stays within MAX_WORK."""
    weights = sum(matrix_size(sublayer) for sublayer in snapshot.model.stream.sublayers)
    return max(1, min(snapshot.cfg.batch, int(MAX_WORK / (max(1, weights) * snapshot.cfg.tokens * passes))))


def _walk_back(snapshot: Snapshot, *, samples: int, by_count: bool) -> Work[tuple["BackwardWalk", Tensor]]:
    """Carries the loss's gradient from the head to x0; `by_count` splits it by the number of branches passed.

    Returns the finished walk, and the gradient at x0, (K, B, T, D).
    """
    if snapshot.cfg.stack in CONNECTED:
        raise ValueError(f"stack is {snapshot.cfg.stack!r}: its gradient is not split by residual and branch")
    model, x, y_all = snapshot.exact()
    model.requires_grad_(False)
    x = x[:samples]
    y = y_all[:samples]
    inputs, stream_end = _forward(model, x)
    stream_end.requires_grad_()
    # Scaled to a mean over the whole batch, so that each sample's gradient equals the one in the log.
    share = (y != NO_LOSS).double().sum() / (y_all != NO_LOSS).sum()
    (grad,) = torch.autograd.grad(share * cross_entropy(model.read_out(stream_end), y), stream_end)
    walk = BackwardWalk(inputs, by_count, len(model.stream.sublayers))
    by_stack: dict[type[Stack], Callable[[Stack, Tensor], Work[Tensor]]] = {
        ResiDualStack: walk.two_streams,
        DLCLStack: walk.layer_sums,
        ScalarStack: walk.scaled_stream,
    }
    carry = by_stack.get(type(model.stream), walk.one_stream)
    grad_at_x0 = yield from carry(model.stream, grad[None])
    return walk, grad_at_x0


@torch.no_grad()
def _forward(model: Net, x: Tensor) -> tuple[dict[nn.Module, Tensor], Tensor]:
    """Input of every sublayer and of every norm of the stack, and the end of the stream."""
    net = model.stream
    # The input of a sublayer is that of its first norm. One that was taken out has no norm, but returns its input.
    taps = zip(net.sublayers, net.stream_taps[1:], strict=True)
    hooked_modules: dict[nn.Module, nn.Module] = {sublayer: getattr(sublayer, "norm_in", tap) for sublayer, tap in taps}
    if isinstance(net, ResiDualStack):
        hooked_modules[net.norm_collected] = net.norm_collected
    if isinstance(net, DLCLStack):
        hooked_modules |= {norm: norm for norm in net.norms}
    hooked_modules |= {part: part for part in model.modules() if isinstance(part, ValueResidual) and part.is_first}
    inputs: dict[nn.Module, Tensor] = {}

    def recorder(owner: nn.Module) -> Hook:
        def record(_module: nn.Module, args: tuple[Any, ...], _output: Any) -> None:
            inputs[owner] = args[0]

        return record

    hooks = [(module, recorder(owner)) for owner, module in hooked_modules.items()]
    with forward_hooks(hooks), sdpa_kernel(SDPBackend.MATH):
        return inputs, net(model.position(model.embed(x)))


class AddGradients(NamedTuple):
    """The gradient at one add by skip and branch: RMS of both and of their sum, and projections on the sum."""

    skip_rms: float
    branch_rms: float
    sum_rms: float
    skip_projection: float
    branch_projection: float


class BackwardWalk:
    """A walk backward through one net, which yields the share of sublayers that are done.

    `inputs` holds the input of each module of the stack, `total` is the number of sublayers.
    """

    def __init__(self, inputs: dict[nn.Module, Tensor], by_count: bool, total: int) -> None:
        self.inputs = inputs
        self.by_count = by_count
        self.total = total
        self.done = 0
        self.add_gradients: list[AddGradients] = []  # from the last sublayer to the first
        first_values = [x.detach() for module, x in inputs.items() if isinstance(module, ValueResidual)]
        self.first_values = first_values[0] if first_values else torch.empty(0)
        self.value_grad = torch.zeros_like(self.first_values)[None]  # of all later attentions that mix them in

    def one_stream(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        for sublayer in reversed(net.sublayers):
            grad = yield from self._through_sublayer(sublayer, grad)
        return grad

    def scaled_stream(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        """Learned scalars: before each block a part of the gradient goes to x0 at once."""
        assert isinstance(net, ScalarStack)
        at_x0 = torch.zeros_like(grad)
        for scalars, block in reversed(list(zip(net.scalars, net.blocks.values(), strict=True))):
            for sublayer in reversed(list(block.values())):  # type: ignore[operator]
                grad = yield from self._through_sublayer(sublayer, grad)
            at_x0 = _padded_sum(at_x0, scalars.x0_lambda * grad)  # type: ignore[operator]
            grad = scalars.resid_lambda * grad  # type: ignore[operator]
        return _padded_sum(grad, at_x0)

    def two_streams(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        """ResiDual: every branch also gets the gradient of the collected stream, which is the same at every depth."""
        assert isinstance(net, ResiDualStack)
        collected = yield from self._through_module(net.norm_collected, grad)
        for sublayer in reversed(net.sublayers):
            grad = yield from self._through_sublayer(sublayer, grad, collected)
        return _padded_sum(grad, collected)

    def layer_sums(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        """DLCL: a block's output gets the sum of the gradients of all later blocks that read it, and of the head."""
        assert isinstance(net, DLCLStack)
        blocks = list(net.blocks.values())
        sum_grads = {len(blocks): grad}  # gradient at the sum that each block reads; the last is the head's
        for block in reversed(range(len(blocks) + 1)):
            grad = torch.zeros_like(grad[:1])
            for reader, sum_grad in sum_grads.items():
                grad = _padded_sum(grad, net.weights[reader][block] * sum_grad)
            grad = yield from self._through_module(net.norms[block], grad)
            if block == 0:
                break
            for sublayer in reversed(list(blocks[block - 1].values())):  # type: ignore[operator]
                grad = yield from self._through_sublayer(sublayer, grad)
            sum_grads[block - 1] = grad
        return grad

    def _through_sublayer(self, sublayer: nn.Module, grad: Tensor, collected: Tensor | None = None) -> Work[Tensor]:
        """The gradient (K, B, T, D) before a sublayer from the one after it."""
        x = self.inputs[sublayer].detach()
        x_skip, x_branch = (x.clone().requires_grad_() for _ in range(2))
        mix = getattr(getattr(sublayer, "function", None), "value_residual", None)
        values = mix.values if isinstance(mix, ValueResidual) else FirstValues()
        values.open(self.first_values.clone().requires_grad_())
        # The only attention kernel whose backward takes several gradients at once. It is not set across a yield,
        # because other work runs in between.
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            branch = sublayer.branch(x_branch)  # type: ignore[operator]
            branch_leaf = branch.detach().requires_grad_()
            out = sublayer.add(x_skip, branch_leaf)  # type: ignore[operator]
        v = values.close()  # the first attention's own, or what a later one was given
        assert v is not None
        skip_grad = yield from self._vjp(out, x_skip, grad)
        branch_grad = yield from self._vjp(out, branch_leaf, grad)
        if collected is not None:
            # The branch of a sublayer that was taken out is a single 0, of shape (1,): nothing of it is collected.
            has_branch = branch_leaf.shape == x.shape
            extra = collected.expand_as(x[None]) if has_branch else torch.zeros_like(branch_grad[:1])
            branch_grad = _padded_sum(branch_grad, extra)
        through_branch = yield from self._vjp(branch, x_branch, branch_grad, matrix_size(sublayer))
        if isinstance(mix, ValueResidual) and mix.is_first:
            through_branch = _padded_sum(through_branch, (yield from self._vjp(v, x_branch, self.value_grad)))
        elif isinstance(mix, ValueResidual):
            value_grad = yield from self._vjp(branch, v, branch_grad)
            self.value_grad = _padded_sum(self.value_grad, _shift_count(value_grad) if self.by_count else value_grad)
        self.done += 1
        if not self.by_count:
            self.add_gradients.append(_add_gradients(skip_grad, through_branch))
            return skip_grad + through_branch
        if not branch.requires_grad:
            return skip_grad
        return _padded_sum(skip_grad, _shift_count(through_branch))

    def _through_module(self, module: nn.Module, grad: Tensor) -> Work[Tensor]:
        x = self.inputs[module].detach().requires_grad_()
        with torch.enable_grad():
            out = module(x)
        return (yield from self._vjp(out, x, grad))

    def _vjp(self, out: Tensor, x: Tensor, grad: Tensor, weights: int = 0) -> Work[Tensor]:
        """K gradients at `x` from K gradients at `out`, computed in slices; 0 if `out` does not depend on `x`."""
        if not out.requires_grad:
            return x.new_zeros(len(grad), *x.shape)
        slices = []
        for chunk in grad.split(max(1, int(MAX_SLICE_WORK / max(1, weights * x[..., 0].numel())))):
            (grads,) = torch.autograd.grad(out, x, chunk, retain_graph=True, allow_unused=True, is_grads_batched=True)
            slices.append(x.new_zeros(len(chunk), *x.shape) if grads is None else grads)
            yield self.done / self.total
        return torch.cat(slices)


def _add_gradients(skip: Tensor, branch: Tensor) -> AddGradients:
    total = skip + branch
    sizes = [part.square().mean().sqrt().item() for part in (skip, branch, total)]
    projections = [((part * total).sum() / total.square().sum()).item() for part in (skip, branch)]
    return AddGradients(*sizes, *projections)


def _shift_count(grad: Tensor) -> Tensor:
    """Gradients (K, ...) as (K + 1, ...): each has passed one more branch, and none has passed 0."""
    return F.pad(grad, (0, 0) * (grad.ndim - 1) + (1, 0))


def _padded_sum(a: Tensor, b: Tensor) -> Tensor:
    """Sum of two stacks of gradients, the shorter one padded with zeros."""
    length = max(len(a), len(b))
    a, b = (F.pad(x, (0, 0) * (x.ndim - 1) + (0, length - len(x))) for x in (a, b))
    return a + b


MEASURES = {GRADIENT_SHARES: on_snapshot(gradient_shares), PATH_LENGTHS: on_snapshot(path_lengths)}
