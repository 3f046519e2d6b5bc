"""The map page: prepared maps that were really run, panels and
widths that say their numbers, work that ends with its viewers.
"""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.charts.maps import LOSS_CEILING, panel, shared_scale, widths_chart
from components.maps.specification import FIRST
from models.maps import Axis, Cell, MapStore, Outcome, process
from models.maps.cells import cells, configs, outcome, refusal_reason
from models.maps.prepared import PREPARED, recording
from models.maps.process import MapState, MapWorks, prune, works
from models.maps.sensitivity import WarmupEffect, rate_ranges, sentence, warmup_effects, warmup_sentence
from models.maps.table import MEASURES
from models.maps.unit import run_unit
from models.spec import TASKS
from models.spec.budget import Machine
from models.spec.limits import LIMITS
from models.training import Run
from tests.app_page import PATIENCE, by_link, charts, labels, press, sound, words
from tests.drawn import drawn
from tests.maps.test_maps import SMALL, made
from tests.tables import table_of
from tests.waiting import until

DOWN = 0.2  # of the loss of guessing: below it a net has learned nearly all
LONG = 400  # steps of a run
RECORDED_TOLERANCE = 0.1  # of a loss: another processor sums in another order, and training makes more of it


# --- prepared maps ---


@pytest.mark.parametrize("key", PREPARED)
def test_every_run_of_a_prepared_map_is_recorded(key):
    spec, kept = PREPARED[key].spec, recording(key)
    assert kept is not None
    assert len(kept.outcomes) == len(cells(spec)) * spec.seeds == len(set(kept.outcomes))
    assert {Cell(run.arrangement, run.x, run.y) for run in kept.outcomes} == set(cells(spec))
    assert kept.torch.startswith("2.13.0")
    assert refusal_reason(spec, Machine()) == ""


@pytest.mark.full
@pytest.mark.parametrize("key", PREPARED)
def test_cells_of_a_prepared_map_come_out_as_recorded(key):
    """Of each arrangement the first cell, and one more of the last if runs are short; the last cells are chaotic."""
    spec, kept = PREPARED[key].spec, recording(key)
    places = [(name, spec.x.values[0], spec.y.values[0]) for name in spec.arrangements]
    if spec.config(*places[0]).steps < LONG:
        places.append((spec.arrangements[-1], spec.x.values[1], spec.y.values[1]))
    for place in places:
        cell = Cell(*place)
        cfg = configs(spec, cell)[0]
        run = Run(cfg)
        run.advance(cfg.steps)
        fresh = outcome(cell, cfg, run.trace(), spec.target)
        recorded = next(one for one in kept.outcomes if (one.arrangement, one.x, one.y, one.seed) == (*place, 0))
        assert fresh.gradient_ratio == pytest.approx(recorded.gradient_ratio, abs=1e-3)
        assert (fresh.diverged is None) == (recorded.diverged is None)
        if recorded.diverged is None:
            # After 800 steps a loss on its way down is chance in its digits; that it has come down is not.
            low = DOWN * math.log(TASKS[cfg.task].classes)
            assert (fresh.final_loss < low and recorded.final_loss < low) or fresh.final_loss == pytest.approx(
                recorded.final_loss, rel=RECORDED_TOLERANCE, abs=0.02
            )


def test_a_recording_of_another_specification_is_none(monkeypatch):
    recording.cache_clear()
    key = next(iter(PREPARED))
    monkeypatch.setitem(PREPARED, key, replace(PREPARED[key], spec=replace(PREPARED[key].spec, target=0.4)))
    try:
        assert recording(key) is None
    finally:
        recording.cache_clear()


# --- figures ---


def lost_in(runs, at, step):
    """The outcomes, of which one diverged."""
    return [
        replace(run, diverged=step, final_loss=math.inf, site="b01") if k == at else run for k, run in enumerate(runs)
    ]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("done", [0, 5, 16])
def test_plotly_json_and_the_table_accept_every_panel(measure, done):
    runs = lost_in(made(SMALL, lambda cell, seed: cell.y + seed), 2, 7)[:done]
    for name in SMALL.arrangements:
        figure = panel(SMALL, runs, name, measure, shared_scale(SMALL, runs, measure, 2.3))
        figure = drawn(figure)
        table_of(figure)


