"""An encoder-decoder transformer: the decoder's cross-attention reads the encoder's output (Vaswani 2017, 1706.03762).

Shapes: B batch, S source tokens, T target tokens, D width, H heads, K head size, C classes.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.nets.branches import Attention
from models.nets.build import build_sublayer
from models.nets.embedding import Positions, sinusoids
from models.nets.initialisation import initialise
from models.nets.norms import build_norm
from models.spec import RunConfig, plan
from models.spec.plan import StackPlan


class CrossAttention(Attention):
    """W_O softmax(q k^T / sqrt(K)) v, queries from the decoder (B, T, D), keys and values from a memory (B, S, D)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads, nn.Identity(), causal=False, norm_qk=nn.Identity, rotation=nn.Identity())

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor | None = None) -> Tensor:
        source_BSD = x_BTD if memory_BSD is None else memory_BSD
        q_BHTK = self._split(self.w_q(x_BTD))
        k_BHSK, v_BHSK = self._split(self.w_k(source_BSD)), self._split(self.w_v(source_BSD))
        mixed_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSK)
        return self.w_o(mixed_BHTK.transpose(1, 2).flatten(2))

    def weights(self, x_BTD: Tensor, memory_BSD: Tensor) -> Tensor:
        """Attention weights of each target token over the source tokens, (B, H, T, S)."""
        q_BHTK, k_BHSK = self._split(self.w_q(x_BTD)), self._split(self.w_k(memory_BSD))
        return (q_BHTK @ k_BHSK.transpose(-1, -2) / q_BHTK.shape[-1] ** 0.5).softmax(-1)


class CrossSublayer(nn.Module):
    """x + function(norm_in(x), memory): pre-norm cross-attention that stores its last inputs."""

    def __init__(self, function: CrossAttention, norm_in: nn.Module) -> None:
        super().__init__()
        self.function, self.norm_in = function, norm_in
        self.last_inputs: tuple[Tensor, Tensor] | None = None

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor) -> Tensor:
        self.last_inputs = self.norm_in(x_BTD), memory_BSD
        return x_BTD + self.function(*self.last_inputs)

    def weights(self) -> Tensor:
        """Attention weights of the last forward pass, (B, H, T, S)."""
        assert self.last_inputs is not None
        return self.function.weights(*self.last_inputs)


class Translator(nn.Module):
    """Source (B, S) and shifted target (B, T) -> logits (B, T, C).

    Pre-norm, with sinusoidal positions. Source and target share one embedding, whose last row is the start symbol.
    """

    def __init__(self, cfg: RunConfig, symbols: int, max_tokens: int) -> None:
        super().__init__()
        self.start = symbols
        self.embed = nn.Embedding(symbols + 1, cfg.width)
        self.position = Positions(sinusoids(max_tokens, cfg.width), learned=False)
        encoder_cfg = replace(cfg, mask="none")
        self.encoder = nn.ModuleList(_block(encoder_cfg, plan(encoder_cfg), block) for block in range(1, cfg.depth + 1))
        self.norm_memory = build_norm(cfg.norm, cfg.width, cfg.eps, cfg.affine)
        self.decoder = nn.ModuleList(_block(cfg, plan(cfg), block) for block in range(1, cfg.depth + 1))
        self.cross = nn.ModuleList(
            CrossSublayer(CrossAttention(cfg.width, cfg.heads), build_norm(cfg.norm, cfg.width, cfg.eps, cfg.affine))
            for _ in range(cfg.depth)
        )
        self.final_norm = build_norm(cfg.norm, cfg.width, cfg.eps, cfg.affine)
        self.head = nn.Linear(cfg.width, symbols)
        # Five sublayers per block: three in the decoder, two in the encoder.
        initialise(self, init=cfg.init, gain=cfg.init_gain, seed=cfg.seed, sublayers=5 * cfg.depth)

    def encode(self, source_BS: Tensor) -> Tensor:
        """The memory that cross-attention reads: (B, S) -> (B, S, D)."""
        x_BSD = self.position(self.embed(source_BS))
        for block in self.encoder:
            x_BSD = block(x_BSD)
        return self.norm_memory(x_BSD)

    def forward(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        memory_BSD = self.encode(source_BS)
        x_BTD = self.position(self.embed(target_BT))
        for block, cross in zip(self.decoder, self.cross, strict=True):
            x_BTD = block.ffn(cross(block.attn(x_BTD), memory_BSD))  # type: ignore[operator]
        return self.head(self.final_norm(x_BTD))

    @torch.no_grad()
    def cross_attention_weights(self) -> Tensor:
        """Cross-attention weights of the last forward pass, one row per block, (L, B, H, T, S)."""
        return torch.stack([cross.weights() for cross in self.cross])  # type: ignore[operator]


def shift_right(answer_BT: Tensor, start: int) -> Tensor:
    """The decoder's input for teacher forcing, (B, T): the start symbol, then the answer without its last symbol."""
    return F.pad(answer_BT[:, :-1], (1, 0), value=start)


def _block(cfg: RunConfig, stack_plan: StackPlan, block: int) -> nn.Sequential:
    sublayers = nn.Sequential()
    for sublayer in stack_plan.block_sublayers(block):
        sublayers.add_module(sublayer.kind, build_sublayer(cfg, sublayer))
    return sublayers
