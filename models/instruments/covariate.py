"""Internal covariate shift: what a block reads over training with each norm, and with shifts put behind batch norm.

Legend: K nets, F measured steps, T steps, D features.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from models.answers import CovariateShift
from models.generator import generator
from models.instruments.surgery import held_out
from models.spec import RunConfig
from models.spec.knob import check_whole
from models.training import Replays, Run, Work
from models.training.modes import statistics_kept
from models.training.replay import even_steps, trained, within

MEASURED_STEPS = 25
TOKENS = 256  # held-out samples on which statistics are taken
STRETCH = 1.25  # the most by which an injected shift stretches a feature
NORMS = ("none", "layer norm", "batch norm")
SHIFTED = "batch norm, shifted"
MAX_SHIFT = 10.0


def covariate_shift(
    _replays: Replays, cfg: RunConfig, *, block: int = 4, shift: float = 0.5, step: int = 0
) -> Work[CovariateShift]:
    """Mean and spread of what the branch of `block` reads, of the net with each norm and of one with shifts injected.

    `shift`: the largest one, in standard deviations behind the batch norm. `step` is not used. ValueError for a block
    or a shift out of bounds.
    """
    check_whole("block", block, 1, cfg.depth)
    if not 0 <= shift <= MAX_SHIFT:
        raise ValueError(f"shift is {shift!r}; legal is 0 to {MAX_SHIFT:g}")
    nets = [*((norm, norm, 0.0) for norm in NORMS), (SHIFTED, "batch norm", float(shift))]
    steps = even_steps(cfg.steps, MEASURED_STEPS)
    means, spreads, losses, accuracies = [], [], [], []
    for at, (_, norm, size) in enumerate(nets):
        run = Run(replace(cfg, norm=norm, placement="pre-norm"), probe=False, frames=False)
        hooks = inject(run, size) if size else []
        read = []
        for done, look in enumerate(steps):
            share = (at + done / len(steps)) / len(nets)
            yield from within(trained(run, look), share, (at + (done + 1) / len(steps)) / len(nets))
            read.append(statistics(run, block))
        for hook in hooks:
            hook.remove()
        means.append([mean for mean, _ in read])
        spreads.append([spread for _, spread in read])
        loss = run.trace().loss[: cfg.steps]
        losses.append(np.append(loss, np.full(cfg.steps - len(loss), np.nan)))
        with torch.no_grad():
            accuracies.append(held_out(run.model, run.task)[1])
    return CovariateShift(
        tuple(name for name, _, _ in nets),
        np.array(steps),
        np.array(means),
        np.array(spreads),
        np.array(losses),
        np.array(accuracies),
    )


@torch.no_grad()
def statistics(run: Run, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation, by feature, of what a block's branch reads of fixed samples in train mode, (D,)."""
    seen: list[Tensor] = []
    function: nn.Module = run.model.stream.sublayers[block - 1].function  # type: ignore[assignment]
    hook = function.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with statistics_kept(run.model):
        run.model(run.task.held_out[0][:TOKENS])
    hook.remove()
    spread, mean = torch.std_mean(seen[0].flatten(0, -2).double(), 0, correction=0)
    return mean.cpu().numpy(), spread.cpu().numpy()


def inject(run: Run, size: float) -> list[RemovableHandle]:
    """Shifts and stretches each feature behind every norm of the branches by numbers drawn anew at each step.

    After Santurkar 2018, 1805.11604, section 2.2; without noise between the samples.
    """

    def moved(at: int, out: Tensor) -> Tensor:
        push, stretch = drawn(run.cfg, run.step, at, size)
        return out * stretch.to(out) + push.to(out)

    def hook(at: int, norm: nn.Module) -> RemovableHandle:
        return norm.register_forward_hook(lambda one, _, out: moved(at, out) if one.training else out)

    norms: list[nn.Module] = [sublayer.norm_in for sublayer in run.model.stream.sublayers]  # type: ignore[misc]
    return [hook(at, norm) for at, norm in enumerate(norms)]


def drawn(cfg: RunConfig, step: int, at: int, size: float) -> tuple[Tensor, Tensor]:
    """The shift and the stretch of each feature behind norm `at` at a step, (D,) each."""
    push, stretch = torch.rand(2, cfg.width, generator=generator(cfg.seed, f"shift {step} {at}"))
    return size * (2 * push - 1), 1 + (STRETCH - 1) * stretch
