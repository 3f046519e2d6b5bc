"""How far the matrices of the blocks turn at each step of a run, and what becomes of the net when they grow."""

import math

import torch
from torch import Tensor

from exhibits.claims.decay_keeps_small.answer import ROTATION, Rotation
from models.spec import RunConfig
from models.training import Replays, Run, Work
from models.training.replay import rescale_progress, train_to

FACTOR = 10.0
SHARE = 0.25  # of the steps, the last ones, over which angles are measured


def rotation(_replays: Replays, cfg: RunConfig, *, step: int) -> Work[Rotation]:
    """Angles of the single steps before `step`, and the change of the logits of that step's batch by FACTOR."""
    run = Run(cfg, probe=False, frames=False)
    first = step - max(1, math.ceil(SHARE * step))
    yield from rescale_progress(train_to(run, first), 0.0, 1 - SHARE)
    matrices: list[Tensor] = [p for p in run.model.stream.blocks.parameters() if p.ndim > 1]
    squares, lengths = torch.zeros(2, len(matrices), dtype=torch.float64)
    while run.step < step and not run.done:
        before = [p.detach().clone() for p in matrices]
        run.advance(1)
        squares += torch.stack([_angle(p, old) ** 2 for p, old in zip(matrices, before, strict=True)])
        lengths += torch.stack(torch._foreach_norm(matrices)).detach()
        yield run.step / step
    x, _ = run.next_batch()
    with torch.no_grad():
        logits = run.model(x)
        for p in matrices:
            p.mul_(FACTOR)
        change = (run.model(x) - logits).abs().max() / logits.abs().max()
    angles, length = (squares / (step - first)).sqrt(), lengths / (step - first)
    return Rotation(angles.numpy(), length.numpy(), cfg.lr * cfg.weight_decay, change.item())


def _angle(matrix: Tensor, before: Tensor) -> Tensor:
    """The angle between two matrices as vectors, from the chord, which float32 gives for small angles too."""
    unit, unit_before = (m.detach().double() / m.detach().double().norm() for m in (matrix, before))
    return 2 * torch.asin((unit - unit_before).norm().clamp(max=2) / 2)


MEASURES = {ROTATION: rotation}