def test_the_chosen_cell_is_framed_and_no_other():
    runs = made(SMALL, lambda cell, seed: 1.0)
    cell = Cell("plain", SMALL.x.values[-1], SMALL.y.values[0])
    for name in SMALL.arrangements:
        framed = panel(SMALL, runs, name, "final loss", (0, 1), chosen=cell)["layout"].get("shapes", [])
        assert len(framed) == 2 * (name == "plain")
        for box in framed:
            assert (box["x0"] + box["x1"], box["y0"] + box["y1"]) == (2 * (len(SMALL.x.values) - 1), 0)


def test_all_panels_have_one_scale_and_a_lost_loss_does_not_take_it():
    runs = made(SMALL, lambda cell, seed: 1e6 if cell.arrangement == "plain" and cell.y == 4 else cell.y / 10)
    scale = shared_scale(SMALL, runs, "final loss", 2.0)
    assert scale == pytest.approx((math.log10(0.2), math.log10(2.0 * LOSS_CEILING)))
    for name in SMALL.arrangements:
        shade = panel(SMALL, runs, name, "final loss", scale)["data"][0]
        assert (shade["zmin"], shade["zmax"]) == scale


def test_a_cell_that_diverged_is_hatched_with_its_step_and_named_in_the_hover():
    runs = lost_in(made(SMALL, lambda cell, seed: 1.0), 2, 7)  # the second cell of the first row, its first seed
    shade, strokes, steps = panel(SMALL, runs, "plain", "final loss", (0, 1))["data"]
    assert shade["bind"]["values"][0][1] == "nan"
    assert "diverged at step 7, b01 (1 of 2 seeds)" in shade["text"][0][1]
    assert np.mean([x for x in strokes["x"] if x is not None]) == pytest.approx(1)
    assert np.mean([y for y in strokes["y"] if y is not None]) == pytest.approx(0)
    assert (steps["x"], steps["y"], steps["text"]) == ([1], [0], ["<b>7</b>"])
    assert len(panel(SMALL, runs, "pre-norm", "final loss", (0, 1))["data"]) == 1


# --- sensitivity ---

RATES = replace(
    SMALL, x=Axis("lr", (0.001, 0.01, 0.1, 1.0)), y=Axis("depth", (2,)), arrangements=("post-norm", "pre-norm")
)


def reaching(*rates):
    """Outcomes of RATES where pre-norm reaches the target at
    these rates and post-norm at 0.01 only; by seed, all alike.
    """
    return [
        replace(run, steps_to_target=5 if run.x in (rates if run.arrangement == "pre-norm" else (0.01,)) else None)
        for run in made(RATES, lambda cell, seed: 1.0)
    ]


def test_a_range_is_the_longest_unbroken_row_of_rates_in_decades():
    post, pre = rate_ranges(RATES, reaching(0.001, 0.1, 1.0))
    np.testing.assert_allclose(post.decades, 1.0)
    assert not post.edge
    np.testing.assert_allclose(pre.decades, 2.0)
    assert pre.edge
    np.testing.assert_allclose(rate_ranges(RATES, reaching())[1].decades, 0.0)


def test_the_sentence_of_the_lecture_is_tested_by_the_numbers():
    said = sentence(RATES, rate_ranges(RATES, reaching(0.1, 1.0)))
    assert "holds here: with pre-norm the rates that reach a loss" in said
    assert "span a factor of 100 on average, with post-norm the rates that reach it span a factor of 10 on" in said
    none = sentence(RATES, rate_ranges(RATES, reaching()))
    assert "does not hold here: with pre-norm no rate reaches a loss of" in none
    alone = replace(RATES, arrangements=("pre-norm",))
    own = [r for r in reaching(0.1) if r.arrangement == "pre-norm"]
    assert "With pre-norm the rates that reach" in sentence(alone, rate_ranges(alone, own))
    nowhere = rate_ranges(alone, [replace(run, steps_to_target=None) for run in own])
    assert "With pre-norm no rate reaches a loss of" in sentence(alone, nowhere)


