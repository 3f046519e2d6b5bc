"""Health of training at one step: signal and noise of the gradient, learned gates and gains, and Adam's state."""

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import accumulate_dtype
from exhibits.instruments.health.answer import HEALTH, AdamState, Gains, GradientNoise, Health
from models.instruments import on_snapshot
from models.nets import Net
from models.nets.norms import NORM_TYPES, DynamicErf, DynamicTanh
from models.nets.sublayer import Gate
from models.spec import RunConfig
from models.spec.knob import check_integer
from models.spec.parametrization import ADAM_OPTIMIZERS, depth_ratio, width_ratio
from models.spec.plan import uses_batch_statistics
from models.training import OPTIMIZERS, Snapshot, Work, cross_entropy

MICRO_BATCHES = 8  # enough for a variance, and as cheap as a few steps
MAX_MICRO_BATCHES = 512  # the size of the largest batch
MIN_BATCH_NORM_SAMPLES = 8  # of a micro-batch, whose statistics must stand in for those of the whole batch
CLOSE_TO_ONE = 0.1  # largest distance of |update| / lr from 1 that counts as close
MOMENTS = ("exp_avg", "exp_avg_sq")


def health(snapshot: Snapshot, parts: int = MICRO_BATCHES) -> Work[Health]:
    """Noise of the gradient over `parts` micro-batches of the step's batch, gates and gains, and Adam's state.

    ValueError for a number of parts that no batch can have.
    """
    check_integer("parts", parts, 2, MAX_MICRO_BATCHES)
    gains, adam = gates_and_gains(snapshot.model), adam_state(snapshot)
    return Health((yield from gradient_noise(snapshot, parts)), gains, adam)


def gradient_noise(snapshot: Snapshot, parts: int) -> Work[GradientNoise]:
    """Signal and noise over at most `parts` micro-batches of equal size; samples left over are not used."""
    count, size = _split_batch(snapshot.cfg, parts)
    mean_square, square_of_mean = yield from _squares(snapshot, count, size)
    signal, noise = signal_and_noise(mean_square, square_of_mean, count)
    gradient_square, variance = signal_and_noise(mean_square.sum(), square_of_mean.sum(), count)
    has_no_weights = [not list(block.parameters()) for block in snapshot.model.stream.blocks.values()]
    signal[:-1][has_no_weights] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        snr = signal / noise
    return GradientNoise(
        parts=count,
        part_size=size,
        batch_norm=uses_batch_statistics(snapshot.cfg),
        signal=signal[:-1],
        noise=noise[:-1],
        snr=snr[:-1],
        gradient_square=float(gradient_square),
        noise_trace=float(size * variance),  # per sample: McCandlish 2018, appendix A
    )


