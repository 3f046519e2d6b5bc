"""What weight decay pulls: the matrices alone, or gains, biases and gates too."""

from dataclasses import replace

import pytest
import torch

from models.spec import RunConfig
from models.training import Run

SMALL = RunConfig(depth=2, width=8, batch=4, steps=4, optimizer="adamw", lr=0.01, weight_decay=0.5)


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adamw", "muon"])
def test_a_parameter_without_gradient_shrinks_as_the_optimisers_formula_says(optimizer: str) -> None:
    cfg = replace(SMALL, optimizer=optimizer, decayed="all")
    gains = {}
    for decayed in ("matrices", "all"):
        run = Run(replace(cfg, decayed=decayed))
        gain = run.model.get_parameter("final_norm.weight")
        run.model.zero_grad()
        for p in run.model.parameters():
            p.grad = torch.zeros_like(p)
        run.optimizer.step()
        gains[decayed] = gain.detach()
    pulled = cfg.lr * cfg.weight_decay
    expected = {"adam": 1 - cfg.lr, "muon": 1 - 0.015 * pulled}.get(optimizer, 1 - pulled)
    torch.testing.assert_close(gains["matrices"], torch.ones(8), rtol=0, atol=0)
    torch.testing.assert_close(gains["all"], torch.full((8,), expected))


def test_decay_of_all_changes_a_run_only_where_there_is_decay() -> None:
    runs = {}
    for decay in (0.0, 0.5):
        for decayed in ("matrices", "all"):
            run = Run(replace(SMALL, weight_decay=decay, decayed=decayed))
            run.advance(SMALL.steps)
            runs[decay, decayed] = run.trace().loss
    assert (runs[0.0, "matrices"] == runs[0.0, "all"]).all()
    assert (runs[0.5, "matrices"] != runs[0.5, "all"]).any()
