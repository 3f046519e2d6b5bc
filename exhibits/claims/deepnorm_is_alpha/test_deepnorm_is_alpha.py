"""Tests the claim: DeepNorm multiplies the residual by alpha."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from models.trace import Trace
from tests import hand
from tests.claims.kit import Rows, first_batch, nets, rms, rows_agree, stream_by_hand, upheld_by


def deepnorm() -> Rows:
    shares = []
    for name, cfg in nets("deepnorm-is-alpha").items():
        model, x, _ = first_batch(cfg)
        skip = 1.0 if name == "post-norm" else cfg.depth**0.25
        sites = stream_by_hand(cfg, model, x, skip)
        branches = [
            hand.sublayer(one, module, "two layers", placement="none", norm="none", residual=False)
            for one, module in zip(sites, model.stream.sublayers, strict=False)
        ]
        shares.append(np.mean([rms(branch) / rms(one) for branch, one in zip(branches, sites, strict=False)]))
    return {"branch over stream, mean over blocks": shares}


def logs(**numbers: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        for name, trace in values.items():
            if isinstance(trace, Trace):
                values[name] = replace(trace, **{field: of(trace) for field, of in numbers.items()})

    return change


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("deepnorm-is-alpha", deepnorm())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("deepnorm-is-alpha", logs(branch_rms=lambda t: t.act_rms[:, :-1]))
