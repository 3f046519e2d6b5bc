"""The papers' formulas in plain tensor arithmetic, to hold the modules against.

Nothing here calls a layer of torch: only sums, products, roots and exponentials, with the module's own weights.
Legend: B batch, T tokens, D width, H heads, K head size.
"""

import math
from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch import Tensor, nn

EPS = 0.03  # far from every default, so that an eps in the wrong place shows

Function = Callable[[Tensor], Tensor]


def identity(x: Tensor) -> Tensor:
    return x


# --- norms: (x, its module, eps) -> x normed; gains and biases are the module's own ---


def layer_norm(x: Tensor, norm: nn.Module, eps: float) -> Tensor:
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / x.shape[-1]
    return norm.weight * (x - mean) / (variance + eps) ** 0.5 + norm.bias


def rms_norm(x: Tensor, norm: nn.Module, eps: float) -> Tensor:
    return norm.weight * x / ((x**2).sum(-1, keepdim=True) / x.shape[-1] + eps) ** 0.5


def batch_norm(x: Tensor, norm: nn.Module, eps: float) -> Tensor:
    count = x.shape[0] * x.shape[1]
    mean = x.sum((0, 1)) / count
    variance = ((x - mean) ** 2).sum((0, 1)) / count
    return norm.weight * (x - mean) / (variance + eps) ** 0.5 + norm.bias


def dynamic_tanh(x: Tensor, norm: nn.Module, eps: float) -> Tensor:
    return norm.weight * tanh(norm.alpha * x) + norm.bias


def dynamic_erf(x: Tensor, norm: nn.Module, eps: float) -> Tensor:
    return norm.weight * torch.erf(norm.alpha * x + norm.shift) + norm.bias


NORMS = {
    "none": lambda x, norm, eps: x,
    "layer norm": layer_norm,
    "rms norm": rms_norm,
    "batch norm": batch_norm,
    "dynamic tanh": dynamic_tanh,
    "dynamic erf": dynamic_erf,
}

# --- activations ---


def tanh(z: Tensor) -> Tensor:
    return 1 - 2 / (torch.exp(2 * z) + 1)


def sigmoid(z: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-z))


ACTIVATIONS = {
    "relu": lambda z: z * (z > 0),
    "gelu": lambda z: z * (1 + torch.erf(z / math.sqrt(2))) / 2,
    "silu": lambda z: z * sigmoid(z),
    "selu": lambda z: 1.0507009873554805 * torch.where(z > 0, z, 1.6732632423543772 * (torch.exp(z) - 1)),
    "tanh": tanh,
    "sigmoid": sigmoid,
    "identity": identity,
}

# --- placements, as each paper writes it: x is the stream, f the branch, n the norms by the place that they have ---

# `a` is the skip: a function that weighs the stream, or returns 0 without a residual. `b` weighs the branch.
PLACEMENTS = {
    "none": lambda x, f, n, a, b: a(x) + b(f(x)),
    "post-norm": lambda x, f, n, a, b: n.add(a(x) + b(f(x))),
    "pre-norm": lambda x, f, n, a, b: a(x) + b(f(n.first(x))),
    "sandwich": lambda x, f, n, a, b: a(x) + b(n.out(f(n.first(x)))),
    "res-post-norm": lambda x, f, n, a, b: a(x) + b(n.out(f(x))),
    "pre+post": lambda x, f, n, a, b: n.add(a(x) + b(f(n.first(x)))),
    "mid-norm": lambda x, f, n, a, b: a(x) + b(f(x, middle=n.mid)),
}


def weighs(weight: float | Tensor) -> Function:
    """Multiplication by a number or by channels."""
    return lambda x: weight * x


def no_skip(x: Tensor) -> Tensor:
    """Without a residual the skip is 0, whatever comes in."""
    return torch.zeros(x.shape, dtype=x.dtype)


def dropout(x: Tensor, kept: Tensor, rate: float) -> Tensor:
    """What is kept, divided by the share that is (Srivastava 2014)."""
    return torch.where(kept, x / (1 - rate), torch.zeros(x.shape, dtype=x.dtype))


def linear(x: Tensor, layer: nn.Module) -> Tensor:
    return x @ layer.weight.T + layer.bias


def sublayer(
    x: Tensor,
    module: nn.Module,
    kind: str,
    *,
    placement: str,
    norm: str,
    activation: str = "relu",
    residual: bool = True,
    skip: float = 1.0,
    branch: float | Tensor = 1.0,
    first: float = 1.0,
    eps: float = EPS,
    **attention_parts: object,
) -> Tensor:
    """One sublayer by the paper's equation. `first` multiplies what the branch reads after its norm."""
    by_hand = NORMS[norm]
    function = module.function

    def f(z: Tensor, middle: Function = identity) -> Tensor:
        z = first * z
        act = ACTIVATIONS[activation]
        if kind == "one layer":
            return act(middle(linear(z, function.w)))
        if kind == "two layers":
            return linear(act(middle(linear(z, function.w1))), function.w2)
        return linear(middle(heads(z, function, eps=eps, **attention_parts)), function.w_o)

    places = SimpleNamespace(
        first=lambda z: by_hand(z, module.norm_in, eps),
        out=lambda z: by_hand(z, module.norm_out, eps),
        add=lambda z: by_hand(z, module.norm_add, eps),
        mid=lambda z: by_hand(z, function.norm_mid, eps),
    )
    return PLACEMENTS[placement](x, f, places, weighs(skip) if residual else no_skip, weighs(branch))


