"""Tests the claim: Weight decay keeps a net with norms simple, because it keeps its weights small."""

import numpy as np
import pytest
import torch

from exhibits.claims.decay_keeps_small.answer import Rotation
from exhibits.claims.decay_keeps_small.measure import SHARE
from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS, PARTLY
from models.experiment import Values
from models.nets import build_model
from models.spec import RunConfig
from models.tasks import open_task
from models.training import cross_entropy
from tests.claims.kit import Rows, nets, outcome, rows_agree


def by_hand(cfg: RunConfig) -> tuple[float, float]:
    """RMS angle of the last steps and mean length, of descent written out, with angles from their cosine."""
    model, task = build_model(cfg), open_task(cfg, torch.device("cpu"))
    own = list(model.parameters())
    matrices = [p for p in model.stream.blocks.parameters() if p.ndim > 1]
    squares: list[float] = []
    lengths: list[float] = []
    for step in range(cfg.steps):
        x, y = task.batch(step)
        grads = torch.autograd.grad(cross_entropy(model(x), y), own, allow_unused=True)
        before = [p.detach().double().clone() for p in matrices]
        with torch.no_grad():
            for p, grad in zip(own, grads, strict=True):
                decay = cfg.weight_decay if p.ndim > 1 else 0.0
                p.sub_(cfg.lr * ((0.0 if grad is None else grad) + decay * p))
        if step >= cfg.steps * (1 - SHARE):
            pairs = zip(matrices, before, strict=True)
            cosines = [(p.double() * old).sum() / p.double().norm() / old.norm() for p, old in pairs]
            lengths += [p.detach().norm().item() for p in matrices]
            squares += [torch.acos(one.clamp(max=1)).item() ** 2 for one in cosines]
    return float(np.mean(squares)) ** 0.5, float(np.mean(lengths))


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    angles, lengths = zip(*map(by_hand, nets("decay-keeps-small").values()), strict=True)
    again: Rows = {
        "angle at a step": angles,
        "mean length of a matrix": lengths,
        "formula": [(2 * cfg.lr * cfg.weight_decay) ** 0.5 for cfg in nets("decay-keeps-small").values()],
    }
    rows_agree("decay-keeps-small", again, rel=0.1)
    assert outcome("decay-keeps-small").answer == FAILS


def measured(change: float, times: float) -> Values:
    """What is measured where all angles are so many times those of the formula."""
    values = {}
    for name, cfg in nets("decay-keeps-small").items():
        decayed = cfg.lr * cfg.weight_decay
        angle = np.full(4, times * (2 * decayed) ** 0.5)
        values[name] = Rotation(angle, np.ones(4), decayed, change)
    return values


def test_decay_is_judged_by_sizes_and_angles() -> None:
    claim = CLAIMS["decay-keeps-small"]
    assert claim.finding(measured(1e-6, 1.1)).answer == FAILS
    assert claim.finding(measured(1e-6, 1.5)).answer == PARTLY
    assert claim.finding(measured(0.5, 1.5)).answer == HOLDS
