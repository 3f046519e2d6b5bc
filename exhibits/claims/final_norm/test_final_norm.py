"""Tests the claim: `nn.TransformerEncoder` with `norm_first=True` is a complete pre-norm transformer."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from tests import hand
from tests.claims.kit import Rows, put, rows_agree, seeded, upheld_by


def torchs_layer(x: Tensor, layer: Any) -> Tensor:
    """x + attention(LN(x)), then + the feed-forward net of LN, of one of torch's pre-norm layers without a mask."""
    one = hand.layer_norm(x, layer.norm1, layer.norm1.eps)
    q, k, v = (one @ layer.self_attn.in_proj_weight.T + layer.self_attn.in_proj_bias).chunk(3, -1)
    size, mixed = 8, []
    for head in range(4):
        own = slice(head * size, (head + 1) * size)
        scores = (q[..., own] @ k[..., own].transpose(1, 2) / math.sqrt(size)).exp()
        mixed.append(scores / scores.sum(-1, keepdim=True) @ v[..., own])
    x = x + hand.linear(torch.cat(mixed, -1), layer.self_attn.out_proj)
    two = hand.linear(hand.layer_norm(x, layer.norm2, layer.norm2.eps), layer.linear1)
    return x + hand.linear(two * (two > 0), layer.linear2)


def final_norm() -> Rows:
    def layer() -> Any:
        return nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, batch_first=True, norm_first=True)

    def size(x: Tensor) -> float:
        return (x**2).mean(-1).sqrt().mean().item()

    seeded()
    given, rows = torch.randn(4, 8, 32), []
    for depth in (2, 6, 12):
        layer()  # the one that torch would copy
        x = given
        for _ in range(depth):
            x = torchs_layer(x, layer())
        end = x - x.mean(-1, keepdim=True)
        rows.append((size(x), size(end / (end.square().mean(-1, keepdim=True) + 1e-5).sqrt())))
    bare, after = zip(*rows, strict=True)
    return {"layers": [2, 6, 12], "RMS by default": bare, "RMS with a final norm": after}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("final-norm", final_norm())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("final-norm", put("torch", absent=0, bare=[1.0, 1.0, 1.0]))
