"""A map: its specification, its cells, what it costs, and the table that comes of it."""

import json
import math
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.maps import Axis, Cell, MapSpec, Outcome
from models.maps.cells import (
    BATCHED_FIELDS,
    MAP_SECONDS,
    MAX_RUNS_OF_UNIT,
    cells,
    configs,
    outcome,
    refusal_reason,
    units,
)
from models.maps.spec import MAX_PANELS, MAX_RUNS_OF_MAP, MAX_SEEDS_OF_MAP, MAX_SPEC_CHARS, MAX_VALUES_OF_AXIS
from models.maps.table import frame_of, grid
from models.maps.unit import run_unit
from models.spec import ARRANGEMENTS, RunConfig
from models.spec.budget import Machine, reference_step_cost
from models.spec.pairings import differing_fields
from models.training import Run

BASE = (("task", "circles"), ("width", 16), ("steps", 30), ("batch", 8))
TWENTY = tuple(0.001 * k for k in range(1, 21))
SMALL = MapSpec(Axis("lr", (0.003, 0.03)), Axis("depth", (2, 4)), ("plain", "pre-norm"), BASE, seeds=2)


def test_the_digest_is_of_the_content_not_of_its_order_or_spelling():
    content = json.loads(SMALL.to_json())
    other = json.dumps(dict(reversed(content.items())) | {"base": dict(reversed(content["base"].items()))})
    assert MapSpec.from_json(other).digest == SMALL.digest
    assert replace(SMALL, y=Axis("depth", (2.0, 4.0))).digest == SMALL.digest
    for change in (
        {"seeds": 1},
        {"target": 0.4},
        {"x": Axis("lr", (0.003, 0.04))},
        {"arrangements": ("pre-norm", "plain")},
    ):
        assert replace(SMALL, **change).digest != SMALL.digest


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 2}, "has version 2; this program reads version 1"),
        ({"version": True}, "has version True"),
        ({"x": {"field": "clip", "values": [1]}}, "The horizontal axis cannot be clip, only one of depth, lr"),
        ({"x": {"field": "depth", "values": [1]}}, "Both axes are depth"),
        ({"x": {"field": "lr", "values": []}}, "The horizontal axis has 0 values; it takes 1 to 24"),
        ({"x": {"field": "lr", "values": [0.1, 0.1]}}, "twice"),
        ({"x": {"field": "lr", "values": ["a"]}}, r"Learning rate a is not a number from 0.000001 to 10"),
        ({"x": {"field": "lr", "values": [float("nan")]}}, r"Learning rate nan is out of range \(0.000001 to 10\)"),
        ({"y": {"field": "depth", "values": [2.5]}}, "Depth 2.5 is not a whole number"),
        ({"y": {"field": "depth", "values": [True]}}, "Depth True is not a number from 1 to 128"),
        ({"y": [1]}, "y is not an axis"),
        ({"arrangements": []}, "Choose 1 to 6 different arrangements"),
        ({"arrangements": ["<b>"]}, "There is no arrangement b; there are plain, "),
        ({"arrangements": "plain"}, "arrangements is not a list"),
        ({"base": {"lr": 0.1}}, "base has lr"),
        ({"base": {"seed": 3}}, "base has seed"),
        ({"base": {"task": "nonsense"}}, "task is 'nonsense'; legal is one of"),
        ({"base": {"clip": "abc"}}, "clip is 'abc'"),
        ({"base": {"width": 999999}}, "Width 999,999 is out of range"),
        ({"base": {"task": [1]}}, "neither a number nor a word"),
        ({"seeds": 0}, r"Seeds 0 is out of range \(1 to 8\)"),
        ({"target": -1}, r"Target loss -1 is out of range \(0.001 to 100\)"),
        ({"more": 1}, "no field more"),
    ],
)
def test_a_bad_specification_is_refused_in_a_sentence(change, sentence):
    text = json.dumps(json.loads(SMALL.to_json()) | change)
    with pytest.raises(ValueError, match=sentence):
        MapSpec.from_json(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_the_json_holds_it_is_a_specification_or_a_sentence(content):
    fields = json.loads(SMALL.to_json())
    for text in (json.dumps(content), *(json.dumps(fields | {name: content}) for name in fields)):
        with suppress(ValueError):
            spec = MapSpec.from_json(text)
            assert MapSpec.from_json(spec.to_json()) == spec
            assert isinstance(refusal_reason(spec, Machine()), str)


def test_a_cell_is_the_arrangement_with_its_values():
    cell = cells(SMALL)[1]
    assert cell == Cell("plain", 0.03, 2)
    assert configs(SMALL, cell)[1] == RunConfig.arranged("plain", depth=2, lr=0.03, seed=1, **dict(BASE))


def test_every_run_is_in_one_unit_whose_runs_differ_only_in_what_is_trained_together():
    spec = replace(SMALL, x=Axis("lr", tuple(0.001 * k for k in range(1, 13))), seeds=3)
    found = units(spec)
    runs = [run for unit in found for run in unit.runs]
    assert len(runs) == len(set(runs)) == spec.runs == 2 * 2 * 12 * 3
    for unit in found:
        configs_ = unit.configs(spec)
        assert set(differing_fields(configs_)) <= set(BATCHED_FIELDS)
        assert {(cfg.steps, *reference_step_cost(cfg)) for cfg in configs_} == {(unit.steps, unit.fixed, unit.growing)}
        assert len(unit) <= MAX_RUNS_OF_UNIT
    assert len(found) < len(runs) / 8


DROPS = replace(SMALL, x=Axis("branch_dropout", (0.0, 0.5)), y=Axis("stream_dropout", (0.0, 0.2)))
DECAYS = replace(SMALL, x=Axis("weight_decay", (0.0, 0.1)), base=(*BASE, ("decayed", "all")))


@pytest.mark.parametrize("spec", [SMALL, DROPS, DECAYS], ids=["rates", "dropout", "decay"])
def test_a_unit_comes_to_what_its_runs_come_to_alone(spec):
    for at, unit in enumerate(units(spec)):
        kept = run_unit(spec.to_json(), at)
        assert kept["unit"] == at
        for (cell, _), cfg, packed in zip(unit.runs, unit.configs(spec), kept["runs"], strict=True):
            run = Run(cfg)
            run.advance(cfg.steps)
            alone, together = outcome(cell, cfg, run.trace(), spec.target), Outcome.from_dict(packed)
            assert together.final_loss == pytest.approx(alone.final_loss, rel=1e-3)
            assert together.gradient_ratio == pytest.approx(alone.gradient_ratio, abs=1e-3)
            assert together.accuracy == pytest.approx(alone.accuracy, abs=0.02, nan_ok=True)
            assert (together.diverged, together.seed, together.x, together.y) == (
                alone.diverged,
                cfg.seed,
                cell.x,
                cell.y,
            )


def test_what_a_run_came_to_is_read_off_its_trace():
    cell, cfg = Cell("pre-norm", 0.03, 4), RunConfig(**dict(BASE), depth=4, lr=0.03)
    run = Run(cfg)
    run.advance(cfg.steps)
    trace = run.trace()
    target = float(np.convolve(trace.loss, np.full(10, 0.1), "valid")[15])
    found = outcome(cell, cfg, trace, target)
    assert found.final_loss == pytest.approx(trace.loss[-20:].mean(), rel=1e-6)
    assert found.gradient_ratio == pytest.approx(math.log10(trace.grad_rms[0, 0] / trace.grad_rms[0, -1]))
    step = found.steps_to_target
    assert step is not None
    means = [trace.loss[k - 9 : k + 1].mean() for k in range(9, step + 1)]
    assert means[-1] <= target * (1 + 1e-6)
    assert min(means[:-1], default=np.inf) > target
    assert outcome(cell, cfg, trace, 1e-9).steps_to_target is None


def test_a_run_that_diverged_has_its_step_and_no_final_loss():
    cfg = RunConfig(**dict(BASE), depth=8, norm="none", lr=10.0)
    run = Run(cfg)
    run.advance(cfg.steps)
    found = outcome(Cell("residual only", 10.0, 8), cfg, run.trace(), 0.5)
    assert found.diverged == run.divergence.step
    assert found.site == run.divergence.site
    assert found.final_loss == math.inf
    assert math.isnan(found.accuracy)
    back = Outcome.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert back.final_loss == math.inf


def made(spec, value):
    """Outcomes with a made-up final loss for every run."""
    return [
        Outcome(cell.arrangement, cell.x, cell.y, cfg.seed, value(cell, cfg.seed), 0.5, None, 0.0, None)
        for cell in cells(spec)
        for cfg in configs(spec, cell)
    ]


def test_a_panel_averages_losses_over_seeds_geometrically_and_stands_as_the_axes_do():
    runs = made(SMALL, lambda cell, seed: cell.y * 10.0**seed * (2 if cell.x == 0.03 else 1))
    values, lost = grid(SMALL, runs, "plain", "final loss")
    np.testing.assert_allclose(values, np.sqrt(10) * np.array([[2, 4], [4, 8]]))
    assert np.isnan(lost).all()


def test_a_cell_with_a_lost_seed_shows_the_earliest_step_and_no_loss():
    runs = made(SMALL, lambda cell, seed: 1.0)
    runs[0] = replace(runs[0], diverged=7, final_loss=math.inf)
    runs[1] = replace(runs[1], diverged=3, final_loss=math.inf)
    values, lost = grid(SMALL, runs, "plain", "final loss")
    assert np.isnan(values[0, 0])
    assert lost[0, 0] == 3
    assert np.isnan(lost).sum() == 3
    assert grid(SMALL, runs, "plain", "first non-finite step")[0][0, 0] == 5


def test_the_table_has_a_row_per_run_under_the_names_of_the_axes():
    frame = frame_of(SMALL, made(SMALL, lambda cell, seed: 1.0))
    assert list(frame.columns[:4]) == ["arrangement", "lr", "depth", "seed"]
    assert len(frame) == 16


def test_the_table_names_its_units_and_writes_whole_numbers_whole():
    lost = [replace(run, diverged=7, site="b01") for run in made(SMALL, lambda cell, seed: 1.5)]
    head, first, *_ = frame_of(SMALL, lost).to_csv(index=False).splitlines()
    row = dict(zip(head.split(","), first.split(","), strict=True))
    assert list(row)[4:] == [
        "final_loss_nats",
        "held_out_accuracy_share",
        "steps_to_target",
        "gradient_ratio_decades",
        "first_non_finite_step",
        "first_non_finite_site",
    ]
    assert (row["depth"], row["seed"], row["first_non_finite_step"]) == (f"{SMALL.y.values[0]:g}", "0", "7")
    assert row["final_loss_nats"] == "1.5"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"base": (("steps", 5000),), "y": Axis("depth", (64, 128)), "x": Axis("lr", TWENTY), "seeds": 8},
            "over budget: its 80 cells .* such cells fit, or .* steps",
        ),
        ({"base": (("width", 512), ("batch", 512)), "y": Axis("depth", (128,))}, "over the budget of one run"),
        ({"base": (("net", "transformer"), ("task", "copy")), "y": Axis("depth", (100,))}, "not a legal configuration"),
    ],
)
def test_a_map_that_cannot_be_run_is_refused_with_what_would_fit(change, sentence):
    assert re.search(sentence, refusal_reason(replace(SMALL, **change), Machine()))
    assert refusal_reason(SMALL, Machine()) == ""


