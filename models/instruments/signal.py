"""Signal, gradient and branch gains at initialisation over several seeds, as `models.insight.theory` predicts them."""

from dataclasses import replace

import numpy as np
import torch

from models.answers import SignalAtInit
from models.generator import generator
from models.insight import signal_at_init
from models.nets import Net, build_model
from models.spec import RunConfig
from models.spec.tasks import MAX_TOKENS
from models.training import Replays, Work

SEEDS = 6  # enough for a stable mean of log-normal factors
TOKENS = 128  # Gaussian tokens fed to each net


def signal(replays: Replays, cfg: RunConfig, *, step: int, count: int = SEEDS) -> Work[SignalAtInit]:
    """Measures `count` untrained nets, starting with the configuration's own seed. `step` is not used."""
    seeds = tuple((cfg.seed + offset) % 2**31 for offset in range(count))
    measurements_by_seed: list[tuple[np.ndarray, ...]] = []
    for index, seed in enumerate(seeds):
        measured = signal_at_init(cfg, (seed,), TOKENS)
        yield (index + 0.5) / count
        forward, backward = _branch_gains(build_model(replace(cfg, seed=seed)), cfg)
        measurements_by_seed.append((measured.mean_square[0], measured.grad_norm[0], forward, backward))
        yield (index + 1) / count
    fields = [np.stack(arrays) for arrays in zip(*measurements_by_seed, strict=True)]
    return SignalAtInit(seeds, *fields)


def _branch_gains(model: Net, cfg: RunConfig) -> tuple[np.ndarray, np.ndarray]:
    """Mean-square gain of each branch forward and backward, v_f and v_b (M,); NaN for an ablated sublayer."""
    tokens = MAX_TOKENS if cfg.net == "transformer" else 1
    source = generator(cfg.seed, "gains")
    x, g = (torch.randn(TOKENS // tokens, tokens, cfg.width, generator=source) for _ in range(2))
    x = (x / x.square().mean().sqrt()).requires_grad_()
    forward = np.full(cfg.sublayers, np.nan)
    backward = np.full(cfg.sublayers, np.nan)
    for index, sublayer in enumerate(model.stream.sublayers):
        if not hasattr(sublayer, "function"):
            continue
        out = sublayer.function(x)  # type: ignore[operator]
        (x_grad,) = torch.autograd.grad(out, x, g)
        forward[index] = out.detach().double().square().mean().item()
        backward[index] = (x_grad.double().square().sum() / g.double().square().sum()).item()
    return forward, backward
