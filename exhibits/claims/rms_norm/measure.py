"""Small tokens after torch's RMS norm and layer norm."""

import torch
from torch import nn

from exhibits.claims.rms_norm.answer import SMALL_TOKENS, SmallTokens
from models.instruments.facts import rms


def small_tokens() -> SmallTokens:
    """RMS of tokens of RMS 1e-4 after torch's RMS norm and layer norm with their defaults, in float32."""
    x = torch.randn(64, 256)
    x = x - x.mean(-1, keepdim=True)
    x = 1e-4 * x / rms(x)[:, None]
    return SmallTokens(
        input_rms=rms(x).mean().item(),
        rms=rms(nn.RMSNorm(256)(x)).mean().item(),
        layer=rms(nn.LayerNorm(256)(x)).mean().item(),
        rms_eps=torch.finfo(x.dtype).eps,
        layer_eps=nn.LayerNorm(256).eps,
    )


MEASURES = {SMALL_TOKENS: small_tokens}
