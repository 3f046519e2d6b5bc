"""Tests the claim: Dead ReLU units come from a learning rate that is too large."""

from dataclasses import replace
from typing import Any

import numpy as np

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, PARTLY, UNDECIDED
from models.trace import Divergence
from models.training import Run
from tests import hand
from tests.claims.kit import Rows, gathered, nets, outcome, rows_agree, stream_by_hand, upheld_by

DIVERGED = Divergence(step=7, quantity="loss")


def dying() -> Rows:
    shares = []
    for cfg in nets("dying-relu").values():
        run = Run(cfg, probe=False, frames=False)
        run.advance(cfg.steps if cfg.steps > 1 else 0)
        model, x = run.model, run.task.held_out[0][:128]
        sites = stream_by_hand(cfg, model, model.position(model.embed(x)))
        dead = []
        for one, module in zip(sites, model.stream.sublayers, strict=False):
            read = hand.layer_norm(one, module.norm_in, cfg.eps) if cfg.norm != "none" else one
            dead.append((hand.linear(read, module.function.w1) <= 0).flatten(0, -2).all(0).double().mean().item())
        shares.append(dead)
    return {"dead, mean over blocks": [np.mean(one) for one in shares], "most": [max(one) for one in shares]}


def alive(values: dict[str, Any]) -> None:
    for name, trace in values.items():
        frame = replace(trace.frames[0], dead_units=np.zeros_like(trace.frames[0].dead_units))
        values[name] = replace(trace, frames=(frame, *trace.frames[1:]))


def test_rows_come_out_alike_by_another_computation() -> None:
    rows_agree("dying-relu", dying())


def test_contrary_numbers_uphold_the_claim() -> None:
    upheld_by("dying-relu", alive)


def test_dead_units_have_two_causes_and_either_alone_decides_the_verdict() -> None:
    assert outcome("dying-relu").answer == PARTLY

    def unhurt(values: dict[str, Any]) -> None:
        trace = values[CLAIMS["dying-relu"].judge.function.keywords["trained"]]
        values[CLAIMS["dying-relu"].judge.function.keywords["trained"]] = replace(trace, frames=trace.frames[:1])

    assert outcome("dying-relu", unhurt).answer == FAILS


def test_dead_units_of_a_net_that_diverged_decide_nothing() -> None:
    trained = CLAIMS["dying-relu"].judge.function.keywords["trained"]
    values = gathered("dying-relu")
    said = CLAIMS["dying-relu"].finding(values | {trained: replace(values[trained], divergence=DIVERGED)})
    assert (said.answer, said.sentence) == (UNDECIDED, f"Not measured: “{trained}” diverged at step 7.")
