"""K nets of one shape as one net, so that K seeds train in one batched computation.

Only the leaves change: each holds the parameters of all K nets and computes all seeds in one batched product. Stacks,
sublayers and branches run the same code as for one net. Parameters keep their names and gain a seed axis.

Legend: K seeds, N tokens of one seed (batch times sequence), T tokens of a sample, D width, H heads, C head size.
Between embedding and head every tensor is (K, N, D); no operation crosses the seed axis.
"""

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.generator import generator
from models.nets.branches import Attention, RelativeBias
from models.nets.build import Net
from models.nets.embedding import Positions
from models.nets.norms import NORM_TYPES, TokenBatchNorm
from models.nets.sublayer import Dropout, Gate


def stack_nets(nets: Sequence[Net], tokens: int) -> Net:
    """One net from K of the same configuration: (K, N, F) or (K, N) symbols -> logits (K, N, classes).

    `tokens` is the length T of a sample, by which attention and positions cut a seed's N tokens into samples.
    """
    net = copy.deepcopy(nets[0])
    makers: dict[type[nn.Module], Callable[..., nn.Module]] = LEAVES | {
        Attention: partial(StackedAttention, tokens=tokens),
        Positions: partial(StackedPositions, tokens=tokens),
    }
    for name, module in list(net.named_modules()):
        is_norm = type(module) in NORM_TYPES  # a norm over the last axis only needs no class of its own here
        if make := makers.get(type(module), _broadcasting if is_norm else None):
            net.set_submodule(name, make([each.get_submodule(name) for each in nets]))
    return net


def _together(modules: Sequence[nn.Module], name: str) -> nn.Parameter | None:
    """One parameter of all modules as (K, 1, D), which broadcasts over a seed's tokens; a scalar as (K, 1, 1)."""
    parameters = [getattr(module, name) for module in modules]
    if parameters[0] is None:
        return None
    together = torch.stack([p.detach() for p in parameters]).view(len(modules), 1, -1)
    return nn.Parameter(together, requires_grad=parameters[0].requires_grad)


class StackedLinear(nn.Module):
    """x W + b by seed, W (K, inputs, outputs): transposed, so that a batched product reads it in memory order."""

    def __init__(self, linears: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([linear.weight.detach().T for linear in linears]))
        self.bias = nn.Parameter(torch.stack([linear.bias.detach() for linear in linears])[:, None])

    def forward(self, x_KND: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x_KND, self.weight)


class StackedEmbedding(nn.Module):
    """Symbols (K, N) looked up in each seed's own table (K, V, D): -> (K, N, D)."""

    first_K1: Tensor

    def __init__(self, tables: Sequence[nn.Embedding]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([table.weight.detach() for table in tables]))
        first = torch.arange(len(tables))[:, None] * tables[0].num_embeddings
        self.register_buffer("first_K1", first, persistent=False)

    def forward(self, x_KN: Tensor) -> Tensor:
        return F.embedding(x_KN + self.first_K1, self.weight.flatten(0, 1))


class StackedPositions(nn.Module):
    """Positions by seed, table (K, 1, T, D)."""

    table_TD: Tensor

    def __init__(self, positions: Sequence[Positions], tokens: int) -> None:
        super().__init__()
        table = torch.stack([each.table_TD.detach()[:tokens] for each in positions])[:, None]
        if isinstance(positions[0].table_TD, nn.Parameter):
            self.table_TD = nn.Parameter(table)
        else:
            self.register_buffer("table_TD", table, persistent=False)

    def forward(self, x_KND: Tensor) -> Tensor:
        x_KBTD = x_KND.unflatten(1, (-1, self.table_TD.shape[2]))
        return (math.sqrt(0.5) * x_KBTD + self.table_TD).flatten(1, 2)


class StackedTokenNorm(nn.Module):
    """Layer norm or RMS norm of every token, then the seed's gain (and bias)."""

    def __init__(self, norms: Sequence[nn.LayerNorm | nn.RMSNorm]) -> None:
        super().__init__()
        centres = isinstance(norms[0], nn.LayerNorm)
        plain: Callable[..., Tensor] = F.layer_norm if centres else F.rms_norm
        self.plain = partial(plain, normalized_shape=norms[0].normalized_shape, eps=norms[0].eps)
        self.weight = _together(norms, "weight")
        self.bias = _together(norms, "bias") if centres else None

    def forward(self, x_KND: Tensor) -> Tensor:
        normed = self.plain(x_KND)
        if self.weight is None:
            return normed
        return normed * self.weight if self.bias is None else torch.addcmul(self.bias, normed, self.weight)


