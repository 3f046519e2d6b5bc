"""K nets of one shape stacked into one, so that K seeds train in one batched computation.

Only leaf modules are replaced: each holds the parameters of all K nets, under the same names and with a seed axis in
front, and computes all seeds in one batched product. Stacks, sublayers and branches run the same code as for one net.

Shapes: K seeds, N tokens of one seed (batch times sequence), B samples, T tokens of a sample, D width, H heads, C head
size. Between embedding and head every tensor is (K, N, D), and no operation crosses the seed axis.
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
from models.nets.connections import DepthAttention, DynamicHyperConnection, HyperConnection, ManifoldConnection
from models.nets.embedding import Positions
from models.nets.norms import NORM_TYPES, TokenBatchNorm
from models.nets.stacks import LearnedScalars
from models.nets.sublayer import Dropout, Gate


def stack_nets(nets: Sequence[Net], tokens: int) -> Net:
    """One net out of K nets of one shape: inputs (K, N, F) or symbols (K, N) -> logits (K, N, classes).

    `tokens` is T, by which attention and positions split a seed's N tokens into samples.
    """
    net = copy.deepcopy(nets[0])
    builders: dict[type[nn.Module], Callable[..., nn.Module]] = LEAVES | {
        Attention: partial(StackedAttention, tokens=tokens),
        Positions: partial(StackedPositions, tokens=tokens),
    }
    for name, module in list(net.named_modules()):
        # A norm over the last axis alone needs no class of its own: its parameters broadcast.
        default = _stack_broadcasting if type(module) in NORM_TYPES else None
        build = builders.get(type(module), default)
        if build is not None:
            net.set_submodule(name, build([member.get_submodule(name) for member in (net, *nets[1:])]))
    return net


def _stack_parameter(modules: Sequence[nn.Module], name: str) -> nn.Parameter | None:
    """One parameter of K modules, (K, 1, D), which broadcasts over a seed's tokens; (K, 1, 1) for a scalar."""
    parameters = [getattr(module, name) for module in modules]
    if parameters[0] is None:
        return None
    stacked = torch.stack([p.detach() for p in parameters]).view(len(modules), 1, -1)
    return nn.Parameter(stacked, requires_grad=parameters[0].requires_grad)


class StackedLinear(nn.Module):
    """x W + b per seed: (K, N, inputs) -> (K, N, outputs).

    W is stored transposed, (K, inputs, outputs), so that the batched product reads it in memory order.
    """

    def __init__(self, linears: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([linear.weight.detach().T for linear in linears]))
        self.bias = nn.Parameter(torch.stack([linear.bias.detach() for linear in linears])[:, None])

    def forward(self, x_KND: Tensor) -> Tensor:
        return torch.baddbmm(self.bias, x_KND, self.weight)


class StackedEmbedding(nn.Module):
    """Lookup in each seed's own table, (K, V, D): symbols (K, N) -> (K, N, D)."""

    offset_K1: Tensor  # of each seed's table in the flattened one

    def __init__(self, tables: Sequence[nn.Embedding]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([table.weight.detach() for table in tables]))
        offset_K1 = torch.arange(len(tables))[:, None] * tables[0].num_embeddings
        self.register_buffer("offset_K1", offset_K1, persistent=False)

    def forward(self, x_KN: Tensor) -> Tensor:
        return F.embedding(x_KN + self.offset_K1, self.weight.flatten(0, 1))


class StackedPositions(nn.Module):
    """sqrt(1/2) x + table per seed, table (K, 1, T, D): (K, N, D) -> (K, N, D)."""

    table_TD: Tensor

    def __init__(self, positions: Sequence[Positions], tokens: int) -> None:
        super().__init__()
        table_K1TD = torch.stack([module.table_TD.detach()[:tokens] for module in positions])[:, None]
        if isinstance(positions[0].table_TD, nn.Parameter):
            self.table_TD = nn.Parameter(table_K1TD)
        else:
            self.register_buffer("table_TD", table_K1TD, persistent=False)

    def forward(self, x_KND: Tensor) -> Tensor:
        x_KBTD = x_KND.unflatten(1, (-1, self.table_TD.shape[2]))
        return (math.sqrt(0.5) * x_KBTD + self.table_TD).flatten(1, 2)


class StackedTokenNorm(nn.Module):
    """Layer norm or RMS norm per token with each seed's gain, and bias for layer norm: (K, N, D) -> (K, N, D)."""

    def __init__(self, norms: Sequence[nn.LayerNorm | nn.RMSNorm]) -> None:
        super().__init__()
        is_layer_norm = isinstance(norms[0], nn.LayerNorm)
        function: Callable[..., Tensor] = F.layer_norm if is_layer_norm else F.rms_norm
        self.normalise = partial(function, normalized_shape=norms[0].normalized_shape, eps=norms[0].eps)
        self.weight = _stack_parameter(norms, "weight")
        self.bias = _stack_parameter(norms, "bias") if is_layer_norm else None

    def forward(self, x_KND: Tensor) -> Tensor:
        normed = self.normalise(x_KND)
        if self.weight is None:
            return normed
        return normed * self.weight if self.bias is None else torch.addcmul(self.bias, normed, self.weight)


