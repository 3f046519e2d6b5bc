"""What a branch computes, F in the one equation: one layer, two layers, or attention.

Legend: B batch, T tokens, D width, H heads, K head size. Output matrices are named `w`, `w2` and `w_o`.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
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
    """W2 act(N_mid(W1 x)): (..., D) -> (..., D), with `hidden` features between; the transformer's feed-forward network."""

    def __init__(self, width: int, hidden: int, activation: str, norm_mid: nn.Module) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, hidden)
        self.norm_mid = norm_mid
        self.activation = ACTIVATIONS[activation]()
        self.w2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(self.activation(self.norm_mid(self.w1(x))))


class Attention(nn.Module):
    """W_O N_mid(softmax(q k^T / sqrt(K)) v) by head (1706.03762): (B, T, D) -> (B, T, D). `turn` rotates q and k."""

    def __init__(
        self, width: int, heads: int, norm_mid: nn.Module, *, causal: bool, norm_qk: Callable[[], nn.Module], turn: nn.Module
    ) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(width, width) for _ in range(4))
        self.norm_q, self.norm_k = norm_qk(), norm_qk()
        self.norm_mid = norm_mid
        self.turn = turn
        self.heads, self.causal = heads, causal

    def forward(self, x_BTD: Tensor) -> Tensor:
        q_BHTK = self.turn(self.norm_q(self._split(self.w_q(x_BTD))))
        k_BHTK = self.turn(self.norm_k(self._split(self.w_k(x_BTD))))
        v_BHTK = self._split(self.w_v(x_BTD))
        mixed_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHTK, v_BHTK, is_causal=self.causal)
        return self.w_o(self.norm_mid(mixed_BHTK.transpose(1, 2).flatten(2)))

    def _split(self, x_BTD: Tensor) -> Tensor:
        return x_BTD.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Rotary(nn.Module):
    """Turns feature pairs (i, i + K/2) by position / 10000^(2i/K): (B, H, T, K) -> the same (Su 2021, 2104.09864)."""

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