def test_what_a_warm_up_changes_is_computed_from_the_cells_of_every_rate():
    spec, runs = PREPARED["warm-up"].spec, recording("warm-up").outcomes
    told = warmup_effects(spec, runs)
    assert len(told) == len(spec.arrangements) * len(spec.x.values)
    for one in told:
        mine = [run for run in runs if (run.arrangement, run.x) == (one.arrangement, one.rate)]
        losses = {warmup: [run.final_loss for run in mine if run.y == warmup] for warmup in spec.y.values}
        means = {warmup: math.exp(sum(map(math.log, pair)) / 2) for warmup, pair in losses.items()}
        best = min(mean for warmup, mean in means.items() if warmup)
        assert (one.without, one.best) == (pytest.approx(means[0]), pytest.approx(best))
    assert warmup_effects(spec, runs[:-1]) == []
    lost = [replace(one, final_loss=None, diverged=3) if one.y == 0 else one for one in runs]
    assert {one.without for one in warmup_effects(spec, lost)} == {math.inf}
    assert warmup_sentence(spec, warmup_effects(spec, runs)) == (
        "A warm-up decides whether post-norm reaches a loss of 1; for pre-norm and DeepNorm it makes no such difference at any rate."
    )


def test_no_arrangement_is_named_to_which_a_warm_up_does_harm_or_makes_no_difference():
    spec = PREPARED["warm-up"].spec
    harmed, unmoved = WarmupEffect("DeepNorm", 0.01, 9e-5, 1e-4), WarmupEffect("pre-norm", 0.01, 0.03, 0.001)
    hopeless, lost = WarmupEffect("post-norm", 0.01, 2.7, 2.0), WarmupEffect("pre-norm", 0.1, math.inf, 0.05)
    assert warmup_sentence(spec, [harmed, unmoved, hopeless]).startswith("At no rate does a warm-up decide")
    assert warmup_sentence(spec, [harmed, lost]).startswith(
        "A warm-up decides whether pre-norm reaches a loss of 1; for"
    )
    both = warmup_sentence(spec, [WarmupEffect("post-norm", 0.1, 2.7, 0.05), lost])
    assert both.startswith("A warm-up decides whether post-norm and pre-norm reach a loss of 1; for")


def test_the_warm_up_map_trains_long_enough():
    """Geometric means of the recorded losses: at 0.003 post-norm stays near ln 16 without a warm-up."""
    spec, runs = PREPARED["warm-up"].spec, recording("warm-up").outcomes

    def ends(name, rate, warmup):
        losses = [one.final_loss for one in runs if (one.arrangement, one.x, one.y) == (name, rate, warmup)]
        return math.exp(sum(map(math.log, losses)) / len(losses))

    assert dict(spec.base)["steps"] == 800
    assert ends("post-norm", 0.003, 0) > 0.8 * math.log(16)
    assert min(ends("post-norm", 0.003, warmup) for warmup in (40, 120)) < 0.1
    assert ends("pre-norm", 0.003, 0) < 0.02
    assert ends("post-norm", 0.001, 0) < 0.2  # a low rate needs none
    assert warmup_effects(SMALL, made(SMALL, lambda cell, seed: 1.0)) == []


def test_what_is_not_done_at_all_rates_has_no_width_yet():
    assert [width.arrangement for width in rate_ranges(RATES, reaching(0.1)[:-1])] == ["post-norm"]


def test_the_widths_are_drawn_with_the_range_of_their_seeds():
    runs = [replace(run, steps_to_target=None) if run.seed == 1 else run for run in reaching(0.01, 0.1)]
    figure = widths_chart(RATES, rate_ranges(RATES, runs), "depth")
    figure = drawn(figure)
    post, pre = figure["data"]
    assert pre["y"] == [1.0]
    assert (pre["error_y"]["array"], pre["error_y"]["arrayminus"]) == ([1.0], [1.0])
    assert post["line"]["dash"] != pre["line"]["dash"]
    assert post["marker"]["symbol"] != pre["marker"]["symbol"]
    assert post["x"] == pre["x"] == [0], "a marker beside its depth would be read as another depth"


# --- the work behind the page ---


@pytest.fixture
def made_works(tmp_path):
    """Map works under a folder of their own."""
    kept = []

    def make(**how):
        kept.append(MapWorks(tmp_path, **how))
        return kept[-1]

    yield make
    for one in kept:
        one.close()


SLEEPS = (sys.executable, "-c", "import time; time.sleep(300)")


