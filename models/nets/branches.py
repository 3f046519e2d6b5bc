"""What a branch computes, F in the one equation: one layer, two layers, or attention.

Legend: B batch, T tokens, D width, H heads, K head size. Output matrices are named `w`, `w2` and `w_o`.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "selu": nn.SELU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "identity": nn.Identity,
}


class OneLayer(nn.Module):
    """act(N_mid(W x)): (..., D) -> (..., D)."""

    def __init__(self, width: int, activation: str, norm_mid: nn.Module) -> None:
        super().__init__()
        self.w = nn.Linear(width, width)
        self.norm_mid = norm_mid
        self.activation = ACTIVATIONS[activation]()

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.norm_mid(self.w(x)))


class TwoLayers(nn.Module):
    """W2 act(N_mid(W1 x)): (..., D) -> (..., D), with `hidden` features between; a transformer's feed-forward net."""

    def __init__(self, width: int, hidden: int, activation: str, norm_mid: nn.Module) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, hidden)
        self.norm_mid = norm_mid
        self.activation = ACTIVATIONS[activation]()
        self.w2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(self.activation(self.norm_mid(self.w1(x))))


class Attention(nn.Module):
    """W_O N_mid(softmax(q k^T / sqrt(K)) v) by head (1706.03762): (B, T, D) -> (B, T, D).

    `rotation` turns q and k; `scale` stands in place of 1/sqrt(K); `relative` returns what is added to the scores,
    (H, T, T).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        norm_mid: nn.Module,
        *,
        causal: bool,
        norm_qk: Callable[[], nn.Module],
        rotation: nn.Module,
        scale: float | None = None,
        relative: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(width, width) for _ in range(4))
        self.norm_q, self.norm_k = norm_qk(), norm_qk()
        self.norm_mid = norm_mid
        self.rotation, self.relative = rotation, relative
        self.heads, self.causal, self.scale = heads, causal, scale

    def forward(self, x_BTD: Tensor) -> Tensor:
        q_BHTK = self.rotation(self.norm_q(self._split(self.w_q(x_BTD))))
        k_BHTK = self.rotation(self.norm_k(self._split(self.w_k(x_BTD))))
        v_BHTK = self._split(self.w_v(x_BTD))
        if self.relative is None:
            mixed_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHTK, v_BHTK, is_causal=self.causal, scale=self.scale)
        else:
            added_HTT = self.relative(x_BTD.shape[1], self.causal)
            mixed_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHTK, v_BHTK, attn_mask=added_HTT, scale=self.scale)
        return self.w_o(self.norm_mid(mixed_BHTK.transpose(1, 2).flatten(2)))

    def _split(self, x_BTD: Tensor) -> Tensor:
        return x_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Rotary(nn.Module):
    """Rotates feature pairs (i, i + K/2) by position / 10000^(2i/K): (B, H, T, K) -> the same (Su 2021, 2104.09864)."""

    cos_TK: Tensor
    sin_TK: Tensor

    def __init__(self, tokens: int, head_size: int) -> None:
        super().__init__()
        angle_TK = torch.arange(tokens)[:, None] * 10000 ** (-torch.arange(0, head_size, 2) / head_size)
        self.register_buffer("cos_TK", angle_TK.cos().repeat(1, 2), persistent=False)
        self.register_buffer("sin_TK", angle_TK.sin().repeat(1, 2), persistent=False)

    def forward(self, x_BHTK: Tensor) -> Tensor:
        tokens = x_BHTK.shape[-2]
        first, second = x_BHTK.chunk(2, dim=-1)
        return x_BHTK * self.cos_TK[:tokens] + torch.cat((-second, first), dim=-1) * self.sin_TK[:tokens]


NUM_BUCKETS = 32  # learned numbers per head in T5's bias
MAX_DISTANCE = 128  # distance from which on all tokens share the last bucket


class Alibi(nn.Module):
    """ALiBi's penalty on distance, -2^(-8h/H) |i - j|: (H, T, T), -inf for later tokens if causal (Press 2021)."""

    slope_H11: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        slope_H = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slope_H11", slope_H[:, None, None], persistent=False)

    def forward(self, tokens: int, causal: bool) -> Tensor:
        return mask_later_tokens(-self.slope_H11 * relative_distances(tokens, self.slope_H11.device).abs(), causal)


class RelativeBias(nn.Module):
    """T5's learned bias by distance (Raffel 2019): (H, T, T), -inf for later tokens if causal.

    `bidirectional` reserves half of the buckets for later tokens. `bias` (H * BUCKETS,) starts at 0.
    """

    def __init__(self, heads: int, *, bidirectional: bool) -> None:
        super().__init__()
        self.heads, self.bidirectional = heads, bidirectional
        self.bias = nn.Parameter(torch.zeros(heads * NUM_BUCKETS))

    def forward(self, tokens: int, causal: bool) -> Tensor:
        bucket_TT = bucket_indices(relative_distances(tokens, self.bias.device), bidirectional=self.bidirectional)
        return mask_later_tokens(self.bias.unflatten(-1, (self.heads, NUM_BUCKETS))[..., bucket_TT], causal)


def relative_distances(tokens: int, device: torch.device) -> Tensor:
    """How many places column j is before row i, i - j: (T, T), negative for later tokens."""
    place_T = torch.arange(tokens, device=device)
    return place_T[:, None] - place_T


def bucket_indices(distance_TT: Tensor, *, bidirectional: bool) -> Tensor:
    """T5's bucket of each distance: one bucket per near distance, then wider ones on a log scale up to FURTHEST."""
    count = NUM_BUCKETS // 2 if bidirectional else NUM_BUCKETS
    far_TT, near = distance_TT.abs() if bidirectional else distance_TT.clamp(min=0), count // 2
    share_TT = torch.log(far_TT.clamp(min=1) / near) / math.log(MAX_DISTANCE / near)
    wide_TT = (near + (share_TT * (count - near)).long()).clamp(max=count - 1)
    return torch.where(far_TT < near, far_TT, wide_TT) + (count * (distance_TT < 0) if bidirectional else 0)


def mask_later_tokens(added_HTT: Tensor, causal: bool) -> Tensor:
    """The same numbers, with -inf for all tokens after that of the row if causal."""
    later_TT = torch.ones(added_HTT.shape[-2:], dtype=torch.bool, device=added_HTT.device).triu(1)
    return added_HTT.masked_fill(later_TT, -math.inf) if causal else added_HTT
