"""Where the gradient came from: through the skip or through the branch at every add, and past how many branches in all.

K gradients are carried backward together, one for each number of branches that they have passed (Veit 2016,
1605.06431). Legend: K gradients, B batch, T tokens, D width, M sublayers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.answers import GradientShares, PathLengths
from models.nets import Net
from models.nets.stacks import DLCLStack, ResiDualStack, Stack
from models.training import Still, Work, cross_entropy

WORK = 2e10  # multiplications that a walk may take: a few seconds of one core; a net that needs more gets fewer samples
SLICE = 2e8  # multiplications between two looks at the clock
PLAIN_WALK = 3  # passes of the weights that a walk with one gradient takes: forward, backward to the stream, and slack

NO_TARGET = -100


def gradient_shares(still: Still) -> Work[GradientShares]:
    """The gradient at every add, apart by the way that it came: through the skip or through the branch."""
    samples = affordable_samples(still, PLAIN_WALK)
    walk = yield from _walked(still, samples=samples, counted=False)
    return GradientShares(samples, *(np.array(values) for values in zip(*reversed(walk.adds), strict=True)))


def path_lengths(still: Still) -> Work[PathLengths]:
    """The gradient at x0 by the number of branches that it passed."""
    samples = affordable_samples(still, (still.cfg.sublayers + 1) / 2)
    walk = yield from _walked(still, samples=samples, counted=True)
    by_count = walk.at_start.flatten(1)
    whole, lengths = by_count.sum(0), by_count.norm(dim=1)
    return PathLengths(
        samples=samples,
        share=(lengths / lengths.sum()).numpy(),
        projection=(by_count @ whole / whole.square().sum()).numpy(),
        length=lengths.numpy(),
        whole=whole.norm().item(),
    )


def affordable_samples(still: Still, passes: float) -> int:
    """How many samples of the batch a walk that goes so many
    times through the weights is taken over: its work is bounded.
    """
    weights = sum(_weights(sublayer) for sublayer in still.model.stream.sublayers)
    return max(1, min(still.cfg.batch, int(WORK / (max(1, weights) * still.cfg.tokens * passes))))


def _walked(still: Still, *, samples: int, counted: bool) -> Work["_Walk"]:
    """Carries the gradient of the loss from the head to x0.
    `counted` keeps it apart by the number of branches passed.
    """
    model = still.model.cpu().double().requires_grad_(False)
    x, y_all = (part.cpu() for part in still.batch())
    x, y = x[:samples], y_all[:samples]
    read, out = _forward(model, x.double() if x.is_floating_point() else x)
    end = out.requires_grad_()
    # The loss is a mean over the whole batch: each sample's gradient is then the one that the tape shows.
    share = (y != NO_TARGET).double().sum() / (y_all != NO_TARGET).sum()
    (grad,) = torch.autograd.grad(share * cross_entropy(model.read_out(end), y), end)
    walk = _Walk(read, counted, len(model.stream.sublayers))
    ways: dict[type[Stack], Callable[[Stack, Tensor], Work[Tensor]]] = {
        ResiDualStack: walk.two_streams,
        DLCLStack: walk.sums,
    }
    walk.at_start = yield from ways.get(type(model.stream), walk.one_stream)(model.stream, grad[None])
    return walk


@torch.no_grad()
def _forward(model: Net, x: Tensor) -> tuple[dict[nn.Module, Tensor], Tensor]:
    """What every sublayer and every norm of the stack reads, and the end of the stream."""
    net = model.stream
    # A sublayer that was taken out has no norm, and hands on what it reads.
    taps = zip(net.sublayers, net.stream_taps[1:], strict=True)
    places: dict[nn.Module, nn.Module] = {sublayer: getattr(sublayer, "norm_in", tap) for sublayer, tap in taps}
    if isinstance(net, ResiDualStack):
        places[net.norm_collected] = net.norm_collected
    if isinstance(net, DLCLStack):
        places |= {norm: norm for norm in net.norms}
    read: dict[nn.Module, Tensor] = {}
    with _reading(places, read), sdpa_kernel(SDPBackend.MATH):
        return read, net(model.position(model.embed(x)))


@contextmanager
def _reading(places: dict[nn.Module, nn.Module], read: dict[nn.Module, Tensor]) -> Iterator[None]:
    def keeper(owner: nn.Module) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        return lambda _module, inputs: read.__setitem__(owner, inputs[0])

    handles = [place.register_forward_pre_hook(keeper(owner)) for owner, place in places.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class _Walk:
    """A walk backward through one net, which yields the share
    that is done. `read`: what each module of the stack read.
    """

    at_start: Tensor  # the gradient at x0, (K, B, T, D)

    def __init__(self, read: dict[nn.Module, Tensor], counted: bool, total: int) -> None:
        self.read, self.counted, self.total, self.done = read, counted, total, 0
        self.adds: list[list[float]] = []  # by `_add_of`, from the last sublayer to the first

    def one_stream(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        for sublayer in reversed(net.sublayers):
            grad = yield from self._sublayer(sublayer, grad)
        return grad

    def two_streams(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        """ResiDual: the collected stream's gradient stays what it is, and enters every branch beside the add's."""
        assert isinstance(net, ResiDualStack)
        collected = yield from self._pulled(net.norm_collected, self.read[net.norm_collected], grad)
        for sublayer in reversed(net.sublayers):
            grad = yield from self._sublayer(sublayer, grad, collected)
        return _added(grad, collected)

    def sums(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        """DLCL: what a block's output gets is summed over all later blocks that read it, and over the head."""
        assert isinstance(net, DLCLStack)
        blocks = list(net.blocks.values())
        at_sums = {len(blocks): grad}
        for at in reversed(range(len(blocks) + 1)):
            grad = torch.zeros_like(grad[:1])
            for later, at_sum in at_sums.items():
                grad = _added(grad, net.weights[later][at] * at_sum)
            grad = yield from self._pulled(net.norms[at], self.read[net.norms[at]], grad)
            if at == 0:
                break
            for sublayer in reversed(list(blocks[at - 1].values())):  # type: ignore[operator]
                grad = yield from self._sublayer(sublayer, grad)
            at_sums[at - 1] = grad
        return grad

    def _sublayer(self, sublayer: nn.Module, grad: Tensor, collected: Tensor | None = None) -> Work[Tensor]:
        """The gradient (K, B, T, D) after a sublayer -> before
        it, with one more place for those that took its branch.
        """
        x = self.read[sublayer].detach()
        once, through = (x.clone().requires_grad_() for _ in range(2))
        # The one attention whose backward takes several gradients
        # at once; never over a yield, other work goes on there.
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            branch = sublayer.branch(through)  # type: ignore[operator]
            cut = branch.detach().requires_grad_()
            after = sublayer.add(once, cut)  # type: ignore[operator]
        skip = yield from self._back(after, once, grad)
        entered = yield from self._back(after, cut, grad)
        if collected is not None:
            entered = _added(
                entered, collected.expand_as(x[None]) if cut.shape == x.shape else torch.zeros_like(entered[:1])
            )
        passed = yield from self._back(branch, through, entered, _weights(sublayer))
        self.done += 1
        if not self.counted:
            self.adds.append(_add_of(skip, passed))
            return skip + passed
        return _added(skip, F.pad(passed, (0, 0) * 3 + (1, 0))) if branch.requires_grad else skip

    def _pulled(self, module: nn.Module, x: Tensor, grad: Tensor) -> Work[Tensor]:
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            out = module(x)
        return (yield from self._back(out, x, grad))

    def _back(self, out: Tensor, at: Tensor, grad: Tensor, weights: int = 0) -> Work[Tensor]:
        """The product of K gradients at `out` with the Jacobian, as
        many at a time as a slice holds. 0 where none leads there.
        """
        if not out.requires_grad:
            return at.new_zeros(len(grad), *at.shape)
        found = []
        for chunk in grad.split(max(1, int(SLICE / max(1, weights * at[..., 0].numel())))):
            (one,) = torch.autograd.grad(out, at, chunk, retain_graph=True, allow_unused=True, is_grads_batched=True)
            found.append(at.new_zeros(len(chunk), *at.shape) if one is None else one)
            yield self.done / self.total
        return torch.cat(found)


def _add_of(skip: Tensor, branch: Tensor) -> list[float]:
    """RMS of the gradient through skip and branch and of their sum, and the projections of the first two on it."""
    both = skip + branch
    sizes = [part.square().mean().sqrt().item() for part in (skip, branch, both)]
    return sizes + [((part * both).sum() / both.square().sum()).item() for part in (skip, branch)]


def _added(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two stacks of gradients by place, the shorter one followed by zeros."""
    places = max(len(a), len(b))
    return _padded(a, places) + _padded(b, places)


def _padded(grads: Tensor, places: int) -> Tensor:
    return F.pad(grads, (0, 0) * (grads.ndim - 1) + (0, places - len(grads)))


def _weights(module: nn.Module) -> int:
    """Numbers in the matrices of a module, each a multiplication per token."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.ndim > 1)
