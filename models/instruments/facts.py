"""Facts about torch's own layers that are often stated wrongly: each function builds layers, runs and measures them.

All use the same seed. Legend: B batch, T tokens, D features.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from models.answers import (
    BatchNormMemory,
    ByHand,
    ClosedBranches,
    Copies,
    FinalNorm,
    GradientSizes,
    SmallTokens,
    WhoIsSeen,
)
from models.spec import RunConfig
from models.training import Run, cross_entropy

SIZES = (4, 8, 64, 512)  # features of a token, for `by_hand`
DEPTHS = (2, 6, 12)  # layers, for `final_norm`
# Size of every torch layer below.
WIDTH = 32
HEADS = 4
TOKENS = 8
CLOSED_BRANCH_FIELDS: dict[str, Any] = {"depth": 8, "width": 32, "batch": 32}


def by_hand() -> ByHand:
    """Shares by which (x - mean) / (x.std() + eps) is shorter than nn.LayerNorm's output, by number of features."""
    shares = []
    for size in SIZES:
        x = torch.randn(16, size, dtype=torch.float64)
        hand = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)
        shares.append(1 - (hand.norm() / nn.LayerNorm(size, dtype=torch.float64)(x).norm()).item())
    return ByHand(SIZES, tuple(shares))


def small_tokens() -> SmallTokens:
    """RMS of tokens of RMS 1e-4 after torch's RMS norm and layer norm with their defaults, in float32."""
    x = torch.randn(64, 256)
    x = x - x.mean(-1, keepdim=True)
    x = 1e-4 * x / _rms(x)[:, None]
    return SmallTokens(
        input_rms=_rms(x).mean().item(),
        rms=_rms(nn.RMSNorm(256)(x)).mean().item(),
        layer=_rms(nn.LayerNorm(256)(x)).mean().item(),
        rms_eps=torch.finfo(x.dtype).eps,
        layer_eps=nn.LayerNorm(256).eps,
    )


def who_is_seen() -> WhoIsSeen:
    """How much a norm's output for the first token changes with a later token, or with another sequence.

    For LayerNorm(D), LayerNorm([T, D]) and BatchNorm1d on (B, D, T), in training mode on sequences (2, T, D).
    """
    x = torch.randn(2, TOKENS, WIDTH)
    future, neighbour = x.clone(), x.clone()
    future[0, -1, 0] += 5.0
    neighbour[1, -1, 0] += 5.0
    norms: dict[str, Callable[[Tensor], Tensor]] = {
        "LayerNorm(D)": nn.LayerNorm(WIDTH),
        "LayerNorm([T, D])": nn.LayerNorm([TOKENS, WIDTH]),
        "BatchNorm1d on (B, D, T)": lambda x: nn.BatchNorm1d(WIDTH)(x.transpose(1, 2)).transpose(1, 2),
    }
    return WhoIsSeen(
        norm=tuple(norms),
        future=tuple((norm(future) - norm(x))[0, 0].abs().max().item() for norm in norms.values()),
        neighbour=tuple((norm(neighbour) - norm(x))[0, 0].abs().max().item() for norm in norms.values()),
    )


def batch_norm_memory() -> BatchNormMemory:
    """Running statistics of nn.BatchNorm1d with its defaults, and its outputs for small batches and in eval mode."""
    x = 3.0 + 2.0 * torch.randn(8, 4)
    norm = nn.BatchNorm1d(4)
    norm.running_mean.fill_(1.0)  # type: ignore[union-attr]
    trained = norm(x)
    old_weight = ((norm.running_mean - x.mean(0)) / (1.0 - x.mean(0))).mean().item()  # type: ignore[operator]
    variance = (norm.running_var - 0.9) / 0.1  # type: ignore[operator]
    unbiased = (variance - x.var(0)).abs().max() < (variance - x.var(0, correction=0)).abs().max()
    try:
        nn.BatchNorm1d(4)(x[:1])
        message = ""
    except ValueError as error:
        message = str(error)
    pair = nn.BatchNorm1d(4)(x[:2])
    return BatchNormMemory(
        momentum=float(norm.momentum or 0.0),
        old_weight=old_weight,
        unbiased=bool(unbiased),
        refused=message,
        pair=pair.abs().mean().item(),
        eval=(norm.eval()(x) - trained).abs().max().item(),
    )


