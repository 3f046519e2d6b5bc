"""Tests the claim: Training leaves the stream as large as initialisation made it."""

from dataclasses import replace

import numpy as np
import pytest

from models.claims.claims import CLAIMS
from models.claims.judging import FAILS, HOLDS, PARTLY
from models.spec import RunConfig
from models.training import Run
from tests.claims.kit import ending, gathered, nets, rms, rows_agree, stream_by_hand


def growth(cfg: RunConfig, steps: int) -> float:
    """The stream's end over its start in the net after so many steps, by hand, on the batch of the next."""
    run = Run(cfg, probe=False, frames=False)
    run.advance(steps)
    x, _ = run.task.batch(steps)
    sites = stream_by_hand(cfg, run.model, run.model.position(run.model.embed(x)))
    return rms(sites[-1]) / rms(sites[0])


@pytest.mark.full
def test_rows_come_out_alike_by_another_computation() -> None:
    found = nets("trained-stream")
    before = [growth(cfg, 0) for cfg in found.values()]
    after = [growth(cfg, len(gathered("trained-stream")[name]) - 1) for name, cfg in found.items()]
    rows_agree("trained-stream", {"growth before training": before, "after": after}, rel=0.02)


def test_it_is_judged_by_how_much_more_the_stream_grows() -> None:
    def judged(*times: float) -> str:
        claim, trace = CLAIMS["trained-stream"], ending(1.0)
        flat = np.ones_like(trace.act_rms)
        grown = [np.concatenate([flat[:-1], flat[-1:] * np.geomspace(1, factor, flat.shape[1])]) for factor in times]
        values = {name: replace(trace, act_rms=rows) for name, rows in zip(claim.sources, grown, strict=True)}
        return claim.finding(values).answer

    assert judged(1.4, 0.7, 1.0, 1.0) == HOLDS
    assert judged(1.4, 1.0, 1.6, 3.0) == PARTLY
    assert judged(1.6, 0.6, 2.0, 3.0) == FAILS
