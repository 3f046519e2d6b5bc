"""Internal covariate shift: statistics of a block's input over training with each norm, and with injected shifts.

Legend: D features.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from models.answers import CovariateShift
from models.generator import generator
from models.instruments.surgery import evaluate_held_out
from models.spec import RunConfig
from models.spec.knob import check_integer
from models.training import Replays, Run, Work
from models.training.modes import preserve_buffers
from models.training.replay import evenly_spaced_steps, rescale_progress, train_to

MEASURED_STEPS = 25
SAMPLES = 256  # held-out samples over which statistics are taken
MAX_STRETCH = 1.25  # largest factor by which an injected shift stretches a feature
NORMS = ("none", "layer norm", "batch norm")
SHIFTED = "batch norm, shifted"
MAX_SHIFT = 10.0  # in standard deviations of a feature


def covariate_shift(
    _replays: Replays, cfg: RunConfig, *, block: int = 4, shift: float = 0.5, step: int = 0
) -> Work[CovariateShift]:
    """Trains the net with each norm, and one with injected shifts, and measures the input of a block's branch.

    `shift` is the largest injected shift behind the batch norm, in standard deviations. `step` is not used. ValueError
    for a block or a shift out of bounds.
    """
    check_integer("block", block, 1, cfg.depth)
    if not 0 <= shift <= MAX_SHIFT:
        raise ValueError(f"shift is {shift!r}; legal is 0 to {MAX_SHIFT:g}")
    shifts = dict.fromkeys(NORMS, 0.0) | {SHIFTED: float(shift)}
    steps = evenly_spaced_steps(cfg.steps, MEASURED_STEPS)
    means, spreads, losses, accuracies = [], [], [], []
    for done, (name, size) in enumerate(shifts.items()):
        norm = "batch norm" if name == SHIFTED else name
        run = Run(replace(cfg, norm=norm, placement="pre-norm"), probe=False, frames=False)
        hooks = inject_shifts(run, size) if size else []
        statistics = []
        for at, step_to_measure in enumerate(steps):
            low, high = ((done + part / len(steps)) / len(shifts) for part in (at, at + 1))
            yield from rescale_progress(train_to(run, step_to_measure), low, high)
            statistics.append(branch_input_statistics(run, block))
        for hook in hooks:
            hook.remove()
        means.append([mean for mean, _ in statistics])
        spreads.append([spread for _, spread in statistics])
        loss = run.trace().loss[: cfg.steps]
        losses.append(np.append(loss, np.full(cfg.steps - len(loss), np.nan)))
        accuracies.append(evaluate_held_out(run.model, run.task).accuracy)
    return CovariateShift(
        nets=tuple(shifts),
        steps=np.array(steps),
        mean=np.array(means),
        spread=np.array(spreads),
        loss=np.array(losses),
        accuracy=np.array(accuracies),
    )


@torch.no_grad()
def branch_input_statistics(run: Run, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation by feature (D,) of a block's branch input on fixed samples in train mode."""
    branch_inputs: list[Tensor] = []
    function: nn.Module = run.model.stream.sublayers[block - 1].function  # type: ignore[assignment]
    hook = function.register_forward_pre_hook(lambda _, inputs: branch_inputs.append(inputs[0]))
    with preserve_buffers(run.model):
        run.model(run.task.held_out[0][:SAMPLES])
    hook.remove()
    spread, mean = torch.std_mean(branch_inputs[0].flatten(0, -2).double(), 0, correction=0)
    return mean.cpu().numpy(), spread.cpu().numpy()


def inject_shifts(run: Run, size: float) -> list[RemovableHandle]:
    """Shifts and stretches each feature behind the branches' input norms by numbers drawn anew at each training step.

    After Santurkar 2018, 1805.11604, section 2.2, but all samples of a batch get the same shift.
    """

    def add_hook(index: int, norm: nn.Module) -> RemovableHandle:
        def shifted(module: nn.Module, _inputs: object, out: Tensor) -> Tensor:
            if not module.training:
                return out
            shift, stretch = draw_shift(run.cfg, run.step, index, size)
            return out * stretch.to(out) + shift.to(out)

        return norm.register_forward_hook(shifted)

    norms: list[nn.Module] = [sublayer.norm_in for sublayer in run.model.stream.sublayers]  # type: ignore[misc]
    return [add_hook(index, norm) for index, norm in enumerate(norms)]


def draw_shift(cfg: RunConfig, step: int, norm: int, size: float) -> tuple[Tensor, Tensor]:
    """Shift and stretch of each feature behind the norm with this index at a step, (D,) each."""
    shift, stretch = torch.rand(2, cfg.width, generator=generator(cfg.seed, f"shift {step} {norm}"))
    return size * (2 * shift - 1), 1 + (MAX_STRETCH - 1) * stretch
