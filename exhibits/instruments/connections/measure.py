"""Mixing of the streams and its product over depth, and attention over depth, on the step's batch.

Legend: B samples, T tokens, n streams, K sources.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from addnorm.probe import accumulate_dtype
from exhibits.instruments.connections.answer import CONNECTIONS, Connections
from models.instruments import on_snapshot
from models.nets.connections import DepthAttention, HyperConnection
from models.nets.hooks import Hook, forward_hooks
from models.nets.stacks import HyperStack
from models.training import Snapshot, preserve_buffers


def connections(snapshot: Snapshot) -> Connections:
    """The weights of every connection as it acts on the batch; gains are means of those of single tokens."""
    x, _ = snapshot.batch()
    model, exact = snapshot.model, accumulate_dtype(x.device)
    identity = so_far = torch.eye(snapshot.cfg.streams, dtype=exact, device=x.device)
    mixings: dict[nn.Module, list[np.ndarray]] = {}
    attention: list[np.ndarray] = []

    def record_mixing(module: Any, args: tuple[Any, ...], _output: Any) -> None:
        nonlocal so_far
        mixing = module.weights(*args)[0][..., 1:, :].to(exact)
        so_far = mixing @ so_far
        mixings[module] = _of_mixing(mixing, so_far)

    def record_attention(module: Any, args: tuple[Any, ...], _output: Any) -> None:
        attention.append(_mean(module.weights(*args).to(exact).movedim(0, -1), 1))

    hooks: list[tuple[nn.Module, Hook]] = [
        (part, record_mixing) for part in model.modules() if isinstance(part, HyperConnection)
    ]
    hooks += [(part, record_attention) for part in model.modules() if isinstance(part, DepthAttention)]
    with torch.no_grad(), preserve_buffers(model), forward_hooks(hooks):
        model(x)
    by_sublayer = [_of_mixing(identity, identity)]
    for sublayer in model.stream.sublayers if isinstance(model.stream, HyperStack) else []:
        mixed = mixings.get(getattr(sublayer, "connection", sublayer))
        by_sublayer.append(mixed or [by_sublayer[0][0], *by_sublayer[-1][1:]])
    sources = max(map(len, attention), default=0)
    mixing, product, forward, backward = (np.array([row[at] for row in by_sublayer[1:]]) for at in range(4))
    shares = np.array([np.pad(row, (0, sources - len(row))) for row in attention])
    return Connections(mixing, product, forward, backward, shares)


def _of_mixing(mixing: Tensor, product: Tensor) -> list[np.ndarray]:
    """Mixing, product, and the product's largest sums of a row and of a column, as means over tokens."""
    row, column = (product.abs().sum(axis).amax(-1) for axis in (-1, -2))
    return [_mean(mixing, 2), _mean(product, 2), _mean(row, 0), _mean(column, 0)]


def _mean(values: Tensor, axes: int) -> np.ndarray:
    """The mean over all but the last `axes` axes."""
    mean = values.flatten(0, -1 - axes).mean(0) if values.ndim > axes else values
    return mean.cpu().numpy()


MEASURES = {CONNECTIONS: on_snapshot(connections)}