class StackedBatchNorm(nn.Module):
    """Batch norm over N tokens, the features of all seeds side by side as K * D channels: (K, N, D) -> (K, N, D)."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, norms: Sequence[TokenBatchNorm]) -> None:
        super().__init__()
        assert norms[0].momentum is not None  # None means a cumulative average, which no net here uses
        self.eps, self.momentum = norms[0].eps, norms[0].momentum
        self.weight, self.bias = _stack_parameter(norms, "weight"), _stack_parameter(norms, "bias")
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, torch.cat([getattr(norm, name) for norm in norms]))

    def forward(self, x_KND: Tensor) -> Tensor:
        gain, bias = (None if p is None else p.flatten() for p in (self.weight, self.bias))
        x_NC = x_KND.transpose(0, 1).flatten(1)
        normed = F.batch_norm(
            x_NC, self.running_mean, self.running_var, gain, bias, self.training, self.momentum, self.eps
        )
        return normed.unflatten(1, (len(x_KND), -1)).transpose(0, 1).contiguous()


class StackedDropout(Dropout):
    """Dropout with one mask per seed; `mask_key` starts with the tuple of K seeds."""

    def __init__(self, dropouts: Sequence[Dropout]) -> None:
        super().__init__(dropouts[0].rate)

    def forward(self, x_KND: Tensor) -> Tensor:
        if not (self.training and self.mask_key):
            return x_KND
        seeds, *words = self.mask_key
        masks = [torch.rand(x_KND.shape[1:], generator=generator(seed, *words)) >= self.rate for seed in seeds]
        return x_KND * (torch.stack(masks) / (1 - self.rate)).to(x_KND)


class StackedAttention(nn.Module):
    """Attention with seeds and samples on one batch axis: (K, N, D) -> (K, N, D)."""

    def __init__(self, attentions: Sequence[Attention], tokens: int) -> None:
        super().__init__()
        first = attentions[0]  # `stack_nets` replaces its submodules next
        self.w_q, self.w_k, self.w_v, self.w_o = first.w_q, first.w_k, first.w_v, first.w_o
        self.norm_q, self.norm_k, self.norm_mid = first.norm_q, first.norm_k, first.norm_mid
        self.rotation, self.relative, self.value_residual = first.rotation, first.relative, first.value_residual
        self.heads, self.causal, self.scale = first.heads, first.causal, first.scale
        self.tokens = tokens

    def forward(self, x_KND: Tensor) -> Tensor:
        q = self.rotation(self._split(self.norm_q, self.w_q(x_KND)))
        k = self.rotation(self._split(self.norm_k, self.w_k(x_KND)))
        v = self.value_residual(self._split(nn.Identity(), self.w_v(x_KND)))
        if self.relative is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)
        else:
            q, k, v = (tensor.unflatten(0, (len(x_KND), -1)) for tensor in (q, k, v))
            bias = self.relative(self.tokens, self.causal)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=self.scale).flatten(0, 1)
        return self.w_o(self.norm_mid(mixed.transpose(1, 2).reshape(x_KND.shape)))

    def _split(self, norm: nn.Module, x_KND: Tensor) -> Tensor:
        """Splits heads, (K, N, D) -> (K B, H, T, C), and norms each head's features as (K, N H, C)."""
        heads = norm(x_KND.view(len(x_KND), -1, x_KND.shape[-1] // self.heads))
        return heads.view(-1, self.tokens, self.heads, heads.shape[-1]).transpose(1, 2)


def _stack_broadcasting(modules: Sequence[nn.Module]) -> nn.Module:
    """A copy of the first module with all parameters as (K, 1, D), so that its own forward works per seed."""
    stacked = copy.deepcopy(modules[0])
    for name, _ in list(stacked.named_parameters()):
        setattr(stacked, name, _stack_parameter(modules, name))
    return stacked


def _stack_parameter_lists(lists: Sequence[nn.ParameterList]) -> nn.ParameterList:
    return nn.ParameterList(nn.Parameter(torch.stack([p.detach() for p in rows])) for rows in zip(*lists, strict=True))


def _stack_connection(modules: Sequence[nn.Module]) -> nn.Module:
    """A copy of the first module with all parameters as (K, 1, ...), which its own forward broadcasts over tokens."""
    stacked = copy.deepcopy(modules[0])
    for name, _ in list(stacked.named_parameters()):
        setattr(
            stacked, name, nn.Parameter(torch.stack([getattr(module, name).detach() for module in modules])[:, None])
        )
    return stacked


LEAVES: dict[type[nn.Module], Callable[..., nn.Module]] = {
    nn.Linear: StackedLinear,
    nn.Embedding: StackedEmbedding,
    nn.LayerNorm: StackedTokenNorm,
    nn.RMSNorm: StackedTokenNorm,
    RelativeBias: _stack_broadcasting,
    TokenBatchNorm: StackedBatchNorm,
    Gate: _stack_broadcasting,
    LearnedScalars: _stack_broadcasting,
    Dropout: StackedDropout,
    nn.ParameterList: _stack_parameter_lists,
    **dict.fromkeys((HyperConnection, DynamicHyperConnection, ManifoldConnection, DepthAttention), _stack_connection),
}
