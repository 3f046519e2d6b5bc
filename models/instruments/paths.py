"""Where the gradient came from: through the skip or the branch at every add, and through how many branches in all.

K gradients are carried backward together, one for each number of branches passed (Veit 2016, 1605.06431).

Legend: K gradients, B batch, T tokens, D width, M sublayers.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.answers import GradientShares, PathLengths
from models.nets import Net
from models.nets.build import matrix_size
from models.nets.hooks import Hook, hooked
from models.nets.stacks import DLCLStack, ResiDualStack, Stack
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work, cross_entropy

WORK = 2e10  # multiplications that a walk may take, a few seconds of one core; a larger net gets fewer samples
SLICE = 2e8  # multiplications between two yields
PLAIN_WALK = 3  # passes through the weights of a walk with one gradient: forward, backward to the stream, and slack


def gradient_shares(snapshot: Snapshot) -> Work[GradientShares]:
    """The gradient at every add, split by whether it came through the skip or through the branch."""
    samples = affordable_samples(snapshot, PLAIN_WALK)
    walk = yield from _walked(snapshot, samples=samples, counted=False)
    return GradientShares(samples, *(np.array(values) for values in zip(*reversed(walk.adds), strict=True)))


def path_lengths(snapshot: Snapshot) -> Work[PathLengths]:
    """The gradient at x0, split by the number of branches that it passed."""
    samples = affordable_samples(snapshot, (snapshot.cfg.sublayers + 1) / 2)
    walk = yield from _walked(snapshot, samples=samples, counted=True)
    by_count = walk.at_start.flatten(1)
    whole, lengths = by_count.sum(0), by_count.norm(dim=1)
    return PathLengths(
        samples=samples,
        share=(lengths / lengths.sum()).numpy(),
        projection=(by_count @ whole / whole.square().sum()).numpy(),
        length=lengths.numpy(),
        whole=whole.norm().item(),
    )


def affordable_samples(snapshot: Snapshot, passes: float) -> int:
    """How many samples of the batch keep a walk with `passes` passes through the weights within WORK."""
    weights = sum(matrix_size(sublayer) for sublayer in snapshot.model.stream.sublayers)
    return max(1, min(snapshot.cfg.batch, int(WORK / (max(1, weights) * snapshot.cfg.tokens * passes))))


def _walked(snapshot: Snapshot, *, samples: int, counted: bool) -> Work["_Walk"]:
    """A walk of the loss's gradient from the head to x0; `counted` splits it by the number of branches passed."""
    model, x, y_all = snapshot.exact()
    model.requires_grad_(False)
    x, y = x[:samples], y_all[:samples]
    inputs, out = _forward(model, x)
    end = out.requires_grad_()
    # The loss is a mean over the whole batch, so that each sample's gradient is the one in the log.
    share = (y != NO_LOSS).double().sum() / (y_all != NO_LOSS).sum()
    (grad,) = torch.autograd.grad(share * cross_entropy(model.read_out(end), y), end)
    walk = _Walk(inputs, counted, len(model.stream.sublayers))
    ways: dict[type[Stack], Callable[[Stack, Tensor], Work[Tensor]]] = {
        ResiDualStack: walk.two_streams,
        DLCLStack: walk.sums,
    }
    walk.at_start = yield from ways.get(type(model.stream), walk.one_stream)(model.stream, grad[None])
    return walk


@torch.no_grad()
def _forward(model: Net, x: Tensor) -> tuple[dict[nn.Module, Tensor], Tensor]:
    """The input of every sublayer and of every norm of the stack, and the end of the stream."""
    net = model.stream
    # A sublayer that was taken out has no norm, and passes its input on.
    taps = zip(net.sublayers, net.stream_taps[1:], strict=True)
    places: dict[nn.Module, nn.Module] = {sublayer: getattr(sublayer, "norm_in", tap) for sublayer, tap in taps}
    if isinstance(net, ResiDualStack):
        places[net.norm_collected] = net.norm_collected
    if isinstance(net, DLCLStack):
        places |= {norm: norm for norm in net.norms}
    inputs: dict[nn.Module, Tensor] = {}

    def recording(owner: nn.Module) -> Hook:
        return lambda _module, given, _output: inputs.__setitem__(owner, given[0])

    with hooked((place, recording(owner)) for owner, place in places.items()), sdpa_kernel(SDPBackend.MATH):
        return inputs, net(model.position(model.embed(x)))


