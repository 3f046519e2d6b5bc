"""Every benchmark runs, small, and returns figures; how a figure is judged and printed. No figure is judged here."""

import math
from collections import Counter

import pytest

from addnorm.rules import RULES
from benchmarks import browser, cost, maps, remedies, search, seeds, training, watch
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.report import Figure, show
from benchmarks.timing import interleaved_seconds, milliseconds_per_step, percentile, ratio
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import outcome
from models.insight.verdict import verdict
from models.maps import Axis, MapSpec
from models.spec import RunConfig
from models.spec.vocabulary import STACKS
from models.training import Run, profile_at_init
from tests.browser.chromium import MISSING
from tests.insight import verdicts
from tests.load import classroom, controls, eye, redraws, soak
from tests.training.bare_loop import BareLoop

TINY = RunConfig(depth=2, width=8, batch=8, optimizer="adam", lr=1e-3, steps=40, device="cpu")
LIGHT = "depth=2&width=8&batch=8&steps=5000"


def measured(figures: list[Figure]) -> list[Figure]:
    """The figures that have a number; one without says why."""
    assert all(figure.value is not None or figure.note for figure in figures)
    found = [figure for figure in figures if figure.value is not None]
    assert all(math.isfinite(figure.value or 0.0) and (figure.value or 0.0) >= 0 for figure in found)
    return found


def test_the_costs_of_watching_are_measured_for_every_shape() -> None:
    assert len(measured(training.probe({"tiny": TINY}, rounds=2, steps=2))) == 2
    new = training.CONNECTIONS.values()
    assert {cfg.stack for cfg in new} == {*STACKS} - {"residual", "dlcl"}


def test_what_the_search_costs_is_measured() -> None:
    assert len(measured([*search.search(["norm"])])) == 2


def test_the_engine_in_a_browser_is_measured() -> None:
    found = [*browser.browser(rounds=1, steps=2, long=30)]
    assert len(found) == 8 or found[-1].note == MISSING
    measured(found)


def test_the_cost_of_recording_any_model_is_put_beside_what_people_use_else() -> None:
    found = watch.watch({"tiny": (lambda: watch.mlp(8, 2), (4, 8))}, rounds=2, steps=1)
    alone = [figure for figure in found if " alone, " in figure.name]
    assert {one for figure in alone for one in figure.name.split(" alone")[0].split(", ")} == set(RULES)
    assert all(0 < (figure.value or 0.0) < 1000 for figure in alone), "microseconds a row"
    assert [figure.at_most for figure in found] == [1.10, 1.03] + [None] * (len(found) - 2)
    assert len(measured(found)) >= 5 + len(alone)
    assert all("is not installed" in figure.note for figure in found if figure.value is None)
    assert "3 sites" in found[0].note


def test_the_estimate_of_a_step_is_put_beside_the_measurement() -> None:
    speed, off = measured(cost.budget([TINY], rounds=3))
    assert speed.value is not None
    assert off.value == pytest.approx(max(speed.value, 1 / speed.value))
    assert "estimated" in off.note


@pytest.mark.full
def test_cells_are_timed_together_and_through_a_cluster() -> None:
    spec = MapSpec(
        Axis("batch", (4, 8)), Axis("depth", (1,)), ("plain",), (("task", "circles"), ("width", 8), ("steps", 3))
    )
    found = measured(maps.maps({"tiny": TINY}, spec, rounds=2, steps=2))
    assert [figure.name for figure in found] == [
        "8 cells one by one / as one, tiny",
        "unit of a map, one process",
        "what Dask adds to a unit, one worker",
    ]


def test_what_is_offered_to_a_run_that_failed_is_counted_by_whether_it_learns() -> None:
    stuck = RunConfig.arranged("plain", depth=24, width=16, batch=16, steps=120, device="cpu")
    one, share = measured(list(remedies.remedies({"stuck": stuck})))
    assert one.note.startswith("a residual")
    assert share.value == 1.0


def test_several_seeds_are_put_beside_one() -> None:
    (figure,) = measured(seeds.seeds_gain({"tiny": TINY}, rounds=2, steps=2, seeds=3))
    assert figure.name == "3 seeds / one, tiny"


@pytest.mark.full
def test_a_real_server_is_moved_and_started() -> None:
    move = controls.Move("MLP", LIGHT, 3, 4, 0.4)
    assert len(measured(controls.controls(rounds=1, moves=[move]))) == 1
    assert len(measured(controls.startup(rounds=1))) == 1


