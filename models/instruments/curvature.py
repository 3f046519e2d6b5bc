"""Curvature: the sharpness of the loss, its largest Hessian eigenvalue (Cohen 2021, 2103.00065).

In float64 on the CPU, in train mode. Legend: P parameters.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from models.generator import generator
from models.nets import Net
from models.nets.build import matrix_size
from models.spec.plan import uses_batch_statistics
from models.tasks.base import NO_LOSS
from models.training import Snapshot, Work, cross_entropy
from models.training.replay import rescale_progress

MAX_ITERATIONS = 100  # of power iteration
MAX_RESIDUAL = 0.02  # |Hv - qv| / |q| below which q counts as an eigenvalue
MAX_PRODUCT_WORK = 4e9  # multiplications of a Hessian-vector product; a costlier one is taken over fewer samples
PRODUCT_PASSES = 6  # passes through the weights that a product takes
MAX_PART_WORK = 2e8  # multiplications of one part of a product; other work can run between parts

Product = Callable[[Tensor], Tensor]  # v (P,) -> (P,)


class Eigenvalue(NamedTuple):
    """The result of power iteration."""

    value: float
    residual: float  # |Hv - qv| / |q|
    products: int  # Hessian-vector products taken
    vector: Tensor  # (P,)

    @property
    def finite_vector(self) -> Tensor | None:
        """The eigenvector, as the start of another power iteration; None if it is not finite."""
        return self.vector if self.vector.isfinite().all() else None


def sharpness_of(snapshot: Snapshot, start: Tensor | None = None) -> Work[tuple[Eigenvalue, int]]:
    """Largest eigenvalue of the Hessian of the batch's loss, and the number of samples it was taken over.

    Power iteration begins at `start`, or at a random vector that the seed decides.
    """
    parts, samples = yield from rescale_progress(hessian_products(snapshot), 0.0, 1 / 7)
    if start is None:
        count = sum(p.numel() for p in snapshot.model.parameters() if p.requires_grad)
        start = torch.randn(count, generator=generator(snapshot.cfg.seed, "sharpness"), dtype=torch.float64)
    return (yield from rescale_progress(largest_eigenvalue(parts, start), 1 / 7, 1.0)), samples


def hessian_products(snapshot: Snapshot) -> Work[tuple[list[Product], int]]:
    """Hessian-vector products over parts of the step's batch, which sum to H v, and the number of samples in all.

    There is one part under batch norm, which mixes samples.
    """
    model, x, y = snapshot.exact()
    sample_work = PRODUCT_PASSES * max(1, matrix_size(model.stream)) * snapshot.cfg.tokens
    samples = max(1, min(len(x), int(MAX_PRODUCT_WORK / sample_work)))
    size = samples if uses_batch_statistics(snapshot.cfg) else max(1, min(samples, int(MAX_PART_WORK / sample_work)))
    losses = (y[:samples] != NO_LOSS).sum()
    parts = []
    for part_x, part_y in zip(x[:samples].split(size), y[:samples].split(size), strict=True):
        parts.append(_product(model, part_x, part_y, (part_y != NO_LOSS).sum() / losses))
        yield len(parts) * size / samples
    return parts, samples


def _product(model: Net, x: Tensor, y: Tensor, share: Tensor) -> Product:
    """Product with the Hessian of `share` times the loss; the first derivative is computed once."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    with sdpa_kernel(SDPBackend.MATH):  # the only attention kernel that can be differentiated twice
        loss = share * cross_entropy(model(x), y)
        gradient = _flat(torch.autograd.grad(loss, parameters, create_graph=True, materialize_grads=True))

    def product(v: Tensor) -> Tensor:
        return _flat(torch.autograd.grad(gradient @ v, parameters, retain_graph=True, materialize_grads=True))

    return product


def largest_eigenvalue(parts: Sequence[Product], start: Tensor) -> Work[Eigenvalue]:
    """Largest eigenvalue of H, the sum of some symmetric products.

    Power iteration finds the eigenvalue of largest magnitude. If that is negative, or if a negative one of similar
    magnitude prevents convergence, it runs again on H plus that magnitude, whose largest eigenvalue is the one sought.
    """
    plain = yield from _power_iteration(parts, start, 0.0)
    if (plain.value >= 0 and plain.residual < MAX_RESIDUAL) or not math.isfinite(plain.value):
        return plain
    shifted = yield from _power_iteration(parts, start, -abs(plain.value))
    return shifted._replace(products=plain.products + shifted.products)


def _power_iteration(parts: Sequence[Product], start: Tensor, shift: float) -> Work[Eigenvalue]:
    """The eigenvalue of H to which power iteration with H - shift converges."""
    v = start / start.norm()
    value, residual = math.nan, math.nan
    for products in range(1, MAX_ITERATIONS + 1):
        image = torch.zeros_like(v)
        for product in parts:
            image += product(v)
            yield (products - 1) / MAX_ITERATIONS
        value = (v @ image).item()
        residual = (image - value * v).norm().item() / max(abs(value), 1e-300)
        shifted = image - shift * v
        size = shifted.norm().item()
        if residual < MAX_RESIDUAL or size == 0 or not math.isfinite(size):
            return Eigenvalue(value if math.isfinite(size) else math.nan, residual, products, v)
        v = shifted / size
    return Eigenvalue(value, residual, MAX_ITERATIONS, v)


def _flat(parts: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([part.reshape(-1) for part in parts])