class _Walk:
    """A walk backward through one net, which yields the share that is done.

    `inputs`: the input of each module of the stack. `total`: its sublayers.
    """

    at_start: Tensor  # the gradient at x0, (K, B, T, D)

    def __init__(self, inputs: dict[nn.Module, Tensor], counted: bool, total: int) -> None:
        self.inputs, self.counted, self.total, self.done = inputs, counted, total, 0
        self.adds: list[list[float]] = []  # the numbers of `_split`, from the last sublayer to the first

    def one_stream(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        for sublayer in reversed(net.sublayers):
            grad = yield from self._sublayer(sublayer, grad)
        return grad

    def two_streams(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        """ResiDual: the collected stream's gradient never changes, and enters every branch besides that of the add."""
        assert isinstance(net, ResiDualStack)
        collected = yield from self._pulled(net.norm_collected, self.inputs[net.norm_collected], grad)
        for sublayer in reversed(net.sublayers):
            grad = yield from self._sublayer(sublayer, grad, collected)
        return _added(grad, collected)

    def sums(self, net: Stack, grad: Tensor) -> Work[Tensor]:
        """DLCL: a block's output gets the sum of the gradients of all later blocks that read it, and of the head."""
        assert isinstance(net, DLCLStack)
        blocks = list(net.blocks.values())
        at_sums = {len(blocks): grad}
        for at in reversed(range(len(blocks) + 1)):
            grad = torch.zeros_like(grad[:1])
            for later, at_sum in at_sums.items():
                grad = _added(grad, net.weights[later][at] * at_sum)
            grad = yield from self._pulled(net.norms[at], self.inputs[net.norms[at]], grad)
            if at == 0:
                break
            for sublayer in reversed(list(blocks[at - 1].values())):  # type: ignore[operator]
                grad = yield from self._sublayer(sublayer, grad)
            at_sums[at - 1] = grad
        return grad

    def _sublayer(self, sublayer: nn.Module, grad: Tensor, collected: Tensor | None = None) -> Work[Tensor]:
        """The gradient (K, B, T, D) after a sublayer -> before it; if counted, what took the branch moves up by one."""
        x = self.inputs[sublayer].detach()
        once, through = (x.clone().requires_grad_() for _ in range(2))
        # The only attention kernel whose backward takes several gradients at once. Not across a yield: other work runs
        # in between.
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
        passed = yield from self._back(branch, through, entered, matrix_size(sublayer))
        self.done += 1
        if not self.counted:
            self.adds.append(_split(skip, passed))
            return skip + passed
        return _added(skip, F.pad(passed, (0, 0) * 3 + (1, 0))) if branch.requires_grad else skip

    def _pulled(self, module: nn.Module, x: Tensor, grad: Tensor) -> Work[Tensor]:
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            out = module(x)
        return (yield from self._back(out, x, grad))

    def _back(self, out: Tensor, at: Tensor, grad: Tensor, weights: int = 0) -> Work[Tensor]:
        """The gradients at `at` from K gradients at `out`, computed in slices; 0 where `out` does not depend on it."""
        if not out.requires_grad:
            return at.new_zeros(len(grad), *at.shape)
        slices = []
        for chunk in grad.split(max(1, int(SLICE / max(1, weights * at[..., 0].numel())))):
            (grads,) = torch.autograd.grad(out, at, chunk, retain_graph=True, allow_unused=True, is_grads_batched=True)
            slices.append(at.new_zeros(len(chunk), *at.shape) if grads is None else grads)
            yield self.done / self.total
        return torch.cat(slices)


def _split(skip: Tensor, branch: Tensor) -> list[float]:
    """RMS of the gradients through skip and branch and of their sum, and the projections of the first two on it."""
    both = skip + branch
    sizes = [part.square().mean().sqrt().item() for part in (skip, branch, both)]
    return sizes + [((part * both).sum() / both.square().sum()).item() for part in (skip, branch)]


def _added(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two stacks of gradients, the shorter one filled up with zeros."""
    places = max(len(a), len(b))
    return _padded(a, places) + _padded(b, places)


def _padded(grads: Tensor, places: int) -> Tensor:
    return F.pad(grads, (0, 0) * (grads.ndim - 1) + (0, places - len(grads)))