def _split_batch(cfg: RunConfig, parts: int) -> tuple[int, int]:
    """Number and size of at most `parts` micro-batches of equal size; 0 and 0 if the batch cannot be split."""
    min_size = MIN_BATCH_NORM_SAMPLES if uses_batch_statistics(cfg) else 1
    count = min(parts, cfg.batch // min_size)
    return (count, cfg.batch // count) if count > 1 else (0, 0)


def signal_and_noise(mean_square: np.ndarray, square_of_mean: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Unbiased estimates of |E g|^2 and tr Cov(g), of any shape.

    `mean_square`: mean of |g_i|^2 over micro-batches. `square_of_mean`: |mean g_i|^2. The estimate of |E g|^2 can be
    negative if the noise outweighs the signal.
    """
    if parts < 2:
        return np.full_like(mean_square, np.nan), np.full_like(mean_square, np.nan)
    noise = np.maximum(mean_square - square_of_mean, 0.0) * (parts / (parts - 1))
    return square_of_mean - noise / parts, noise


def gates_and_gains(net: Net) -> Gains:
    """Learned gate of each branch, gains of each norm that has any, slopes of dynamic tanh or erf, and scalars."""
    gates = [getattr(sublayer, "scale", None) for sublayer in net.stream.sublayers]
    norms = [
        (name.removeprefix("stream.blocks."), part)
        for name, part in net.named_modules()
        if isinstance(part, NORM_TYPES)
    ]
    gains = [(name, getattr(part, "weight", None)) for name, part in norms]
    learned = [(name, gain) for name, gain in gains if isinstance(gain, Tensor) and gain.requires_grad]
    slopes = [(name, part.alpha.item()) for name, part in norms if isinstance(part, DynamicTanh | DynamicErf)]
    scalars = [(pair.resid_lambda.item(), pair.x0_lambda.item()) for pair in getattr(net.stream, "scalars", [])]
    return Gains(
        gates=_spreads([gate.gate if isinstance(gate, Gate) else None for gate in gates]),
        gain_names=tuple(name for name, _ in learned),
        gains=_spreads([gain for _, gain in learned]),
        slope_names=tuple(name for name, _ in slopes),
        slopes=np.array([slope for _, slope in slopes], np.float32),
        scalars=np.array(scalars, np.float32).reshape(-1, 2),
    )


def adam_state(snapshot: Snapshot) -> AdamState | None:
    """State of Adam by block after its last update; None for other optimisers and before the first update."""
    cfg = snapshot.cfg
    if cfg.optimizer not in ADAM_OPTIMIZERS or not any("exp_avg" in states for states in snapshot.optimizer.values()):
        return None
    defaults = OPTIMIZERS[cfg.optimizer](snapshot.model.parameters(), lr=cfg.lr).defaults
    eps = defaults["eps"] / width_ratio(cfg) / depth_ratio(cfg)
    ratios, near = [], []
    for block in snapshot.model.stream.blocks:
        states = [state for name, state in snapshot.optimizer.items() if name.startswith(f"stream.blocks.{block}.")]
        moments = [_corrected_moments(state, *defaults["betas"]) for state in states]
        if not moments:
            moments = [(torch.tensor([torch.nan]), torch.tensor([torch.nan]))]
        m = torch.cat([first for first, _ in moments])
        root_v = torch.cat([second for _, second in moments]).sqrt()
        ratios.append((m.square().mean().sqrt() / root_v.square().mean().sqrt()).item())
        update_over_lr = m.abs() / (root_v + eps)
        is_near = (update_over_lr - 1).abs() <= CLOSE_TO_ONE
        near.append(is_near.double().mean().item() if update_over_lr.isfinite().all() else float("nan"))
    return AdamState(np.array(ratios, np.float32), np.array(near, np.float32))


def _squares(snapshot: Snapshot, parts: int, size: int) -> Work[tuple[np.ndarray, np.ndarray]]:
    """Mean of |g_i|^2 over micro-batches, and |mean of g_i|^2, (L + 1,) each: by block, then all other parameters."""
    net, (x, y) = snapshot.model, snapshot.batch()
    accumulator_dtype = accumulate_dtype(x.device)
    block_of = {p: index for index, block in enumerate(net.stream.blocks.values()) for p in block.parameters()}
    depth = len(net.stream.blocks)
    trainable = [p for p in net.parameters() if p.requires_grad]
    total = [torch.zeros_like(p, dtype=accumulator_dtype) for p in trainable]
    squares = torch.zeros(len(trainable), dtype=accumulator_dtype, device=x.device)
    for part_index in range(parts):
        net.zero_grad()
        part = slice(part_index * size, (part_index + 1) * size)
        cross_entropy(net(x[part]), y[part]).backward()
        grads = [
            torch.zeros_like(p, dtype=accumulator_dtype) if p.grad is None else p.grad.to(accumulator_dtype)
            for p in trainable
        ]
        torch._foreach_add_(total, grads)
        squares += torch.stack(torch._foreach_norm(grads)).square()
        yield (part_index + 1) / parts
    # With 0 parts the means are 0 / 0, which is NaN.
    means = torch.stack([squares / parts, torch.stack(torch._foreach_norm(total)).square() / parts**2])
    groups = torch.tensor([block_of.get(p, depth) for p in trainable], device=x.device)
    mean_square, square_of_mean = means.new_zeros(2, depth + 1).index_add_(1, groups, means).cpu().numpy()
    return mean_square, square_of_mean


def _corrected_moments(state: dict[str, Tensor], beta_1: float, beta_2: float) -> tuple[Tensor, Tensor]:
    """Flat m and v of one parameter with bias correction (1412.6980)."""
    steps = float(state["step"])
    m, v = (state[key].flatten().to(accumulate_dtype(state[key].device)) for key in MOMENTS)
    return m / (1 - beta_1**steps), v / (1 - beta_2**steps)


def _spreads(values: list[Tensor | None]) -> np.ndarray:
    """Mean, minimum and maximum of each tensor, (N, 3); NaN for None."""
    spreads = [[torch.nan] * 3 if x is None else [x.mean().item(), x.min().item(), x.max().item()] for x in values]
    return np.array(spreads, np.float32).reshape(-1, 3)


MEASURES = {HEALTH: on_snapshot(health)}
