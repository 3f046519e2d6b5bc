"""What happens between the backward pass and the optimiser's step. Stand-alone scripts quote it."""

from collections.abc import Iterable

import torch
from torch import Tensor


@torch.no_grad()
def adjust_gradients(grads: Iterable[Tensor], length: Tensor, clip: float) -> Tensor:
    """Scales gradients in place to an L2 norm of at most `clip`, if that is not 0. Returns the factor, as `length`.

    `length` is their norm before: (), or (K,) for gradients with an axis of K runs in front.
    """
    if not clip:
        return torch.ones_like(length)
    factor = (clip / (length + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor.to(grad.dtype).view(factor.shape + (1,) * (grad.ndim - factor.ndim)))
    return factor
