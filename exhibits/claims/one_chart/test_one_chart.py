"""Tests the claim: The chart of the stream's gradient shows whether a net is healthy: level is good."""

import numpy as np
import pytest
import torch

from models.claims.judging import FAILS, HOLDS, PARTLY
from models.training import Run
from tests.claims.kit import Rows, first_batch, judged, loss_by_hand, mean_cosine, nets, rms, rows_agree, stream_by_hand
from tests.experiments import TRAINED, last_loss


def level_gradient_predicts_learning() -> Rows:
    found: list[list[float]] = []
    for cfg in nets("one-chart").values():
        model, x, y = first_batch(cfg)
        sites = stream_by_hand(cfg, model, x)
        loss = loss_by_hand(cfg, model, sites[-1], y)
        grads = torch.autograd.grad(loss, sites, retain_graph=True)
        blocks = []
        for module in model.stream.sublayers:
            matrices = [module.function.w1.weight, module.function.w2.weight]
            blocks.append(
                rms(torch.cat([one.flatten() for one in torch.autograd.grad(loss, matrices, retain_graph=True)]))
            )
        run = Run(cfg, probe=False, frames=False)
        held_out = run.task.held_out[0][:128]
        run.close()
        end = stream_by_hand(cfg, model, model.position(model.embed(held_out)))[-1].detach().double().flatten(0, -2)
        found.append(
            [rms(grads[0]) / rms(grads[-1]), max(blocks) / min(blocks), mean_cosine(end.numpy()), last_loss(cfg)]
        )
    names = (
        "stream gradient, start over end",
        "weight gradients, largest over least",
        "sample cosine at the end",
        "mean loss of the last 20 steps",
    )
    return dict(zip(names, np.transpose(found), strict=True))


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("one-chart", level_gradient_predicts_learning(), **TRAINED)


def test_one_chart_is_judged_by_whether_a_level_gradient_goes_with_learning() -> None:
    assert judged("one-chart", 2.3, 2.3, 2.3) == FAILS
    assert judged("one-chart", 0.1, 0.1, 0.1) == HOLDS
    assert judged("one-chart", 2.3, 0.1, 0.1) == PARTLY
