"""Curvature: the sharpness of the loss (largest Hessian eigenvalue, Cohen 2021, 2103.00065), and the stack's Jacobian.

Both in float64 on the CPU, in train mode. Legend: B samples, T tokens, D width, P parameters.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.answers import Sharpness, StreamJacobian
from models.generator import generator
from models.nets import Net
from models.nets.build import matrix_size
from models.spec import RunConfig
from models.spec.plan import normed_over_batch
from models.spec.schedule import learning_rates
from models.tasks.base import NO_LOSS
from models.training import Replays, Snapshot, Work, cross_entropy
from models.training.replay import even_steps, within

MEASURED_STEPS = 8  # steps at which the sharpness is measured, the last of them the one that was asked for
ITERATIONS = 100
RESIDUAL = 0.02  # |Hv - qv| / |q| below which q counts as an eigenvalue
PRODUCT_WORK = 4e9  # most multiplications of one Hessian-vector product; a costlier one is taken over fewer samples
PRODUCT_PASSES = 6  # passes through the weights that one product takes
PART_WORK = 2e8  # multiplications of one part of a product: other work can go on between parts
WIDEST = 64  # width up to which the whole Jacobian is taken
SLICE = 2e8  # multiplications of one slice of its rows

Product = Callable[[Tensor], Tensor]  # v (P,) -> (P,)


class Eigenvalue(NamedTuple):
    """The result of power iteration."""

    value: float
    residual: float  # |Hv - qv| / |q|
    products: int  # Hessian-vector products taken
    vector: Tensor  # (P,)


def sharpness(replays: Replays, cfg: RunConfig, *, step: int) -> Work[Sharpness]:
    """The largest eigenvalue of the loss's Hessian, at MEASURED_STEPS even steps up to `step`, each on its own batch.

    Fewer steps where the run diverges earlier.
    """
    last = min(max(0, int(step)), cfg.steps)
    steps = even_steps(last, MEASURED_STEPS)
    rates, rows, start, samples = learning_rates(cfg), [], None, 0
    for at, look in enumerate(steps):
        snapshot = yield from within(replays.snapshot(cfg, look), at / len(steps), (at + 0.3) / len(steps))
        if snapshot.step < look:
            break
        power, samples = yield from within(
            sharpness_of(snapshot, start), (at + 0.3) / len(steps), (at + 1) / len(steps)
        )
        start = power.vector if power.vector.isfinite().all() else None
        rows.append((look, rates[min(look, cfg.steps - 1)], power.value, power.residual, power.products))
    return Sharpness(samples, *(np.array([row[at] for row in rows]) for at in range(5)))


def sharpness_of(snapshot: Snapshot, start: Tensor | None = None) -> Work[tuple[Eigenvalue, int]]:
    """The largest eigenvalue of the Hessian of the batch's loss, and over how many samples it was taken.

    Power iteration begins at `start`, else at a random vector that the seed decides.
    """
    parts, samples = yield from within(hessian(snapshot), 0.0, 1 / 7)
    if start is None:
        count = sum(p.numel() for p in snapshot.model.parameters() if p.requires_grad)
        start = torch.randn(count, generator=generator(snapshot.cfg.seed, "sharpness"), dtype=torch.float64)
    return (yield from within(largest(parts, start), 1 / 7, 1.0)), samples


def hessian(snapshot: Snapshot) -> Work[tuple[list[Product], int]]:
    """Products with the Hessian over parts of the step's batch, which add up to H v, and the number of samples.

    Batch norm mixes samples, so there is then one part.
    """
    model, x, y = snapshot.exact()
    work = PRODUCT_PASSES * max(1, matrix_size(model.stream)) * snapshot.cfg.tokens
    samples = max(1, min(len(x), int(PRODUCT_WORK / work)))
    size = samples if normed_over_batch(snapshot.cfg) else max(1, min(samples, int(PART_WORK / work)))
    parts, counted = [], (y[:samples] != NO_LOSS).sum()
    for part_x, part_y in zip(x[:samples].split(size), y[:samples].split(size), strict=True):
        parts.append(_product(model, part_x, part_y, (part_y != NO_LOSS).sum() / counted))
        yield len(parts) * size / samples
    return parts, samples


def _product(model: Net, x: Tensor, y: Tensor, share: Tensor) -> Product:
    """The product with the Hessian of a share of the loss; its first derivative is computed once."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    with sdpa_kernel(SDPBackend.MATH):  # the only attention kernel that can be differentiated twice
        loss = share * cross_entropy(model(x), y)
        gradient = _flat(torch.autograd.grad(loss, parameters, create_graph=True, materialize_grads=True))

    def product(v: Tensor) -> Tensor:
        return _flat(torch.autograd.grad(gradient @ v, parameters, retain_graph=True, materialize_grads=True))

    return product


def largest(parts: Sequence[Product], start: Tensor) -> Work[Eigenvalue]:
    """The largest eigenvalue of H, the sum of some symmetric products.

    Power iteration finds the eigenvalue of largest size. If that is negative, or a negative one of similar size keeps
    it from settling, it runs again on H plus that size, where the wanted eigenvalue is the largest.
    """
    power = yield from _power(parts, start, 0.0)
    if (power.value >= 0 and power.residual < RESIDUAL) or not math.isfinite(power.value):
        return power
    shifted = yield from _power(parts, start, -abs(power.value))
    return shifted._replace(products=power.products + shifted.products)


def _power(parts: Sequence[Product], start: Tensor, shift: float) -> Work[Eigenvalue]:
    """The eigenvalue of H that power iteration with H - shift converges to."""
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
            return Eigenvalue(value if math.isfinite(size) else math.nan, residual, done, v)
        v = moved / size
    return Eigenvalue(value, residual, ITERATIONS, v)


def stream_jacobian(snapshot: Snapshot) -> Work[StreamJacobian]:
    """The singular values of d x_end / d x0 of the last token, before the final norm. ValueError beyond WIDEST."""
    width = snapshot.cfg.width
    if width > WIDEST:
        raise ValueError(f"width is {width}; the Jacobian is taken up to {WIDEST}")
    model, x, _ = snapshot.exact()
    x = x if normed_over_batch(snapshot.cfg) else x[:1]  # without batch norm no other sample matters
    weights = matrix_size(model)
    model.requires_grad_(False)
    x0 = model.position(model.embed(x)).requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):  # the only attention kernel whose backward takes several gradients at once
        end = model.stream(x0)[0, -1]
    rows = []
    for directions in torch.eye(width, dtype=x0.dtype).split(max(1, int(SLICE / (weights * x0[..., 0].numel())))):
        (slopes,) = torch.autograd.grad(end, x0, directions, retain_graph=True, is_grads_batched=True)
        rows.append(slopes[:, 0, -1])
        yield min(1.0, sum(map(len, rows)) / width)
    jacobian = torch.cat(rows)
    finite = bool(jacobian.isfinite().all())
    values = torch.linalg.svdvals(jacobian).numpy() if finite else np.full(width, np.nan)
    return StreamJacobian(values, snapshot.cfg.tokens, len(x))


def _flat(parts: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])
