"""Attention step by step: the module itself uses a fused kernel, which never returns its weights.

Legend: B samples, T tokens, D width, H heads, K head size.
"""

import math

import torch
from torch import Tensor, nn

from models.nets.branches import Attention


def attention_of(module: Attention, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Logits and weights (B, H, T, T), and values (B, H, T, K).

    The weights are the softmax of the logits over the tokens that a row may see, and 0 elsewhere.
    """
    q_BHTK, k_BHTK, v_BHTK = (
        layer(x_BTD).unflatten(-1, (module.heads, -1)).transpose(1, 2) for layer in (module.w_q, module.w_k, module.w_v)
    )
    q_BHTK, k_BHTK = module.turn(module.norm_q(q_BHTK)), module.turn(module.norm_k(k_BHTK))
    logits_BHTT = q_BHTK @ k_BHTK.transpose(-1, -2)
    logits_BHTT = logits_BHTT / q_BHTK.shape[-1] ** 0.5 if module.scale is None else logits_BHTT * module.scale
    if module.relative is not None:
        logits_BHTT = logits_BHTT + module.relative(x_BTD.shape[1], False)
    return logits_BHTT, logits_BHTT.masked_fill(~visible(module, x_BTD.shape[1]), -math.inf).softmax(-1), v_BHTK


def attention_weights(module: Attention, x_BTD: Tensor) -> Tensor:
    """The weight that each row gives each token, (B, H, T, T); a row adds up to 1."""
    return attention_of(module, x_BTD)[1]


def visible(module: Attention, tokens: int) -> Tensor:
    """Which tokens each row may see, (T, T): all, or with a causal mask only itself and earlier ones."""
    all_TT = torch.ones(tokens, tokens, dtype=torch.bool, device=module.w_q.weight.device)
    return all_TT.tril() if module.causal else all_TT


def attention_in(block: nn.Module) -> Attention | None:
    """The attention of a block, or None."""
    return next((part for part in block.modules() if isinstance(part, Attention)), None)
