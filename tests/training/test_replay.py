"""A run taken back to any of its steps is the run itself, and looking at it changes nothing."""

import pytest
import torch

from models.instruments import INSTRUMENTS
from models.spec import RunConfig
from models.training import Replays, Run, result_of

SMALL = {"depth": 3, "width": 16, "batch": 16, "steps": 40, "seed": 5, "device": "cpu"}
CONFIGS = [
    RunConfig(**SMALL, norm="batch norm"),
    RunConfig.arranged("pre-norm", net="transformer", task="copy", heads=2, **SMALL),
]


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def run_at(cfg, step):
    run = Run(cfg)
    run.advance(step)
    return run


@pytest.mark.parametrize("cfg", CONFIGS, ids=lambda cfg: cfg.net)
def test_the_net_of_a_step_is_the_one_that_the_run_had_there(cfg):
    replays = Replays()
    for step in (0, 7, 23, 11, 40):  # forward goes on, backward begins anew
        snapshot = result_of(replays.snapshot(cfg, step))
        assert snapshot.step == step
        assert equal(weights(snapshot.model), weights(run_at(cfg, step).model)), step


def test_the_live_run_is_used_where_it_stands_at_the_step():
    run = run_at(CONFIGS[0], 9)
    seen = []
    snapshot = result_of(Replays(lambda cfg: seen.append(cfg) or run).snapshot(CONFIGS[0], 9))
    assert seen == [CONFIGS[0]]
    assert equal(weights(snapshot.model), weights(run.model))


@pytest.mark.parametrize("cfg", CONFIGS, ids=lambda cfg: cfg.net)
def test_spoiling_a_still_spoils_neither_the_live_run_nor_the_replay(cfg):
    replays, live = Replays(), run_at(cfg, 9)
    for keeper in (Replays(lambda _: live), replays):
        snapshot = result_of(keeper.snapshot(cfg, 9))
        snapshot.model(snapshot.batch()[0]).sum().backward()
        with torch.no_grad():
            for parameter in snapshot.model.parameters():
                parameter.zero_()
            for kept in snapshot.optimizer.values():
                for value in kept.values():
                    value.zero_()
    live.advance(5)
    assert equal(weights(live.model), weights(run_at(cfg, 14).model))
    assert equal(weights(result_of(replays.snapshot(cfg, 14)).model), weights(run_at(cfg, 14).model))


def test_a_film_sees_each_step_once_and_says_how_far_it_is():
    work, shares, seen = Replays().map_steps(CONFIGS[0], [0, 5, 20], lambda snapshot: snapshot.step), [], []
    while True:
        try:
            shares.append(next(work))
        except StopIteration as end:
            seen = end.value
            break
    assert seen == [0, 5, 20]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_progress_of_an_instrument_only_grows_through_replay_and_measurement():
    cfg, replays = RunConfig(depth=2, width=16, batch=16, steps=300), Replays()
    first, again = (list(INSTRUMENTS["gradient shares"](replays, cfg, step=300)) for _ in range(2))
    assert first == sorted(first)
    assert first[0] < 0.5 < first[-1] <= 1
    assert len(again) < len(first)
    assert again[0] < 0.5  # nothing is trained again, so the measurement is the whole


def test_a_film_of_a_run_that_diverges_ends_there():
    cfg = RunConfig.arranged("residual only", depth=32, steps=40, device="cpu")
    run = run_at(cfg, 40)
    assert run.divergence is not None
    seen = result_of(Replays().map_steps(cfg, [0, 1, 40], lambda snapshot: snapshot.step))
    assert seen[0] == 0
    assert 40 not in seen


def test_only_so_many_runs_are_kept():
    replays = Replays(capacity=2)
    for seed in range(4):
        result_of(replays.snapshot(RunConfig(**SMALL | {"seed": seed}), 1))
    assert len(replays._runs) == 2