def test_maps_wait_in_the_order_in_which_they_were_wanted_and_go_when_nobody_wants_them(made_works):
    these = made_works(command=SLEEPS)
    second = replace(SMALL, seeds=1)
    these.renew(SMALL, "me")
    these.renew(second, "you")
    until(lambda: these.state_of(SMALL).state == "running", "a map that is running")
    assert (these.state_of(second).state, these.state_of(second).ahead) == ("waiting", 1)
    these.leave(SMALL, "you")
    time.sleep(0.5)
    assert these.state_of(SMALL).state == "running", "somebody else's leaving ends nothing"
    these.leave(SMALL, "me")
    until(lambda: these.state_of(second).state == "running", "a map that is running")
    assert these.state_of(SMALL).state == "ended"


def test_who_wants_another_map_gives_up_the_one_before(made_works):
    these = made_works(command=SLEEPS)
    second = replace(SMALL, seeds=1)
    these.renew(SMALL, "me")
    these.renew(second, "you")
    these.renew(second, "me")
    until(lambda: these.state_of(second).state == "running", "a map that is running")
    assert these.state_of(SMALL).state == "ended"


def test_the_maps_kept_for_pages_are_bounded_and_those_of_the_command_line_stay(tmp_path):
    for at, name in enumerate(["oldest", "by hand", "older", "being computed", "newest"]):
        (tmp_path / name).mkdir()
        for file in ["units.jsonl"] + ["wanted.json"] * (name != "by hand"):
            (tmp_path / name / file).write_text("")
            os.utime(tmp_path / name / file, (1000 + at, 1000 + at))
    prune(tmp_path, 4)
    assert len(list(tmp_path.iterdir())) == 5
    prune(tmp_path, 1, keep={"being computed"})
    assert {path.name for path in tmp_path.iterdir()} == {"by hand", "being computed"}


def test_a_map_that_nobody_asks_for_any_more_is_ended(made_works):
    these = made_works(command=SLEEPS, seconds=0.5)
    these.renew(SMALL, "me")
    until(lambda: these.state_of(SMALL).state == "running", "a map that is running")
    process = these._requests[SMALL.digest].turn.process
    until(lambda: process.returncode is not None, "the end of its process")
    assert process.returncode == -signal.SIGTERM
    assert these.state_of(SMALL).state == "ended"


FAILS = (sys.executable, "-c", "import sys; sys.exit('python -m models: the disk is full')")
ENDS = (sys.executable, "-c", "")


@pytest.mark.parametrize(
    ("command", "said"), [(FAILS, "the disk is full"), (ENDS, "The map ended before all of its runs were done.")]
)
def test_only_the_button_restarts_a_failed_map(made_works, monkeypatch, command, said):
    these, begun = made_works(command=command), []
    monkeypatch.setattr(process, "event", lambda name, **_: begun.append(name) if name == "map_begun" else None)
    these.begin(SMALL, "me")
    until(lambda: these.state_of(SMALL).state == "failed", "a map that is failed")
    for viewer in ("me", "you") * 5:
        these.renew(SMALL, viewer)
        assert these.state_of(SMALL) == MapState("failed", sentence=said)
    assert begun == ["map_begun"]
    these.begin(SMALL, "you")
    until(lambda: len(begun) == 2, "another beginning")
    until(lambda: these.state_of(SMALL).state == "failed", "a map that is failed")


def test_a_folder_that_cannot_be_written_is_a_sentence_that_stands(tmp_path):
    (tmp_path / "file").write_text("")
    these = MapWorks(tmp_path / "file")
    these.begin(SMALL, "me")
    until(lambda: these.state_of(SMALL).state == "failed", "a map that is failed")
    these.renew(SMALL, "me")
    assert "cannot be kept" in these.state_of(SMALL).sentence


def test_a_map_that_is_too_much_is_not_begun_however_it_is_asked_for(made_works):
    these = made_works(command=SLEEPS)
    too_much = replace(SMALL, y=Axis("depth", (128,)), base=(("width", 512), ("batch", 512)))
    these.begin(too_much, "me")
    these.renew(too_much, "me")
    assert these.state_of(too_much).state == "ended"


