"""How sharply the loss bends (largest Hessian eigenvalue,
Cohen 2021, 2103.00065), and how the stack stretches one token.

Both in float64 on the processor, in train mode. Legend: B samples, T tokens, D width, P parameters.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.answers import Sharpness, StreamJacobian
from models.generator import generator
from models.nets import Net
from models.nets.norms import TokenBatchNorm
from models.spec import RunConfig
from models.tasks.base import NO_LOSS
from models.training import Replays, Still, Work, cross_entropy
from models.training.replay import even_steps, within
from models.training.schedule import learning_rates

LOOKS = 8  # steps at which the sharpness is measured, the step shown among them
ITERATIONS = 100
RESIDUAL = 0.02  # |Hv - qv| / |q|, below which q is taken for an eigenvalue
PRODUCT_WORK = 4e9  # multiplications of one Hessian-vector product, which bound how many samples it is taken over
PRODUCT_PASSES = 6  # passes through the weights that one takes
PART_WORK = 2e8  # and of one part of it, between two of which other work goes on
WIDEST = 64  # stream of which the whole Jacobian is taken
SLICE = 2e8  # multiplications of some of its rows

Product = Callable[[Tensor], Tensor]  # v (P,) -> (P,)
Seen = TypeVar("Seen")


def sharpness(replays: Replays, cfg: RunConfig, *, step: int) -> Work[Sharpness]:
    """The largest eigenvalue of the Hessian of the loss by all
    parameters, at LOOKS even steps up to `step`, each on its batch.

    Fewer steps where the run diverges before.
    """
    last = min(max(0, int(step)), cfg.steps)
    wanted = even_steps(last, LOOKS)
    rates, rows, v, samples = learning_rates(cfg), [], None, 0
    for at, one in enumerate(wanted):
        still = yield from within(replays.still(cfg, one), at / len(wanted), (at + 0.3) / len(wanted))
        if still.step < one:
            break
        parts, samples = yield from within(hessian(still), (at + 0.3) / len(wanted), (at + 0.4) / len(wanted))
        count = sum(p.numel() for p in still.model.parameters() if p.requires_grad)
        v = v if v is not None else torch.randn(count, generator=generator(cfg.seed, "sharpness"), dtype=torch.float64)
        found = yield from within(largest(parts, v), (at + 0.4) / len(wanted), (at + 1) / len(wanted))
        value, residual, products, reached = found
        v = reached if reached.isfinite().all() else None
        rows.append((one, rates[min(one, cfg.steps - 1)], value, residual, products))
    return Sharpness(samples, *(np.array([row[at] for row in rows]) for at in range(5)))


def hessian(still: Still) -> Work[tuple[list[Product], int]]:
    """Parts whose sum is v (P,) -> H v, each over some samples,
    and how many samples of the step's batch there are in all.

    Batch norm joins all samples, so that there is one part.
    """
    model, x, y = _exact(still, still.batch())
    weights = sum(p.numel() for p in model.stream.parameters() if p.ndim > 1)
    samples = max(1, min(len(x), int(PRODUCT_WORK / (PRODUCT_PASSES * max(1, weights) * still.cfg.tokens))))
    part = int(PART_WORK / (PRODUCT_PASSES * max(1, weights) * still.cfg.tokens))
    size = samples if _has_batch_norm(model) else max(1, min(samples, part))
    parts, asked = [], (y[:samples] != NO_LOSS).sum()
    for some_x, some_y in zip(x[:samples].split(size), y[:samples].split(size), strict=True):
        parts.append(_product(model, some_x, some_y, (some_y != NO_LOSS).sum() / asked))
        yield len(parts) * size / samples
    return parts, samples


def _product(model: Net, x: Tensor, y: Tensor, share: Tensor) -> Product:
    """The product with the Hessian of a share of the loss, whose first derivative is kept."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    with sdpa_kernel(SDPBackend.MATH):  # the one attention that can be differentiated twice
        loss = share * cross_entropy(model(x), y)
        gradient = _flat(torch.autograd.grad(loss, parameters, create_graph=True, materialize_grads=True))

    def product(v: Tensor) -> Tensor:
        return _flat(torch.autograd.grad(gradient @ v, parameters, retain_graph=True, materialize_grads=True))

    return product


def largest(parts: Sequence[Product], start: Tensor) -> Work[tuple[float, float, int, Tensor]]:
    """The largest eigenvalue of the symmetric sum of some products,
    |Hv - qv| / |q|, how many products it took, and the vector.

    Power iteration finds the one of the largest size. Where that is negative, or a negative one of about that size
    keeps it from settling, H plus that size has the wanted one as its largest.
    """
    value, residual, products, v = yield from _power(parts, start, 0.0)
    if (value >= 0 and residual < RESIDUAL) or not math.isfinite(value):
        return value, residual, products, v
    value, residual, more, v = yield from _power(parts, start, -abs(value))
    return value, residual, products + more, v


def _power(parts: Sequence[Product], start: Tensor, shift: float) -> Work[tuple[float, float, int, Tensor]]:
    """Power iteration with H - shift: the eigenvalue of H itself that it comes to."""
    v = start / start.norm()
    value, residual = math.nan, math.nan
    for done in range(1, ITERATIONS + 1):
        image = torch.zeros_like(v)
        for product in parts:
            image += product(v)
            yield (done - 1) / ITERATIONS
        value = (v @ image).item()
        residual = (image - value * v).norm().item() / max(abs(value), 1e-300)
        moved = image - shift * v
        size = moved.norm().item()
        if residual < RESIDUAL or size == 0 or not math.isfinite(size):
            return value if math.isfinite(size) else math.nan, residual, done, v
        v = moved / size
    return value, residual, ITERATIONS, v


def stream_jacobian(still: Still) -> Work[StreamJacobian]:
    """The singular values of d end / d x0, where the end is what the final norm and the head read.

    ValueError for a stream wider than WIDEST.
    """
    width = still.cfg.width
    if width > WIDEST:
        raise ValueError(f"width is {width}; the Jacobian is taken up to {WIDEST}")
    model, x, _ = _exact(still, still.batch())
    x = x if _has_batch_norm(model) else x[:1]  # only batch norm lets a sample hear of the others
    weights = sum(p.numel() for p in model.parameters() if p.ndim > 1)
    model.requires_grad_(False)
    x0 = model.position(model.embed(x)).requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):  # the one whose backward takes several gradients at once
        end = model.stream(x0)[0, -1]
    rows = []
    for some in torch.eye(width, dtype=x0.dtype).split(max(1, int(SLICE / (weights * x0[..., 0].numel())))):
        (found,) = torch.autograd.grad(end, x0, some, retain_graph=True, is_grads_batched=True)
        rows.append(found[:, 0, -1])
        yield min(1.0, sum(map(len, rows)) / width)
    jacobian = torch.cat(rows)
    finite = bool(jacobian.isfinite().all())
    values = torch.linalg.svdvals(jacobian).numpy() if finite else np.full(width, np.nan)
    return StreamJacobian(values, still.cfg.tokens, len(x))


def _exact(still: Still, batch: tuple[Tensor, Tensor]) -> tuple[Net, Tensor, Tensor]:
    """The net and its batch in float64 on the processor."""
    model: nn.Module = still.model.cpu().double()
    assert isinstance(model, Net)
    x, y = (part.cpu() for part in batch)
    return model, x.double() if x.is_floating_point() else x, y


def _has_batch_norm(model: Net) -> bool:
    return any(isinstance(module, TokenBatchNorm) for module in model.modules())


def _flat(parts: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])
