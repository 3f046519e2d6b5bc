"""Residual branches F: one layer, two layers, or attention.

Shapes: B batch, T tokens, D width, H heads, K head size. Output matrices are named `w`, `w2` and `w_o`.
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
    """W2 act(N_mid(W1 x)): (..., D) -> (..., D), through `hidden` features. The feed-forward net of a transformer."""

    def __init__(self, width: int, hidden: int, activation: str, norm_mid: nn.Module) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, hidden)
        self.norm_mid = norm_mid
        self.activation = ACTIVATIONS[activation]()
        self.w2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(self.activation(self.norm_mid(self.w1(x))))


class Attention(nn.Module):
    """W_O N_mid(heads), head = softmax(scale q k^T + bias) v: (B, T, D) -> (B, T, D) (Vaswani 2017, 1706.03762).

    `scale` defaults to 1/sqrt(K). `norm_qk` builds the norms of q and k, `rotation` encodes positions in both,
    `relative` returns the position bias of the scores, (H, T, T), with the causal mask, and `value_residual` what
    becomes of v.
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
        value_residual: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(width, width) for _ in range(4))
        self.norm_q, self.norm_k = norm_qk(), norm_qk()
        self.norm_mid = norm_mid
        self.rotation, self.relative = rotation, relative
        self.value_residual = value_residual or nn.Identity()
        self.heads, self.causal, self.scale = heads, causal, scale

    def forward(self, x_BTD: Tensor) -> Tensor:
        q_BHTK = self.rotation(self.norm_q(self._split(self.w_q(x_BTD))))
        k_BHTK = self.rotation(self.norm_k(self._split(self.w_k(x_BTD))))
        v_BHTK = self.value_residual(self._split(self.w_v(x_BTD)))
        if self.relative is None:
            mixed_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHTK, v_BHTK, is_causal=self.causal, scale=self.scale)
        else:
            bias_HTT = self.relative(x_BTD.shape[1], self.causal)
            mixed_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHTK, v_BHTK, attn_mask=bias_HTT, scale=self.scale)
        return self.w_o(self.norm_mid(mixed_BHTK.transpose(1, 2).flatten(2)))

    def _split(self, x_BTD: Tensor) -> Tensor:
        return x_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class FirstValues:
    """The values of the first attention, which later ones mix in; kept from `open` to `close`, and else None."""

    def __init__(self) -> None:
        self.is_open = False
        self.value: Tensor | None = None

    def open(self, value: Tensor | None = None) -> None:
        self.is_open, self.value = True, value

    def close(self) -> Tensor | None:
        """Forgets the values, and returns them."""
        self.is_open, value, self.value = False, self.value, None
        return value

    def before_pass(self, *_: object) -> None:
        self.open()

    def after_pass(self, *_: object) -> None:
        self.close()


class ValueResidual(nn.Module):
    """(v + v_1) / 2 with the values v_1 of the first attention, any shape (ResFormer, Zhou 2024, 2410.17897).

    The first, and an attention that is called outside a pass through the stack, keeps its own.
    """

    def __init__(self, values: FirstValues, *, is_first: bool) -> None:
        super().__init__()
        self.values, self.is_first = values, is_first

    def forward(self, v: Tensor) -> Tensor:
        if self.is_first and self.values.is_open:
            self.values.value = v
        if self.is_first or self.values.value is None:
            return v
        return 0.5 * self.values.value + 0.5 * v


class Rotary(nn.Module):
    """Rotates each feature pair (i, i + K/2) by position / 10000^(2i/K): (B, H, T, K) -> (B, H, T, K).

    Su 2021, 2104.09864.
    """

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


NUM_BUCKETS = 32  # biases per head in T5's scheme
MAX_DISTANCE = 128  # tokens; longer distances share the last bucket


class Alibi(nn.Module):
    """ALiBi, the bias -2^(-8h/H) |i - j| of head h: (H, T, T), -inf for later tokens if causal.

    Press 2021, 2108.12409.
    """

    slope_H11: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        slope_H = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slope_H11", slope_H[:, None, None], persistent=False)

    def forward(self, tokens: int, causal: bool) -> Tensor:
        return mask_later_tokens(-self.slope_H11 * relative_distances(tokens, self.slope_H11.device).abs(), causal)


class RelativeBias(nn.Module):
    """T5's learned bias by distance: (H, T, T), -inf for later tokens if causal (Raffel 2019, 1910.10683).

    `bidirectional` reserves half of the buckets for later tokens. `bias`, (H * NUM_BUCKETS,), starts at 0.
    """

    def __init__(self, heads: int, *, bidirectional: bool) -> None:
        super().__init__()
        self.heads, self.bidirectional = heads, bidirectional
        self.bias = nn.Parameter(torch.zeros(heads * NUM_BUCKETS))

    def forward(self, tokens: int, causal: bool) -> Tensor:
        bucket_TT = bucket_indices(relative_distances(tokens, self.bias.device), bidirectional=self.bidirectional)
        return mask_later_tokens(self.bias.unflatten(-1, (self.heads, NUM_BUCKETS))[..., bucket_TT], causal)


def relative_distances(tokens: int, device: torch.device) -> Tensor:
    """Distance i - j of every query i from every key j, (T, T); negative for later tokens."""
    position_T = torch.arange(tokens, device=device)
    return position_T[:, None] - position_T


def bucket_indices(distance_TT: Tensor, *, bidirectional: bool) -> Tensor:
    """T5's bucket of each distance, (T, T): exact for near tokens, then log-spaced up to MAX_DISTANCE.

    If `bidirectional`, later tokens use the upper half of the buckets; otherwise they fall into bucket 0.
    """
    count = NUM_BUCKETS // 2 if bidirectional else NUM_BUCKETS
    exact = count // 2
    ago_TT = distance_TT.abs() if bidirectional else distance_TT.clamp(min=0)
    log_TT = torch.log(ago_TT.clamp(min=1) / exact) / math.log(MAX_DISTANCE / exact)
    far_TT = (exact + (log_TT * (count - exact)).long()).clamp(max=count - 1)
    bucket_TT = torch.where(ago_TT < exact, ago_TT, far_TT)
    return bucket_TT + count * (distance_TT < 0) if bidirectional else bucket_TT


def mask_later_tokens(bias_HTT: Tensor, causal: bool) -> Tensor:
    """The bias, (H, T, T), with -inf above the diagonal if causal."""
    later_TT = torch.ones(bias_HTT.shape[-2:], dtype=torch.bool, device=bias_HTT.device).triu(1)
    return bias_HTT.masked_fill(later_TT, -math.inf) if causal else bias_HTT
