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


def signal(replays: Replays, cfg: RunConfig, *, step: int) -> Work[SignalAtInit]:
    """Measures SEEDS untrained nets, starting with the configuration's own seed. `step` is not used."""
    rows: list[tuple[np.ndarray, ...]] = []
    seeds = tuple((cfg.seed + at) % 2**31 for at in range(SEEDS))
    for at, seed in enumerate(seeds):
        measured = signal_at_init(cfg, (seed,), TOKENS)
        yield (at + 0.5) / SEEDS
        gains = _gains(build_model(replace(cfg, seed=seed)), cfg)
        rows.append((measured.mean_square[0], measured.grad_norm[0], *gains))
        yield (at + 1) / SEEDS
    return SignalAtInit(seeds, *map(np.stack, zip(*rows, strict=True)))


def _gains(model: Net, cfg: RunConfig) -> tuple[np.ndarray, np.ndarray]:
    """v_f and v_b by sublayer (M,) of one net."""
    tokens = MAX_TOKENS if cfg.net == "transformer" else 1
    source = generator(cfg.seed, "gains")
    x, g = (torch.randn(TOKENS // tokens, tokens, cfg.width, generator=source) for _ in range(2))
    x = (x / x.square().mean().sqrt()).requires_grad_()
    forward, backward = np.full(cfg.sublayers, np.nan), np.full(cfg.sublayers, np.nan)
    for at, sublayer in enumerate(model.stream.sublayers):
        if not hasattr(sublayer, "function"):
            continue
        out = sublayer.function(x)  # type: ignore[operator]
        (back,) = torch.autograd.grad(out, x, g)
        forward[at] = out.detach().double().square().mean().item()
        backward[at] = (back.double().square().sum() / g.double().square().sum()).item()
    return forward, backward