@pytest.mark.full
def test_what_the_page_takes_its_process_takes_whatever_the_reference_machine_would_need(made_works, monkeypatch):
    """The process that computes a map has measured nothing, and would refuse it."""
    monkeypatch.setenv("PLAYGROUND_STEP_SECONDS", "0.001")
    these = made_works()
    (written := these.folder / "spec.json").write_text(SMALL.to_json())
    command = [*process.COMMAND, str(written), "--folder", str(these.folder)]
    alone = subprocess.run(command, cwd=process.ROOT, capture_output=True, check=False)
    assert b"over the budget of one run" in alone.stderr
    these.begin(SMALL, "me")
    until(lambda: these.state_of(SMALL).state in ("ended", "failed"), "the end of the map")
    assert these.state_of(SMALL) == MapState("ended")


# A process that works on a map as long as it is let: on a byte of its stdin it ends as after its units.
WAITS = (sys.executable, "-c", "import sys; sys.exit(0 if sys.stdin.buffer.read(1) else 143)")


def turns_of(these, monkeypatch, names, count):
    """The first turns that maps get, by name."""
    had = []
    monkeypatch.setattr(
        process, "event", lambda name, **facts: had.append(names[facts["map"]]) if name == "map_begun" else None
    )
    return lambda: until(lambda: len(had) >= count, "the turns") or had[:count]


def four():
    """Four maps with their names."""
    specs = [replace(SMALL, target=target) for target in (0.1, 0.2, 0.3, 0.4)]
    return specs, {spec.digest: name for spec, name in zip(specs, "abcd", strict=True)}


def test_maps_take_turns_and_new_ones_have_theirs_first(made_works, monkeypatch):
    these = made_works(command=WAITS, turn=0.2)
    (long, *others), names = four()
    first = turns_of(these, monkeypatch, names, 6)
    these.begin(long, "me", "one")
    until(lambda: these.state_of(long).state == "running", "a map that is running")
    for at, spec in enumerate(others):
        these.begin(spec, f"viewer {at}", f"address {at}")
    assert first() == ["a", "b", "c", "d", "a", "b"]


def test_many_maps_of_one_address_take_turns_with_one_of_another(made_works, monkeypatch):
    these = made_works(command=WAITS, turn=0.2)
    (*mine, other), names = four()
    first = turns_of(these, monkeypatch, names, 8)
    for at, spec in enumerate(mine):
        these.begin(spec, f"session {at}", "one")
    until(lambda: any(these.state_of(spec).state == "running" for spec in mine), "a map that is running")
    these.begin(other, "somebody", "another")
    had = first()
    assert had[1] == "d"
    assert had[4:].count("d") == 2, "every other turn, where each session would have every fourth"


def test_a_map_alone_goes_on_beyond_its_turn(made_works, monkeypatch):
    these = made_works(command=WAITS, turn=0.1)
    (only, late, *_), names = four()
    first = turns_of(these, monkeypatch, names, 2)
    these.begin(only, "me")
    until(lambda: these.state_of(only).state == "running", "a map that is running")
    turn = these._requests[only.digest].turn
    until(lambda: time.monotonic() - turn.started_at > 0.6, "several turns")
    assert these._requests[only.digest].turn is turn
    these.begin(late, "you")
    assert first() == ["a", "b"]


def test_a_map_with_long_units_is_waited_for(made_works, monkeypatch):
    monkeypatch.setattr("models.maps.process.TURN_END_SECONDS", 0.2)
    these = made_works(command=SLEEPS, turn=0.1)
    (stubborn, other, *_), names = four()
    first = turns_of(these, monkeypatch, names, 4)
    for viewer, spec in (("me", stubborn), ("you", other)):
        these.begin(spec, viewer)
    assert first() == ["a", "b", "a", "b"]
    assert these._requests[stubborn.digest].grace_seconds > 0.2


def begun_with_a_unit(made_works):
    """Works on a map that I have begun, and its store with a unit."""
    these = made_works(command=WAITS)
    store = MapStore(SMALL, these.folder)
    these.begin(SMALL, "me")
    with store.writing():
        store.add({"unit": 0, "seconds": 1.0, "runs": []})
    return these, store


