"""Torch's own layers, about which much is often stated wrongly: what claims ask together, and build and measure with.

Legend: B batch, T tokens, D features.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from models.answers import WhoIsSeen

# Size of every torch layer of a claim.
WIDTH = 32
HEADS = 4
TOKENS = 8


def who_is_seen() -> WhoIsSeen:
    """How much a norm's output for the first token changes with a later token, or with another sequence.

    For LayerNorm(D), LayerNorm([T, D]) and BatchNorm1d on (B, D, T), in training mode on sequences (2, T, D).
    """
    x = torch.randn(2, TOKENS, WIDTH)
    future, neighbour = x.clone(), x.clone()
    future[0, -1, 0] += 5.0
    neighbour[1, -1, 0] += 5.0
    norms: dict[str, Callable[[Tensor], Tensor]] = {
        "LayerNorm(D)": nn.LayerNorm(WIDTH),
        "LayerNorm([T, D])": nn.LayerNorm([TOKENS, WIDTH]),
        "BatchNorm1d on (B, D, T)": lambda x: nn.BatchNorm1d(WIDTH)(x.transpose(1, 2)).transpose(1, 2),
    }
    return WhoIsSeen(
        norm=tuple(norms),
        future=tuple((norm(future) - norm(x))[0, 0].abs().max().item() for norm in norms.values()),
        neighbour=tuple((norm(neighbour) - norm(x))[0, 0].abs().max().item() for norm in norms.values()),
    )


def rms(x: Tensor) -> Tensor:
    """RMS over the features."""
    return x.square().mean(-1).sqrt()


def encoder_layer(*, norm_first: bool) -> nn.TransformerEncoderLayer:
    """A torch layer without dropout, with torch's initialisation."""
    return nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=norm_first)


def initialise_layers(encoder: nn.TransformerEncoder) -> None:
    """Initialises each layer independently; torch makes all of them copies of one."""
    for layer in encoder.layers:
        layer.load_state_dict(encoder_layer(norm_first=True).state_dict())
