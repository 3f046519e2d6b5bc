"""The health of training at a step: signal and noise of the gradient, learned gates and gains, and Adam's state."""

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from models.answers import AdamState, Gains, GradientNoise, Health
from models.nets import Net
from models.nets.norms import NORM_TYPES, DynamicTanh
from models.nets.sublayer import Gate
from models.spec.knob import check_whole
from models.spec.parametrization import depth_ratio, width_ratio
from models.spec.plan import normed_over_batch
from models.training import Snapshot, Work, build_optimizer, cross_entropy

PARTS = 8  # micro-batches: enough for a variance, and as cheap as a few steps
MAX_MICRO_BATCHES = 512  # the largest batch, in micro-batches of one sample
BATCH_NORM_SAMPLES = 8  # least samples of a micro-batch whose statistics can stand in for those of the whole batch
CLOSE_TO_ONE = 0.1  # distance of |update| / lr from 1 that counts as close
MOMENTS = ("exp_avg", "exp_avg_sq")


def health(snapshot: Snapshot, parts: int = PARTS) -> Work[Health]:
    """The gradient's noise over `parts` micro-batches of the step's batch, gates and gains, and Adam's state.

    ValueError for a number of parts that no batch can have.
    """
    check_whole("parts", parts, 2, MAX_MICRO_BATCHES)
    gains, adam = gates_and_gains(snapshot.model), adam_state(snapshot)
    return Health((yield from gradient_noise(snapshot, parts)), gains, adam)


def gradient_noise(snapshot: Snapshot, parts: int) -> Work[GradientNoise]:
    """Signal and noise over `parts` micro-batches, or as many as the batch has. Samples left over are not used."""
    normed = normed_over_batch(snapshot.cfg)
    count = min(parts, snapshot.cfg.batch // (BATCH_NORM_SAMPLES if normed else 1))
    count = count if count > 1 else 0
    size = snapshot.cfg.batch // count if count else 0
    small, big = yield from _squares(snapshot, count, size)
    signal, noise = signal_and_noise(small, big, count)
    square, spread = signal_and_noise(small.sum(), big.sum(), count)  # per sample: McCandlish 2018, appendix A
    empty = [not list(block.parameters()) for block in snapshot.model.stream.blocks.values()]
    signal[:-1][empty] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = signal / noise
    return GradientNoise(count, size, normed, signal[:-1], noise[:-1], ratio[:-1], float(square), float(size * spread))


def signal_and_noise(small: np.ndarray, big: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Unbiased |E g|^2 and tr Cov(g), from `small`, the mean of |g_i|^2 over micro-batches, and `big`, |mean g_i|^2.

    Any shape. The first may be negative, where the noise is larger than the signal.
    """
    if parts < 2:
        return np.full_like(small, np.nan), np.full_like(small, np.nan)
    noise = np.maximum(small - big, 0.0) * (parts / (parts - 1))
    return big - noise / parts, noise


def gates_and_gains(net: Net) -> Gains:
    """The learned gate of each branch, the gains of each norm that learns them, the slope of each dynamic tanh."""
    gates = [getattr(sublayer, "scale", None) for sublayer in net.stream.sublayers]
    norms = [
        (name.removeprefix("stream.blocks."), part)
        for name, part in net.named_modules()
        if isinstance(part, NORM_TYPES)
    ]
    gains = [(name, getattr(part, "weight", None)) for name, part in norms]
    learned = [(name, gain) for name, gain in gains if isinstance(gain, Tensor) and gain.requires_grad]
    slopes = [(name, part.alpha.item()) for name, part in norms if isinstance(part, DynamicTanh)]
    return Gains(
        gates=_spreads([gate.gate if isinstance(gate, Gate) else None for gate in gates]),
        gain_names=tuple(name for name, _ in learned),
        gains=_spreads([gain for _, gain in learned]),
        slope_names=tuple(name for name, _ in slopes),
        slopes=np.array([slope for _, slope in slopes], np.float32),
    )


def adam_state(snapshot: Snapshot) -> AdamState | None:
    """The state of Adam by block after its last update; None for other optimisers and before the first update."""
    if not any("exp_avg" in states for states in snapshot.optimizer.values()):
        return None
    cfg = snapshot.cfg
    defaults = build_optimizer(cfg.optimizer, snapshot.model.parameters(), lr=cfg.lr, weight_decay=0.0).defaults
    eps = defaults["eps"] / width_ratio(cfg) / depth_ratio(cfg)
    ratios, near = [], []
    for block in snapshot.model.stream.blocks:
        states = [state for name, state in snapshot.optimizer.items() if name.startswith(f"stream.blocks.{block}.")]
        moved = [_corrected(state, *defaults["betas"]) for state in states]
        if not moved:
            moved = [(torch.tensor([torch.nan]), torch.tensor([torch.nan]))]
        m, root = torch.cat([mean for mean, _ in moved]), torch.cat([square for _, square in moved]).sqrt()
        ratios.append((m.square().mean().sqrt() / root.square().mean().sqrt()).item())
        of_lr = m.abs() / (root + eps)
        near.append(
            ((of_lr - 1).abs() <= CLOSE_TO_ONE).double().mean().item() if of_lr.isfinite().all() else float("nan")
        )
    return AdamState(np.array(ratios, np.float32), np.array(near, np.float32))


def _squares(snapshot: Snapshot, parts: int, size: int) -> Work[tuple[np.ndarray, np.ndarray]]:
    """The mean of |g_i|^2 over the micro-batches, and |mean of g_i|^2: by block, then for all other parameters."""
    net, (x, y) = snapshot.model, snapshot.batch()
    exact = accumulate_dtype(x.device)
    places = {p: at for at, block in enumerate(net.stream.blocks.values()) for p in block.parameters()}
    depth = len(net.stream.blocks)
    learned = [p for p in net.parameters() if p.requires_grad]
    total = [torch.zeros_like(p, dtype=exact) for p in learned]
    squares = torch.zeros(len(learned), dtype=exact, device=x.device)
    for at in range(parts):
        net.zero_grad()
        part = slice(at * size, (at + 1) * size)
        cross_entropy(net(x[part]), y[part]).backward()
        grads = [torch.zeros_like(p, dtype=exact) if p.grad is None else p.grad.to(exact) for p in learned]
        torch._foreach_add_(total, grads)
        squares += torch.stack(torch._foreach_norm(grads)).square()
        yield (at + 1) / parts
    # Without parts there is no mean: 0 / 0 is NaN.
    both = torch.stack([squares / parts, torch.stack(torch._foreach_norm(total)).square() / parts**2])
    group = torch.tensor([places.get(p, depth) for p in learned], device=x.device)
    by_group = both.new_zeros(2, depth + 1).index_add_(1, group, both).cpu().numpy()
    return by_group[0], by_group[1]


def _corrected(state: dict[str, Tensor], beta_1: float, beta_2: float) -> tuple[Tensor, Tensor]:
    """m and v of one parameter, flat, with bias correction (1412.6980)."""
    steps = float(state["step"])
    m, v = (state[key].flatten().to(accumulate_dtype(state[key].device)) for key in MOMENTS)
    return m / (1 - beta_1**steps), v / (1 - beta_2**steps)


def _spreads(values: list[Tensor | None]) -> np.ndarray:
    """Mean, least and greatest of each tensor, (N, 3); NaN where there is none."""
    spreads = [[torch.nan] * 3 if x is None else [x.mean().item(), x.min().item(), x.max().item()] for x in values]
    return np.array(spreads, np.float32).reshape(-1, 3)