class StackedBatchNorm(nn.Module):
    """Batch norm over N tokens, with the features of all seeds side by side as K * D channels."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, norms: Sequence[TokenBatchNorm]) -> None:
        super().__init__()
        assert norms[0].momentum is not None  # None would average over all batches, which no net here does
        self.eps, self.momentum = norms[0].eps, norms[0].momentum
        self.weight, self.bias = _together(norms, "weight"), _together(norms, "bias")
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, torch.cat([getattr(norm, name) for norm in norms]))

    def forward(self, x_KND: Tensor) -> Tensor:
        gain, bias = (None if p is None else p.flatten() for p in (self.weight, self.bias))
        side_by_side = x_KND.transpose(0, 1).flatten(1)
        normed = F.batch_norm(
            side_by_side, self.running_mean, self.running_var, gain, bias, self.training, self.momentum, self.eps
        )
        return normed.unflatten(1, (len(x_KND), -1)).transpose(0, 1).contiguous()


class StackedDropout(Dropout):
    """Dropout with a mask for each of the K seeds that `mask_key` begins with."""

    def __init__(self, dropouts: Sequence[Dropout]) -> None:
        super().__init__(dropouts[0].rate)

    def forward(self, x_KND: Tensor) -> Tensor:
        if not (self.training and self.mask_key):
            return x_KND
        seeds, *words = self.mask_key
        masks = [torch.rand(x_KND.shape[1:], generator=generator(seed, *words)) >= self.rate for seed in seeds]
        return x_KND * (torch.stack(masks) / (1 - self.rate)).to(x_KND)


class StackedAttention(nn.Module):
    """Attention in which seeds and samples share the batch axis of the product."""

    def __init__(self, attentions: Sequence[Attention], tokens: int) -> None:
        super().__init__()
        first = attentions[0]  # its parts become stacked modules in their turn
        self.w_q, self.w_k, self.w_v, self.w_o = first.w_q, first.w_k, first.w_v, first.w_o
        self.norm_q, self.norm_k, self.norm_mid, self.rotation = (
            first.norm_q,
            first.norm_k,
            first.norm_mid,
            first.rotation,
        )
        self.relative = first.relative
        self.heads, self.causal, self.scale, self.tokens = first.heads, first.causal, first.scale, tokens

    def forward(self, x_KND: Tensor) -> Tensor:
        q = self.rotation(self._split(self.norm_q, self.w_q(x_KND)))
        k = self.rotation(self._split(self.norm_k, self.w_k(x_KND)))
        v = self._split(nn.Identity(), self.w_v(x_KND))
        if self.relative is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)
        else:
            q, k, v = (part.unflatten(0, (len(x_KND), -1)) for part in (q, k, v))
            added = self.relative(self.tokens, self.causal)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=self.scale).flatten(0, 1)
        return self.w_o(self.norm_mid(mixed.transpose(1, 2).reshape(x_KND.shape)))

    def _split(self, norm: nn.Module, x_KND: Tensor) -> Tensor:
        """(K, N, D) -> (K B, H, T, C), with the heads normed as (K, N H, C)."""
        by_head = norm(x_KND.view(len(x_KND), -1, x_KND.shape[-1] // self.heads))
        return by_head.view(-1, self.tokens, self.heads, by_head.shape[-1]).transpose(1, 2)


def _broadcasting(modules: Sequence[nn.Module]) -> nn.Module:
    """The first module with the parameters of all as (K, 1, D), so that its own forward works by seed."""
    together = copy.deepcopy(modules[0])
    for name, _ in list(together.named_parameters()):
        setattr(together, name, _together(modules, name))
    return together


def _parameter_lists(lists: Sequence[nn.ParameterList]) -> nn.ParameterList:
    return nn.ParameterList(nn.Parameter(torch.stack([p.detach() for p in rows])) for rows in zip(*lists, strict=True))


LEAVES: dict[type[nn.Module], Callable[..., nn.Module]] = {
    nn.Linear: StackedLinear,
    nn.Embedding: StackedEmbedding,
    nn.LayerNorm: StackedTokenNorm,
    nn.RMSNorm: StackedTokenNorm,
    RelativeBias: _broadcasting,
    TokenBatchNorm: StackedBatchNorm,
    Gate: _broadcasting,
    Dropout: StackedDropout,
    nn.ParameterList: _parameter_lists,
}
