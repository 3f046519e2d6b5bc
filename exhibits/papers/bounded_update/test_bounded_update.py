"""Tests the result: With DeepNorm a training step changes the output by the same amount at any depth."""

import numpy as np
import pytest

from models.answers import Update
from models.instruments import INSTRUMENTS
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from models.spec import RunConfig
from models.training import Replays, result_of
from tests.papers.kit import comes_out, verdict


def of_updates(**powers: float) -> str:
    """The verdict on changes that are these powers of depth, by net, and with biases and gains."""
    *of_kinds, everything = powers.values()
    kinds = dict(zip(("DeepNorm", "post-LN", "pre-LN"), of_kinds, strict=True))
    values = {}
    for name in PAPERS["bounded-update"].sources:
        kind, depth, _ = name.split(", ")
        values[name] = Update(float(depth) ** kinds[kind], float(depth) ** everything, 1.0)
    return verdict("bounded-update", values)


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("bounded-update", HOLDS)


def test_the_bound_of_deepnorm_counts_matrices_alone() -> None:
    """By hand: a bias of a branch takes part in 1/alpha^2 = M^-1/2, so M of them grow as the root of M."""
    rows = [
        [
            result_of(INSTRUMENTS["update"](Replays(), RunConfig.arranged("DeepNorm", net="transformer", task="book",
                depth=depth, width=32, batch=8, optimizer="sgd", lr=0.001, steps=1, seed=seed), step=0))
            for depth in (4, 32)
        ]
        for seed in range(3)
    ]  # fmt: skip
    matrices, everything = (
        np.mean([np.log(getattr(deep, what) / getattr(shallow, what)) for shallow, deep in rows]) / np.log(8)
        for what in ("matrices", "everything")
    )
    assert abs(matrices) < 0.15
    assert everything == pytest.approx(0.5, abs=0.15)


def test_an_update_is_judged_by_its_power_of_depth() -> None:
    assert of_updates(deep=0.0, post=1.5, pre=0.6, everything=0.5) == HOLDS
    assert of_updates(deep=0.2, post=1.5, pre=0.6, everything=0.5) == PARTLY
    assert of_updates(deep=0.0, post=1.5, pre=0.1, everything=0.5) == PARTLY
    assert of_updates(deep=0.0, post=1.5, pre=0.6, everything=0.1) == PARTLY
    assert of_updates(deep=1.0, post=0.1, pre=0.1, everything=1.0) == NOT_HERE