@pytest.mark.full
def test_a_class_is_measured_from_its_first_page_to_the_end_of_all_work() -> None:
    own = measured(classroom.different(3, 2, 1.0, 0.0, LIGHT, late=0.5, lesson=True))
    assert [figure.at_most for figure in own] == [0.5, None, None, None, 0.8, 3.0, 0, 0, 1.5, 10]
    assert [figure.at_most for figure in measured(classroom.led(2, 0.0))] == [0.5, 2.0, 2.0, 2.0, 0, 1.5]
    shared = measured(classroom.preset(2, 1.0, 0.0, LIGHT))
    assert (shared[-1].value, shared[-1].at_most) == (1, 1)


@pytest.mark.full
def test_a_soak_kills_cuts_and_watches_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "CUT_SHARE", 0.5)
    found = measured(soak.soak(minutes=0.1, sessions=2, kills=1, pace=0.5, query=LIGHT))
    assert len(found) == 6
    assert "killed 1 times" in found[2].note


@pytest.mark.full
def test_what_a_first_time_visitor_meets_is_timed_and_counted_where_there_is_a_browser() -> None:
    found = measured(eye.eye({"/": eye.PICTURES["/"]}, ["/"], rounds=1))
    assert [figure.name for figure in found] in (
        [],
        ["/ opened to a button", "/ button to the picture", "/ words"],
    )


@pytest.mark.full
def test_a_log_is_played_to_its_end_and_dragged_where_there_is_a_browser() -> None:
    assert len(measured(redraws.log(steps=20, seconds=0.5, depth=2))) in {0, 2}


def test_the_bare_loop_trains_the_weights_that_a_run_trains() -> None:
    run, other = Run(TINY, frames=False), BareLoop(TINY)
    run.advance(5)
    other(5)
    for mine, theirs in zip(run.model.parameters(), other.model.parameters(), strict=True):
        assert mine.equal(theirs)


def test_contenders_take_turns_and_a_goal_has_a_side() -> None:
    order: list[str] = []
    seconds = interleaved_seconds({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2)
    assert order == ["b", "a", "a", "b"]
    assert [len(taken) for taken in seconds.values()] == [2, 2]
    assert ratio({"a": [2.0, 9.0, 2.0], "b": [1.0, 1.0, 1.0]}, "a", "b") == 2.0
    assert percentile([float(v) for v in range(1, 101)], 95) == 95.0
    assert milliseconds_per_step({"a": [0.02, 0.04]}, "a", 10) == pytest.approx(3.0)
    assert [Figure("x", value, at_most=1.0).verdict for value in (0.9, 1.1)] == ["met", "MISSED"]
    assert [Figure("x", value, at_least=1.0).verdict for value in (0.9, 1.1)] == ["MISSED", "met"]
    assert "<= 1" in show("part", Figure("x", 0.9, "s", at_most=1.0))


def test_an_unknown_part_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    said = capsys.readouterr().out
    assert all(name in said for name in BENCHMARKS)


def test_verdicts_on_starts_are_put_beside_what_became_of_the_nets(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = verdicts.configurations()
    quick = [cfg for cfg in drawn if cfg.net == "mlp" and cfg.depth <= 8][: 2 * verdicts.GROUP_SIZE]
    monkeypatch.setattr(verdicts, "configurations", lambda count, seed: quick)
    *table, healthy, failing = list(verdicts.verdicts())
    counted = {one.name.partition(":")[0]: int(one.name.rpartition(" ")[2]) for one in measured(table)}
    assert counted == Counter(verdict(cfg, profile_at_init(cfg), 0).kind for cfg in quick)
    assert [healthy.goal, failing.goal] == ["<= 0.05"] * 2
    assert healthy.note.endswith(f"of {counted.get('healthy', 0)}")


def test_nets_that_are_trained_as_one_come_out_as_alone() -> None:
    shape = verdicts.configurations()[: verdicts.GROUP_SIZE]
    one = shape[0]
    run = Run(one)
    run.advance(one.steps)
    found = {net.cfg: net for net in verdicts.outcomes(shape)}
    assert found.keys() == {*shape}
    assert found[one].end == outcome(run.trace(), loss_of_guessing(one.task))
    assert found[one].start == verdict(one, profile_at_init(one), 0).kind


def test_the_configurations_of_the_table_are_varied_legal_and_the_same_at_every_call() -> None:
    drawn, other = verdicts.configurations(), verdicts.configurations(seed=2)
    assert drawn == verdicts.configurations()
    assert len(drawn) == len(other) == verdicts.COUNT >= 200
    assert not set(drawn) & set(other)
    varied = {"net": 2, "placement": 7, "norm": 5, "depth": 6, "init": 9, "init_gain": 6, "lr": 12, "activation": 6}
    for field, least in (varied | {"optimizer": 4, "skip_scale": 5, "branch_scale": 5}).items():
        assert len({getattr(cfg, field) for cfg in drawn}) >= least
    assert {2, 64} <= {cfg.depth for cfg in drawn}
