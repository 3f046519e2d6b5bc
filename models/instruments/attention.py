"""Attention computed step by step, because the module's fused kernel does not return its weights.

Legend: B samples, T tokens, D width, H heads, K head size.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.nets.branches import Attention


class AttentionParts(NamedTuple):
    """Logits before the causal mask and weights after it (B, H, T, T), and values (B, H, T, K).

    A row of weights sums to 1.
    """

    logits: Tensor
    weights: Tensor
    values: Tensor


def attention_parts(module: Attention, x_BTD: Tensor) -> AttentionParts:
    """Attention on x: weights are the softmax of the logits over the tokens visible to a row, and 0 elsewhere."""
    q_BHTK, k_BHTK, v_BHTK = (
        layer(x_BTD).unflatten(-1, (module.heads, -1)).transpose(1, 2) for layer in (module.w_q, module.w_k, module.w_v)
    )
    q_BHTK, k_BHTK = module.rotation(module.norm_q(q_BHTK)), module.rotation(module.norm_k(k_BHTK))
    logits_BHTT = q_BHTK @ k_BHTK.transpose(-1, -2)
    logits_BHTT = logits_BHTT / q_BHTK.shape[-1] ** 0.5 if module.scale is None else logits_BHTT * module.scale
    if module.relative is not None:
        logits_BHTT = logits_BHTT + module.relative(x_BTD.shape[1], causal=False)
    weights_BHTT = logits_BHTT.masked_fill(~visibility(module, x_BTD.shape[1]), -math.inf).softmax(-1)
    return AttentionParts(logits_BHTT, weights_BHTT, module.value_residual(v_BHTK))


def visibility(module: Attention, tokens: int) -> Tensor:
    """Whether each row may see each token, (T, T): with a causal mask only itself and earlier ones."""
    all_TT = torch.ones(tokens, tokens, dtype=torch.bool, device=module.w_q.weight.device)
    return all_TT.tril() if module.causal else all_TT


def attention_in(block: nn.Module) -> Attention | None:
    return next((part for part in block.modules() if isinstance(part, Attention)), None)