def test_only_its_author_deletes_an_empty_map(made_works):
    these, store = begun_with_a_unit(made_works)
    assert [these.may_delete(SMALL, viewer) for viewer in ("me", "you", "")] == [True, False, False]
    assert not these.delete(SMALL, "you", 0)
    assert store.done()
    these.begin(SMALL, "you")
    assert not any(these.may_delete(SMALL, viewer) for viewer in ("me", "you"))
    assert not these.delete(SMALL, "me", 0)
    these.leave(SMALL, "you")
    assert not these.delete(SMALL, "me", PATIENCE)
    assert store.done()
    these.begin(SMALL, "you")
    assert not these.may_delete(SMALL, "you"), "who goes on with a map has not begun it"


def test_who_began_a_map_deletes_it_once_its_process_has_ended(made_works):
    these, store = begun_with_a_unit(made_works)
    until(lambda: these.state_of(SMALL).state == "running", "a map that is running")
    assert these.delete(SMALL, "me", PATIENCE)
    assert not store.done()


def test_what_is_remembered_of_maps_is_bounded(made_works, monkeypatch):
    monkeypatch.setattr(process, "MAX_NOTES", 3)
    these = made_works(command=WAITS)
    for spec in four()[0]:
        these.begin(spec, "me")
    assert len(these._beginners) == 3


# --- the page ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MAPS_FOLDER", str(tmp_path))
    yield tmp_path
    works().close()


def maps(**query: str) -> AppTest:
    return by_link("maps.py", **query)


def test_a_cell_is_chosen_and_opened_and_compared(folder):
    page = maps(map="residual x norm")
    page.selectbox(key="map_cell_arrangement").set_value("pre-norm")
    sound(page.run())
    page.selectbox(key="map_cell_x").set_value(16)
    press(sound(page.run()), "Add to a comparison")
    page.selectbox(key="map_cell_arrangement").set_value("plain")
    press(sound(page.run()), "Add to a comparison")
    links = {link.proto.label: link.proto for link in page.get("page_link")}
    assert "Compare 2 runs" in links
    assert "depth=16" in links["Open this run in the playground"].query_string


def own(page: AppTest, **values: str) -> AppTest:
    """The page of a map of one's own with some text fields set."""
    for key, value in values.items():
        page.text_input(key=key).set_value(value)
    return sound(page.run())


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("map_x_values", "0.1, two", "'two' is not a number"),
        ("map_x_values", "", "The horizontal axis has 0 values; it takes 1 to 24."),
        ("map_y_values", "1.5", "Depth 1.5 is not a whole number. The map"),
        (
            "map_x_values",
            "24",
            "Learning rate 24 is out of range (0.000001 to 10). The map below uses the last valid values.",
        ),
    ],
)
def test_a_bad_axis_gets_a_sentence_and_the_last_map_stays(folder, field, text, said):
    page = own(maps(map="your own"), **{field: text})
    assert any(said in error.value for error in page.error)
    assert {"Map of post-norm, final loss", "Map of pre-norm, final loss"} <= set(charts(page))


def test_a_map_over_budget_says_how_much_would_fit(folder):
    page = maps(map="your own")
    page.number_input(key="map_base_steps").set_value(5000)
    page.number_input(key="map_seeds").set_value(8)
    page.select_slider(key="map_base_width").set_value(96)
    page = own(page, map_y_values="64, 96, 128", map_x_values="1e-4 2e-4 3e-4 1e-3 2e-3 3e-3 0.01 0.02 0.03 0.1")
    assert any("over budget" in error.value and "such cells fit" in error.value for error in page.error)


def test_a_pasted_specification_is_taken_and_a_wrong_one_leaves_the_last(folder):
    page = maps(map="your own")
    page.text_area(key="map_paste").set_value("{}")
    press(page, "Use it")
    assert any("has version None" in error.value for error in page.error)
    page.text_area(key="map_paste").set_value(SMALL.to_json())
    press(page, "Use it")
    sound(page.run())
    assert page.text_input(key="map_y_values").value == "2, 4"
    assert page.session_state["map_own"].digest == SMALL.digest
    assert {"Map of plain, final loss", "Map of pre-norm, final loss"} <= set(charts(page))


