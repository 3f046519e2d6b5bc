"""Tests the claim: With ReZero or zero initialisation all weights get a gradient."""

import torch

from models.spec import RunConfig
from tests.claims.kit import Rows, first_batch, loss_by_hand, outcome, put, rms, rows_agree, stream_by_hand, upheld_by


def zero_gates() -> Rows:
    parts = ("embedding", "gate", "first matrix", "last matrix", "head")
    found: dict[str, dict[str, float]] = {}
    small = {"depth": 8, "width": 32, "batch": 32}
    closed = {"ReZero": RunConfig.arranged("ReZero", **small), "zero last": RunConfig(init="zero last", **small)}
    for name, cfg in closed.items():
        model, x, y = first_batch(cfg)
        pieces = {"embedding": "embed.", "gate": ".gate", "first matrix": ".w1.weight", "last matrix": ".w2.weight"}
        pieces["head"] = "head."
        own = dict(model.named_parameters())
        loss = loss_by_hand(cfg, model, stream_by_hand(cfg, model, x)[-1], y)
        grads = dict(zip(own, torch.autograd.grad(loss, list(own.values()), allow_unused=True), strict=True))
        found[name] = {}
        for part, piece in pieces.items():
            flat = [grad.flatten() for one, grad in grads.items() if piece in one and grad is not None]
            if flat:
                found[name][part] = rms(torch.cat(flat))
    names = outcome("zero-gates").table["RMS of the first gradient of"]
    assert set(names) == set(parts)
    return {name: [found[name].get(part, "-") for part in names] for name in closed}


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("zero-gates", zero_gates())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("zero-gates", put("parts", rms={"ReZero": {"gate": 1.0}, "zero last": {"head": 1.0}}))