def test_a_map_is_refused_by_its_machines_speed():
    seconds = sum(unit.seconds(Machine()) for unit in units(SMALL))
    slow = Machine(*(2 * MAP_SECONDS / seconds,) * 2)
    limits = {"MAX_STEP_SECONDS": math.inf, "MAX_RUN_SECONDS": math.inf}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(f"models.maps.cells.{name}", value)
        said = [refusal_reason(SMALL, machine) for machine in (Machine(), slow, Machine())]
    assert [("over budget" in one) for one in said] == [False, True, False]
    assert "such cells fit" in said[1]


def largest(seeds=MAX_SEEDS_OF_MAP):
    """The largest map that can be written down."""
    many = range(1, MAX_VALUES_OF_AXIS + 1)
    axes = Axis("width", tuple(8 * k for k in many)), Axis("depth", tuple(many))
    return MapSpec(*axes, tuple(ARRANGEMENTS)[:MAX_PANELS], seeds=seeds)


def test_a_map_of_too_many_runs_is_refused_before_any_of_them_is_made(monkeypatch):
    monkeypatch.setattr(MapSpec, "config", lambda *_: pytest.fail("a run was made"))
    monkeypatch.setattr("models.maps.cells.cells", lambda _: pytest.fail("a cell was made"))
    for spec in (largest(), largest(seeds=1), replace(largest(), x=Axis("lr", TWENTY[:8]))):
        assert spec.runs > MAX_RUNS_OF_MAP
        assert f"{spec.runs:,} runs" in refusal_reason(spec, Machine())
        assert f"at most {MAX_RUNS_OF_MAP:,}" in refusal_reason(spec, Machine())


