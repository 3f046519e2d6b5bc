"""The output of nn.TransformerEncoder by depth, with and without a final norm."""

import torch
from torch import nn

from exhibits.claims.final_norm.answer import FINAL_NORM, FinalNorm
from models.instruments.facts import TOKENS, WIDTH, encoder_layer, initialise_layers, rms

DEPTHS = (2, 6, 12)  # layers


def final_norm() -> FinalNorm:
    """Output RMS of nn.TransformerEncoder(norm_first=True) by depth, without and with a final norm.

    Also the largest change that a final norm makes to the output of a post-norm encoder.
    """
    x = torch.randn(4, TOKENS, WIDTH)
    bare, normed = [], []
    for depth in DEPTHS:
        encoder = nn.TransformerEncoder(encoder_layer(norm_first=True), depth, enable_nested_tensor=False)
        initialise_layers(encoder)
        out = encoder(x)
        bare.append(rms(out).mean().item())
        normed.append(rms(nn.LayerNorm(WIDTH)(out)).mean().item())
    post = nn.TransformerEncoder(encoder_layer(norm_first=False), 6, enable_nested_tensor=False)
    change = (nn.LayerNorm(WIDTH)(post(x)) - post(x)).abs().max().item()
    return FinalNorm(DEPTHS, tuple(bare), tuple(normed), absent=encoder.norm is None, moved=change)


MEASURES = {FINAL_NORM: final_norm}