def heads(
    x_BTD: Tensor,
    attention: nn.Module,
    *,
    heads: int = 2,
    causal: bool = True,
    qk_norm: bool = False,
    rotary: bool = False,
    added: Callable[[int, int], float | Tensor] = lambda head, ago: 0.0,
    scale: float | None = None,
    values: Tensor | None = None,
    eps: float,
) -> Tensor:
    """What attention's heads mix, side by side (B, T, D), head by head and position by position.

    `values`, (B, T, D), stand for its own.
    """
    size = x_BTD.shape[-1] // heads
    scaled = 1 / math.sqrt(size) if scale is None else scale
    q_BTD, k_BTD, v_BTD = (linear(x_BTD, layer) for layer in (attention.w_q, attention.w_k, attention.w_v))
    v_BTD = v_BTD if values is None else values
    mixed = []
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        q_BTK, k_BTK, v_BTK = q_BTD[..., own], k_BTD[..., own], v_BTD[..., own]
        if qk_norm:
            q_BTK, k_BTK = rms_norm(q_BTK, attention.norm_q, eps), rms_norm(k_BTK, attention.norm_k, eps)
        if rotary:
            q_BTK, k_BTK = turned(q_BTK), turned(k_BTK)
        places = range(x_BTD.shape[1])
        by_distance = torch.tensor([[float(added(head, i - j)) for j in places] for i in places], dtype=x_BTD.dtype)
        mixed.append(softmax_rows(q_BTK @ k_BTK.transpose(1, 2) * scaled + by_distance, causal) @ v_BTK)
    return torch.cat(mixed, dim=-1)


def t5_bucket(ago: int, *, bidirectional: bool) -> int:
    """T5's bucket of a key `ago` places back, negative for one that comes later
    (1910.10683, appendix of its code): of 32, or 16 for each side, one half for
    single distances, the other for ranges that grow as the logarithm does, up to 128.
    """
    count, first = (16, 16 * (ago < 0)) if bidirectional else (32, 0)
    distance, exact = abs(ago) if bidirectional else max(0, ago), count // 2
    if distance < exact:
        return first + distance
    return first + min(
        count - 1, exact + math.floor((count - exact) * math.log(distance / exact) / math.log(128 / exact))
    )


def softmax_rows(score_BTT: Tensor, causal: bool) -> Tensor:
    """Each row's exponentials over their sum; a causal row ends at its own position."""
    rows = []
    for at, row in enumerate(score_BTT.unbind(1)):
        seen = row[:, : at + 1] if causal else row
        weight = torch.exp(seen - seen.max(-1, keepdim=True).values)
        unseen = torch.zeros_like(row[:, seen.shape[1] :])
        rows.append(torch.cat((weight / weight.sum(-1, keepdim=True), unseen), dim=-1))
    return torch.stack(rows, dim=1)


def turned(x_BTK: Tensor) -> Tensor:
    """Rotary positions: features i and i + K/2 are the two parts of a complex number, turned by t / 10000^(2i/K)."""
    half = x_BTK.shape[-1] // 2
    number = torch.complex(x_BTK[..., :half], x_BTK[..., half:])
    angle = torch.arange(x_BTK.shape[1]).double()[:, None] / 10000 ** (
        2 * torch.arange(half).double() / x_BTK.shape[-1]
    )
    number = number * torch.exp(1j * angle)
    return torch.cat((number.real, number.imag), dim=-1)


# --- muP: the factors on learning rate, weight decay and Adam's epsilon, by kind of parameter ---

# n is the width over the base's, m the depth. Yang 2022 (2203.03466), table 8, rows "SGD LR" and "Adam LR"; Dey 2025
# (2505.01618), table 1 with alpha = 1, rows "Hidden LR", "Hidden WD" and "AdamW epsilon"; for SGD over depth Bordelon 2024
# (2405.15712), m^(2 alpha - 1). "fixed" has no side that grows with the width. "block" is inside a residual block.
MUP = {
    ("adam", "block hidden"): lambda n, m: (1 / n, n, 1 / (n * m)),
    ("adam", "block vector"): lambda n, m: (1, 1, 1 / (n * m)),
    ("adam", "block fixed"): lambda n, m: (1, 1, 1 / (n * m)),
    ("adam", "input"): lambda n, m: (1, 1, 1 / n),
    ("adam", "output"): lambda n, m: (1, 1, 1 / n),
    ("adam", "fixed"): lambda n, m: (1, 1, 1 / n),
    ("sgd", "block hidden"): lambda n, m: (m, 1 / m, None),
    ("sgd", "block vector"): lambda n, m: (n * m, 1 / (n * m), None),
    ("sgd", "block fixed"): lambda n, m: (m, 1 / m, None),
    ("sgd", "input"): lambda n, m: (n, 1 / n, None),
    ("sgd", "output"): lambda n, m: (n, 1 / n, None),
    ("sgd", "fixed"): lambda n, m: (1, 1, None),
}

# --- material ---


@torch.no_grad()
def randomise(model: nn.Module, seed: int = 5) -> nn.Module:
    """The net in float64 with gains, biases and gates far from
    what they start with, so that none can be left out unseen.
    """
    source = torch.Generator().manual_seed(seed)
    model.double()
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=source, dtype=torch.float64)
        if name.endswith("bias"):
            parameter.copy_(0.3 * noise)
        elif parameter.ndim <= 1:
            parameter.copy_(0.8 + 0.4 * noise)
    return model


def stream_of(batch: int = 3, tokens: int = 5, width: int = 8, seed: int = 11) -> Tensor:
    """A stream (B, T, D) in float64 that is neither centred nor of unit size."""
    source = torch.Generator().manual_seed(seed)
    return 1.7 * torch.randn(batch, tokens, width, generator=source, dtype=torch.float64) + 0.4


def assert_close(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