def copies() -> Copies:
    """Smallest difference between layers of a new nn.TransformerEncoder, and of one with independently drawn layers."""
    encoder = nn.TransformerEncoder(_layer(norm_first=True), 6, enable_nested_tensor=False)
    copied = _smallest_difference(encoder)
    _initialise_layers(encoder)
    return Copies(("nn.TransformerEncoder", "each layer built anew"), (copied, _smallest_difference(encoder)))


def final_norm() -> FinalNorm:
    """Output RMS of nn.TransformerEncoder(norm_first=True) by depth, without and with a final norm.

    Also the largest change that a final norm makes to the output of a post-norm encoder.
    """
    x = torch.randn(4, TOKENS, WIDTH)
    bare, normed = [], []
    for depth in DEPTHS:
        encoder = nn.TransformerEncoder(_layer(norm_first=True), depth, enable_nested_tensor=False)
        _initialise_layers(encoder)
        out = encoder(x)
        bare.append(_rms(out).mean().item())
        normed.append(_rms(nn.LayerNorm(WIDTH)(out)).mean().item())
    post = nn.TransformerEncoder(_layer(norm_first=False), 6, enable_nested_tensor=False)
    change = (nn.LayerNorm(WIDTH)(post(x)) - post(x)).abs().max().item()
    return FinalNorm(DEPTHS, tuple(bare), tuple(normed), absent=encoder.norm is None, moved=change)


def gradient_sizes() -> GradientSizes:
    """Length and RMS of each tensor's gradient in a small net on random labels."""
    net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
    x, y = torch.randn(64, 64), torch.randint(10, (64,))
    nn.functional.cross_entropy(net(x), y).backward()
    names = ("first weight", "first bias", "last weight", "last bias")
    grads = [p.grad for p in net.parameters() if p.grad is not None]
    return GradientSizes(
        tensor=names,
        numbers=tuple(grad.numel() for grad in grads),
        length=tuple(grad.norm().item() for grad in grads),
        rms=tuple(grad.square().mean().sqrt().item() for grad in grads),
    )


def closed_branches() -> ClosedBranches:
    """RMS of the first gradient by part, in nets whose branches start at 0: by ReZero, and by a last matrix of 0."""
    name_parts = {
        "embedding": "embed.",
        "gate": ".gate",
        "first matrix": ".w1.weight",
        "last matrix": ".w2.weight",
        "head": "head.",
    }
    nets = {
        "ReZero": RunConfig.arranged("ReZero", **CLOSED_BRANCH_FIELDS),
        "zero last": RunConfig(init="zero last", **CLOSED_BRANCH_FIELDS),
    }
    by_net: dict[str, dict[str, float]] = {}
    for net, cfg in nets.items():
        run = Run(cfg, probe=False, frames=False)
        x, y = run.next_batch()
        cross_entropy(run.model(x), y).backward()
        run.close()
        grads = {name: p.grad.flatten() for name, p in run.model.named_parameters() if p.grad is not None}
        by_net[net] = {}
        for part, name_part in name_parts.items():
            part_grads = [grad for name, grad in grads.items() if name_part in name]
            if part_grads:
                by_net[net][part] = _rms(torch.cat(part_grads)).item()
    return ClosedBranches(by_net)


def _rms(x: Tensor) -> Tensor:
    return x.square().mean(-1).sqrt()


def _layer(*, norm_first: bool) -> nn.TransformerEncoderLayer:
    """A torch layer without dropout, with torch's initialisation."""
    return nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=norm_first)


def _initialise_layers(encoder: nn.TransformerEncoder) -> None:
    """Initialises each layer independently; torch makes all of them copies of one."""
    for layer in encoder.layers:
        layer.load_state_dict(_layer(norm_first=True).state_dict())


def _smallest_difference(encoder: nn.TransformerEncoder) -> float:
    """Smallest RMS difference between the first feed-forward matrix of the first layer and of any other layer."""
    first_matrix, *other_matrices = [layer.linear1.weight for layer in encoder.layers]
    return float(min((first_matrix - other).square().mean().sqrt().item() for other in other_matrices))


FACTS: dict[str, Callable[[], Any]] = {
    "by hand": by_hand,
    "small tokens": small_tokens,
    "who is seen": who_is_seen,
    "batch norm memory": batch_norm_memory,
    "copies": copies,
    "final norm": final_norm,
    "gradient sizes": gradient_sizes,
    "closed branches": closed_branches,
}


def measure_fact(name: str) -> Any:
    """Measures one of FACTS with a fixed seed, and returns its answer."""
    # torch's layers draw from the global generator, so its state is saved and restored.
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return FACTS[name]()