def test_a_scheduler_has_no_limit_of_runs_and_one_of_each_run():
    """The example of docs/scaling.md: 9,600 runs, 600 units, 77,000 s of one core."""
    lrs, depths = tuple(0.001 * k for k in range(1, 21)), tuple(range(30, 80, 5))
    base = (("width", 32), ("batch", 32), ("steps", 1000))
    wide = MapSpec(Axis("lr", lrs), Axis("depth", depths), tuple(ARRANGEMENTS)[:6], base, 8)
    assert wide.runs == 9_600
    assert refusal_reason(wide, Machine())
    assert refusal_reason(wide, Machine(), cluster=True) == ""
    slow = replace(wide, base=(("width", 256), ("batch", 512), ("steps", 1000)))
    assert "over the budget of one run" in refusal_reason(slow, Machine(), cluster=True)


def test_a_text_longer_than_a_specification_is_not_read(monkeypatch):
    assert len(replace(largest(), x=Axis("lr", tuple(k / 7e5 for k in range(1, 25)))).to_json()) < MAX_SPEC_CHARS / 4
    monkeypatch.setattr("models.maps.spec.json.loads", lambda _: pytest.fail("it was read"))
    with pytest.raises(ValueError, match=f"at most {MAX_SPEC_CHARS}"):
        MapSpec.from_json("[" * (MAX_SPEC_CHARS + 1))
