"""Sizes of the gradients of a small net."""

import torch
from torch import nn

from exhibits.claims.gradient_norms.answer import GRADIENT_SIZES, GradientSizes


def gradient_sizes() -> GradientSizes:
    """Length and RMS of each tensor's gradient in a small net on random labels."""
    net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
    x, y = torch.randn(64, 64), torch.randint(10, (64,))
    nn.functional.cross_entropy(net(x), y).backward()
    names = ("first weight", "first bias", "last weight", "last bias")
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    return GradientSizes(
        tensor=names,
        numbers=tuple(grad.numel() for grad in grads),
        length=tuple(grad.norm().item() for grad in grads),
        rms=tuple(grad.square().mean().sqrt().item() for grad in grads),
    )


MEASURES = {GRADIENT_SIZES: gradient_sizes}
