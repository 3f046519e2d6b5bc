"""Connections beyond one stream: hyper-connections between n streams, and attention over the outputs of all sublayers.

Legend: B batch, T tokens, D width, n streams. Streams are (B, T, n, D). Weights that depend on no token broadcast.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class HyperConnection(nn.Module):
    """Static hyper-connection (Zhu 2024, 2409.19606, equations 1 to 5 and 14): h' = A_r^T h + B^T f(A_m^T h).

    Starts as pre-norm: layer k reads stream k mod n, the streams are not mixed, and each gets the branch. Both
    parameters are vectors, so that weight decay leaves them out, as in the paper.
    """

    def __init__(self, streams: int, layer: int) -> None:
        super().__init__()
        self.streams = streams
        identity = torch.eye(streams)
        self.alpha = nn.Parameter(torch.cat((identity[layer % streams], identity.flatten())))  # A_m, then A_r^T by rows
        self.beta = nn.Parameter(torch.ones(streams))

    def weights(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """A_m^T above A_r^T, (..., 1 + n, n), and B^T, (..., n, 1)."""
        return self.alpha.unflatten(-1, (-1, self.streams)), self.beta.unsqueeze(-1)

    def forward(self, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the branch reads (B, T, D), the mixed streams (B, T, n, D), and the branch's weights (..., n, 1)."""
        alpha, beta = self.weights(h)
        mixed = alpha @ h
        return mixed[..., 0, :], mixed[..., 1:, :], beta


class DynamicHyperConnection(HyperConnection):
    """A hyper-connection whose weights every token shifts (2409.19606, equations 10 to 13).

    To them s tanh(norm(h) W) is added, W = 0 and s = 0.01 at first; `norm` is a layer norm without gain and bias.
    """

    def __init__(self, streams: int, layer: int, width: int, eps: float) -> None:
        super().__init__(streams, layer)
        self.eps = eps
        self.to_alpha = nn.Parameter(torch.zeros(width, 1 + streams))
        self.to_beta = nn.Parameter(torch.zeros(width, 1))
        self.alpha_scale, self.beta_scale = (nn.Parameter(torch.full((1,), 0.01)) for _ in range(2))

    def weights(self, h: Tensor) -> tuple[Tensor, Tensor]:
        alpha, beta = super().weights(h)
        normed = F.layer_norm(h, h.shape[-1:], eps=self.eps)
        to_alpha = self.alpha_scale.unsqueeze(-1) * torch.tanh(normed @ self.to_alpha)
        return alpha + to_alpha.transpose(-1, -2), beta + self.beta_scale.unsqueeze(-1) * torch.tanh(
            normed @ self.to_beta
        )


def sinkhorn(logits: Tensor, iterations: int) -> Tensor:
    """exp(logits) (..., n, n), whose columns and then rows are divided by their sums, `iterations` times.

    It tends to a doubly stochastic matrix (Sinkhorn & Knopp 1967).
    """
    matrix = logits.exp()
    for _ in range(iterations):
        matrix = matrix / matrix.sum(-2, keepdim=True)
        matrix = matrix / matrix.sum(-1, keepdim=True)
    return matrix


class ManifoldConnection(HyperConnection):
    """Manifold-constrained hyper-connection (Xie 2025, 2512.24880, equations 7 to 9).

    Reads with sigmoid, writes with 2 sigmoid, mixes with the Sinkhorn-Knopp of a (RMSNorm(vec h) phi) + b, where a is
    0.01 at first. The paper gives no start of phi and b: phi = 0 and a mixing of exp(-8) off the diagonal are those of
    mhc-lite (Yang 2026, 2601.05732), as is the read of sigmoid(1) of stream k mod n and sigmoid(-1) of the others.
    """

    def __init__(self, streams: int, layer: int, width: int, eps: float, iterations: int) -> None:
        super().__init__(streams, layer)
        self.eps, self.iterations = eps, iterations
        self.sizes = (streams, streams, streams * streams)  # read, write, mixing
        read, mixing = self.alpha.detach().split((streams, streams * streams))
        del self.alpha, self.beta
        self.offset = nn.Parameter(torch.cat((2 * read - 1, torch.zeros(streams), 8 * mixing - 8)))
        self.phi = nn.Parameter(torch.zeros(streams * width, sum(self.sizes)))
        self.gate = nn.Parameter(torch.full((3,), 0.01))

    def weights(self, h: Tensor) -> tuple[Tensor, Tensor]:
        flat = h.flatten(-2).unsqueeze(-2)
        parts = (F.rms_norm(flat, flat.shape[-1:], eps=self.eps) @ self.phi).split(self.sizes, -1)
        offsets, gates = self.offset.unsqueeze(-2).split(self.sizes, -1), self.gate.unsqueeze(-2).split(1, -1)
        read, write, mixing = (gate * part + offset for gate, part, offset in zip(gates, parts, offsets, strict=True))
        mixing = sinkhorn(mixing.squeeze(-2).unflatten(-1, (self.streams, self.streams)), self.iterations)
        return torch.cat((read.sigmoid(), mixing), -2), 2 * write.sigmoid().transpose(-1, -2)


class DepthAttention(nn.Module):
    """sum_i softmax_i(w . RMSNorm(v_i)) v_i over S outputs: (S, B, T, D) -> (B, T, D) (Chen 2026, 2603.15031).

    w = 0 at first, the mean of the outputs. A gain of the RMSNorm would be a factor on w, and is left out.
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.query = nn.Parameter(torch.zeros(width))

    def weights(self, v: Tensor) -> Tensor:
        """The weight of every output, (S, B, T)."""
        return (self.query * F.rms_norm(v, v.shape[-1:], eps=self.eps)).sum(-1).softmax(0)

    def forward(self, v: Tensor) -> Tensor:
        return (self.weights(v).unsqueeze(-1) * v).sum(0)