def test_a_link_is_shown_as_it_is_or_says_why_not(folder):
    spec = replace(FIRST, x=Axis("lr", (0.0012345678, 1e-5, 0.3)), y=Axis("warmup", (0, 25)), target=50.0)
    page = maps(map="your-own", spec=spec.to_json(compact=True))
    assert page.session_state["map_own"] == spec
    assert "The link's map" not in words(page)
    beyond = spec.to_json(compact=True).replace("50.0", "150.0")
    page = maps(map="your-own", spec=beyond)
    assert "The link's map could not be used. Target loss 150.0 is out of range (0.001 to 100)." in words(page)


def progress(page: AppTest) -> str:
    """What the progress bar says."""
    return " ".join(one.proto.text for one in page.get("progress"))


@pytest.mark.full
def test_a_map_of_ones_own_is_computed_paused_and_forgotten(folder):
    spec = replace(
        FIRST, base=(("task", "circles"), ("width", 8), ("steps", 10), ("batch", 8)), y=Axis("depth", (2, 3))
    )
    page = maps(map="your own")
    page.text_area(key="map_paste").set_value(spec.to_json())
    sound(press(page, "Use it").run())
    press(page, "Compute it here")
    assert "Pause" in labels(page)
    until(lambda: "finished" in progress(sound(page.run())), "a map that is computed")
    digest = page.session_state["map_own"].digest
    assert len(MapStore(page.session_state["map_own"], folder).outcomes()) == 16
    assert (folder / digest / "units.jsonl").exists()
    order = labels(page)
    assert order.index("Delete") > order.index("Add to a comparison"), "it never comes where Compute it here was"
    press(page, "Delete")
    assert not (folder / digest / "units.jsonl").exists()


def begun(key: str) -> None:
    """Somebody has computed the first unit of a prepared map."""
    spec = PREPARED[key].spec
    store = MapStore(spec)
    with store.writing():
        store.add({"unit": 0, "seconds": 1.0, "runs": run_unit(spec.to_json(), 0)["runs"]})


def test_what_others_have_half_computed_does_not_take_the_place_of_the_recording(folder):
    begun("arrangements")
    page = maps(map="arrangements")
    assert "Compute it here" in labels(page)
    assert "Delete" not in labels(page), "a visitor cannot delete what others began"
    assert progress(page) == ""
    assert "recorded" in words(page)
    assert "Pre-norm is less sensitive" in words(page)


def test_a_server_without_map_processes_shows_the_recordings_and_says_why_it_computes_none(folder, monkeypatch):
    monkeypatch.setattr(process, "LIMITS", replace(LIMITS, map_processes=0))
    page = maps(map="arrangements")
    assert not {"Compute it here", "Continue"} & set(labels(page))
    assert "This server computes no maps" in words(page)
    assert "recorded" in words(page)
    assert "Map of post-norm, final loss" in charts(page)


def test_optimiser_activation_norm_and_initialisation_are_set_or_left_to_the_arrangements(folder):
    """Left to them DeepNorm keeps its own first weights and a plain net no norm; else all panels have what is set."""
    page = maps(map="your own")
    page.multiselect(key="map_arrangements").set_value(["DeepNorm", "pre-norm"])
    own(page)
    first = cells(page.session_state["map_own"])
    assert {configs(page.session_state["map_own"], cell)[0].init for cell in first} == {"deepnorm", "fan-in"}
    chosen = {"norm": "rms norm", "init": "he", "optimizer": "sgd", "activation": "tanh"}
    for name, word in chosen.items():
        page.selectbox(key=f"map_base_{name}").set_value(word)
        sound(page.run())
    spec = page.session_state["map_own"]
    assert dict(spec.base).items() >= chosen.items()
    for cell in cells(spec):
        assert [getattr(configs(spec, cell)[0], name) for name in chosen] == list(chosen.values())
    again = maps(map="your-own", spec=spec.to_json(compact=True))
    assert {name: again.selectbox(key=f"map_base_{name}").value for name in chosen} == chosen
    assert again.session_state["map_own"] == spec
    for name in ("norm", "init"):
        again.selectbox(key=f"map_base_{name}").set_value("of the arrangement")
    left = sound(again.run()).session_state["map_own"]
    assert not {"norm", "init"} & dict(left.base).keys()


def test_an_outcome_is_what_it_was_packed_from():
    run = Outcome("plain", 0.1, 2.0, 0, 1.5, 0.5, None, -math.inf, None)
    assert Outcome.from_dict(json.loads(json.dumps(run.to_dict()))) == run
