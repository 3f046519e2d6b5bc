"""An encoder and a decoder whose cross-attention reads the encoder's output (Vaswani 2017, 1706.03762).

Legend: B batch, S tokens of the source, T tokens written, D width, H heads, K head size.
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
    """W_O softmax(q k^T / sqrt(K)) v, with queries from (B, T, D), keys and values from a memory (B, S, D)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads, nn.Identity(), causal=False, norm_qk=nn.Identity, rotation=nn.Identity())

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor | None = None) -> Tensor:
        read_BSD = x_BTD if memory_BSD is None else memory_BSD
        q_BHTK, k_BHSK, v_BHSK = (
            self._split(self.w_q(x_BTD)),
            self._split(self.w_k(read_BSD)),
            self._split(self.w_v(read_BSD)),
        )
        mixed_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSK)
        return self.w_o(mixed_BHTK.transpose(1, 2).flatten(2))

    def weights(self, x_BTD: Tensor, memory_BSD: Tensor) -> Tensor:
        """The weight that each written token gives each token of the source, (B, H, T, S)."""
        q_BHTK, k_BHSK = self._split(self.w_q(x_BTD)), self._split(self.w_k(memory_BSD))
        return (q_BHTK @ k_BHSK.transpose(-1, -2) / q_BHTK.shape[-1] ** 0.5).softmax(-1)


class CrossSublayer(nn.Module):
    """x + function(norm_in(x), memory): cross-attention in pre-norm. Keeps its last inputs."""

    def __init__(self, function: CrossAttention, norm_in: nn.Module) -> None:
        super().__init__()
        self.function, self.norm_in = function, norm_in
        self.read: tuple[Tensor, Tensor] | None = None

    def forward(self, x_BTD: Tensor, memory_BSD: Tensor) -> Tensor:
        self.read = self.norm_in(x_BTD), memory_BSD
        return x_BTD + self.function(*self.read)

    def weights(self) -> Tensor:
        """The weights of its last pass, (B, H, T, S)."""
        assert self.read is not None
        return self.function.weights(*self.read)


class Translator(nn.Module):
    """Source (B, S) and the symbols written before each place (B, T) -> logits (B, T, C).

    Pre-norm, with sinusoidal positions for both sequences. They share one table, whose last row is the start symbol.
    """

    def __init__(self, cfg: RunConfig, symbols: int, longest: int) -> None:
        super().__init__()
        self.start = symbols
        self.embed = nn.Embedding(symbols + 1, cfg.width)
        self.position = Positions(sinusoids(longest, cfg.width), learned=False)
        seeing_all = replace(cfg, mask="none")
        self.encoder = nn.ModuleList(_block(seeing_all, plan(seeing_all), block) for block in range(1, cfg.depth + 1))
        self.norm_memory = build_norm(cfg.norm, cfg.width, cfg.eps, cfg.affine)
        self.decoder = nn.ModuleList(_block(cfg, plan(cfg), block) for block in range(1, cfg.depth + 1))
        self.cross = nn.ModuleList(
            CrossSublayer(CrossAttention(cfg.width, cfg.heads), build_norm(cfg.norm, cfg.width, cfg.eps, cfg.affine))
            for _ in range(cfg.depth)
        )
        self.final_norm = build_norm(cfg.norm, cfg.width, cfg.eps, cfg.affine)
        self.head = nn.Linear(cfg.width, symbols)
        # Three sublayers per block of the decoder, two per block of the encoder.
        initialise(self, init=cfg.init, gain=cfg.init_gain, seed=cfg.seed, sublayers=5 * cfg.depth)

    def encode(self, source_BS: Tensor) -> Tensor:
        """The memory that the decoder reads, (B, S, D)."""
        x_BSD = self.position(self.embed(source_BS))
        for block in self.encoder:
            x_BSD = block(x_BSD)
        return self.norm_memory(x_BSD)

    def forward(self, source_BS: Tensor, written_BT: Tensor) -> Tensor:
        memory_BSD, x_BTD = self.encode(source_BS), self.position(self.embed(written_BT))
        for block, cross in zip(self.decoder, self.cross, strict=True):
            x_BTD = block.ffn(cross(block.attn(x_BTD), memory_BSD))  # type: ignore[operator]
        return self.head(self.final_norm(x_BTD))

    @torch.no_grad()
    def looks(self) -> Tensor:
        """The cross-attention weights of the last forward pass by block, (L, B, H, T, S)."""
        return torch.stack([cross.weights() for cross in self.cross])  # type: ignore[operator]


def shift_right(answer_BT: Tensor, start: int) -> Tensor:
    """The symbols written before each place: the start symbol, then the answer without its last symbol."""
    return F.pad(answer_BT[:, :-1], (1, 0), value=start)


def _block(cfg: RunConfig, arranged: StackPlan, block: int) -> nn.Sequential:
    """Attention, then a feed-forward net, by name."""
    sublayers = nn.Sequential()
    for sublayer in arranged.block_sublayers(block):
        sublayers.add_module(sublayer.kind, build_sublayer(cfg, sublayer))
    return sublayers
