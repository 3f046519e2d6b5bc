"""What similar_nets_sentence of nets that start alike: said of nets like those that were counted, and of no others."""

from collections import Counter
from dataclasses import replace

import pytest

from models.insight import similar_nets
from models.insight.similar_nets import (
    COUNTS,
    FIELDS_OFF_GRID,
    GRID,
    MIN_NETS,
    NET_GRIDS,
    RATES,
    TRAINED_STEPS,
    Count,
    similar_nets_sentence,
)
from models.spec import RunConfig, knobs
from tests.insight import verdicts as drawn

MLP = RunConfig(depth=8, width=32, batch=32, lr=0.01, device="cpu")
TRANSFORMER = RunConfig.arranged("pre-norm", net="transformer", task="book", depth=4, width=32, batch=8, lr=0.003)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of which most, half and none learn."""
    counts = {"healthy": Count(95, 100), "borderline": Count(51, 100), "exploding": Count(2, 100)}
    monkeypatch.setattr(similar_nets, "COUNTS", counts | {"dead": Count(1, MIN_NETS - 1)})


@pytest.mark.usefixtures("counted")
def test_nothing_is_promised_to_a_shorter_run_nor_denied_to_a_longer_one() -> None:
    shorter, longer = (replace(MLP, steps=steps) for steps in (TRAINED_STEPS - 100, TRAINED_STEPS + 100))
    assert (similar_nets_sentence(shorter, "healthy"), similar_nets_sentence(longer, "exploding")) == ("", "")
    assert similar_nets_sentence(longer, "healthy")
    assert similar_nets_sentence(shorter, "exploding")


ASIDE = {
    "optimizer": "sgd",
    "lr": 0.5,
    "warmup": 20,
    "clip": 0.001,
    "schedule": "cosine",
    "weight_decay": 0.1,
    "decayed": "all",
    "batch": 128,
    "width": 128,
    "depth": 100,
    "init_gain": 4.0,
    "parametrization": "muP",
    "skip_scale": 4.0,
    "branch_scale": 0.01,
    "eps": 0.1,
    "branch_dropout": 0.1,
    "affine": False,
    "expansion": 2,
    "task": "circles",
    "overrides": ((2, "residual", False),),
}


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("field", ASIDE)
def test_nothing_is_said_of_a_net_that_differs_in_one_field_from_all_that_was_drawn(field: str) -> None:
    cfg = replace(TRANSFORMER if field == "optimizer" else MLP, **{field: ASIDE[field]})
    assert similar_nets_sentence(cfg, "healthy") == ""


@pytest.mark.usefixtures("counted")
def test_every_field_has_bounds_and_every_net_that_is_drawn_lies_within_them() -> None:
    assert set(GRID) | set(NET_GRIDS["mlp"]) | set(FIELDS_OFF_GRID) <= set(knobs())
    for cfg in drawn.configurations():
        assert similar_nets_sentence(cfg, "healthy") or similar_nets.config_caution(cfg), cfg


@pytest.mark.usefixtures("counted")
def test_nothing_is_said_where_the_task_is_beyond_the_net_or_gives_its_answer_away() -> None:
    assert similar_nets_sentence(replace(TRANSFORMER, mask="none"), "healthy") == ""
    assert similar_nets_sentence(replace(TRANSFORMER, norm="batch norm"), "healthy") == ""


@pytest.mark.parametrize(
    "fields", [{"warmup": 5000}, {"optimizer": "adam", "lr": 1e-6}, {"lr": 1e-5}, {"steps": 10, "lr": 0.003}]
)
def test_a_run_whose_rates_add_up_to_little_is_told_so(fields: dict[str, object]) -> None:
    """All of these end at chance; none is told that most nets like it learn."""
    cfg = replace(MLP, **fields)
    rates = [cfg.lr * min(1, (step + 1) / cfg.warmup) if cfg.warmup else cfg.lr for step in range(cfg.steps)]
    least = 300 * {"momentum": 0.003, "adam": 3e-4}[cfg.optimizer]
    said = (
        f"Slow: the learning rates of these {cfg.steps} steps add up to {sum(rates):.1g}; small nets that learned had"
    )
    assert similar_nets_sentence(cfg, "healthy") == f"{said} {least:.2g} or more."


def test_the_counts_are_those_of_the_benchmark() -> None:
    assert sum(count.nets for count in COUNTS.values()) == drawn.COUNT
    assert all(count.learn <= count.nets for count in COUNTS.values())
    assert set(RATES) == {
        (net, task, one) for net, of in NET_GRIDS.items() for task in of["task"] for one in of["optimizer"]
    }


@pytest.mark.full
def test_nets_that_were_not_counted_bear_the_verdicts_out() -> None:
    """Other shapes of up to 16 blocks: a verdict is wrong of few."""
    others = [cfg for cfg in drawn.configurations(160, seed=2) if cfg.depth <= 16 and cfg.net == "mlp"]
    table: Counter[tuple[str, bool]] = Counter()
    for one in drawn.outcomes(others[: 16 * drawn.GROUP_SIZE]):
        start = "failing" if one.start in drawn.FAILING else one.start
        table[start, one.end == "learns"] += 1
    assert table["healthy", True] >= 20
    assert table["healthy", False] <= 0.15 * table["healthy", True]
    assert table["failing", True] <= 2
