"""The comparison: prepared questions, its link, its columns in AppTest, and figures that say what differs."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from components.compare.columns import levelling_sentence
from components.shell import compare_link, projector
from components.shell.naming import names_of
from models.export import comparison_csv, comparison_json, configuration_from
from models.insight import signal_at_init
from models.insight.baseline import loss_of_guessing
from models.insight.comparison import ranking_sentence
from models.service.client import key_of
from models.spec import RunConfig
from models.spec.budget import budget_refusal
from models.spec.pairings import (
    DEEP_PLACEMENTS,
    MAX_COLUMNS,
    PAIRINGS,
    RESIDUALS,
    differing_fields,
    incomparable_charts,
)
from models.trace import Columns, Divergence, Frame, Trace, trace_of
from models.training import Run
from tests.app_page import address, arrange, by_link, charts, press, repeated, sound, words
from tests.player_page import bound, declared, drawn_first, logs, panels, rests, runs, says
from tests.traces import finished

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

SMALL = {"depth": 3, "width": 16, "batch": 16, "steps": 30}


def compare(**query: str) -> AppTest:
    return by_link("compare.py", **query)


def columns(*fields: dict[str, object]) -> dict[str, str]:
    return compare_link.to_query([RunConfig(**(SMALL | one)) for one in fields], seeds=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PAIRINGS)
def test_every_prepared_comparison_differs_in_something_fits_the_budget_and_shares_seed_and_axes(name: str) -> None:
    configurations = PAIRINGS[name].make()
    assert 2 <= len(configurations) <= MAX_COLUMNS
    assert differing_fields(configurations)
    assert len({cfg.seed for cfg in configurations}) == 1
    assert not incomparable_charts(configurations)
    assert [budget_refusal(cfg) for cfg in configurations] == [None] * len(configurations)


def test_the_pair_with_a_norm_says_that_the_norm_levels_the_gradient_as_measured_nets_do() -> None:
    pair = PAIRINGS["residual on and off"].make()
    said = re.search(
        r"output, (.*) arrives .* residual and (.*) with it.*would be (\S+) and (\S+?)[.] These",
        levelling_sentence(pair),
        re.S,
    )
    assert said
    norm, both, neither, residual = map(float, said.groups())
    numbers = {
        (False, "layer norm"): norm,
        (True, "layer norm"): both,
        (False, "none"): neither,
        (True, "none"): residual,
    }
    for (with_residual, with_norm), number in numbers.items():
        gradient = signal_at_init(RunConfig(residual=with_residual, norm=with_norm), seeds=range(3)).grad_norm
        arrives = np.median(gradient[:, 0] / gradient[:, -1])
        assert arrives == pytest.approx(number, rel=0.5), (with_residual, with_norm)
    for others in (
        (pair[0], pair[0]),
        (replace(pair[0], norm="none"), replace(pair[1], norm="none")),
        (pair[0], replace(pair[1], depth=8)),
        PAIRINGS["residual x norm"].make(),
    ):
        assert not levelling_sentence(others)
    assert levelling_sentence(pair) in " ".join(one.value for one in compare().caption)


@pytest.mark.full
def test_of_the_deep_pair_pre_norm_learns_and_the_gradient_of_post_norm_dies() -> None:
    pre, post = PAIRINGS[DEEP_PLACEMENTS].make()
    assert differing_fields((pre, post)) == ("placement",)
    (pre_loss, pre_gradient), (post_loss, post_gradient) = (_ended(cfg) for cfg in (pre, post))
    guessing = loss_of_guessing("book")
    assert pre_loss < 0.95 * guessing < post_loss
    assert pre_gradient > 1
    assert post_gradient < 1e-6


@pytest.mark.full
def test_post_norm_lags_and_only_sums_grow() -> None:
    nets = dict(zip(("post", "sum", "static", "mHC", "attention"), PAIRINGS[RESIDUALS].make(), strict=True))
    traces = {name: finished(cfg) for name, cfg in nets.items()}
    losses = {name: float(trace.loss[-20:].mean()) for name, trace in traces.items()}
    assert losses.pop("post") > 3 * max(losses.values())
    assert all(nets[name].streams == 4 for name in ("static", "mHC"))
    grown = {name: float(trace.act_rms[0, -1] / trace.act_rms[0, 0]) for name, trace in traces.items()}
    assert {name for name, times in grown.items() if times > 3} == {"sum", "static", "mHC"}
    assert max(grown["post"], grown["attention"]) < 1.1


def _ended(cfg: RunConfig) -> tuple[float, float]:
    """The loss at the end of a run, and the gradient at its input over that at its end."""
    trace = finished(cfg, 120)
    return float(trace.loss[-20:].mean()), float(trace.grad_rms[-1, 0] / trace.grad_rms[-1, -1])


def test_columns_of_one_short_name_also_say_what_differs_and_nothing_that_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nets = PAIRINGS["post-norm and its warm-up"].make()
    assert names_of(nets) == ["post-norm, 12x64, warm-up 0", "post-norm, 12x64, warm-up 100", "pre-norm, 12x64"]
    monkeypatch.setattr("components.shell.naming.is_hidden", lambda name: name == "warmup")
    assert names_of(nets) == ["post-norm, 12x64", "post-norm, 12x64", "pre-norm, 12x64"]


def test_a_comparison_survives_its_own_link() -> None:
    for pairing in PAIRINGS.values():
        configurations = list(pairing.make())
        assert compare_link.from_query(compare_link.to_query(configurations, seeds=5)) == (configurations, 5, [])


@given(
    st.dictionaries(
        st.text(max_size=6) | st.sampled_from(["a", "b", "e", "f", "seeds"]), st.text(max_size=60), max_size=6
    )
)
def test_any_link_makes_two_to_five_legal_columns(query: dict[str, str]) -> None:
    configurations, seeds, notes = compare_link.from_query(query)
    assert 2 <= len(configurations) <= MAX_COLUMNS
    assert 1 <= seeds <= compare_link.MAX_SEEDS
    assert not set("<>[]!`") & set("".join(notes))


def test_columns_of_other_nets_or_tasks_share_no_axis_and_the_page_says_which() -> None:
    assert set(incomparable_charts([RunConfig(), RunConfig(net="transformer")])) == {"depth"}
    assert set(incomparable_charts([RunConfig(), RunConfig(task="xor")])) == {"loss"}
    assert not incomparable_charts([RunConfig(), RunConfig(depth=5)])


def test_two_columns_stand_under_one_player_and_each_has_its_line() -> None:
    page = compare(**columns({}, {"residual": False}))
    assert [cfg.residual for cfg in runs(page)] == [True, False]
    assert (declared(page)["scope"], declared(page)["names"]) == (" all", ["A", "B"])
    assert list(charts(page)) == [
        "Loss",
        "Sample cosine by depth",
        "Signal by depth",
        "Gradient by depth",
        "Held-out loss",
    ]
    logs(page)
    for title in ("Signal by depth", "Gradient by depth"):
        first, second = (bound(page, trace, 30) for trace in charts(page)[title]["data"])
        assert len(first) == len(second) == SMALL["depth"] + 1
        assert first != second
    lines = [trace for trace in charts(page)["Loss"]["data"] if trace["bind"]["kind"] == "past"]
    assert [trace["bind"]["run"] for trace in lines] == [0, 1]
    held_out = [trace for trace in charts(page)["Held-out loss"]["data"] if trace["bind"]["kind"] == "frames"]
    assert [(trace["bind"]["track"], trace["bind"]["run"]) for trace in held_out] == [
        ("held_out_loss", 0),
        ("held_out_loss", 1),
    ]
    assert "| Residual | **on** | **off** |" in words(page)
    assert "Equal in all: net mlp" in words(page)


def test_a_change_to_all_changes_every_column_and_a_change_to_one_only_that() -> None:
    page = compare(**columns({}, {"residual": False}))
    page.slider(key="depth").set_value(5)
    sound(page.run())
    assert [cfg.depth for cfg in page.session_state["compare_columns"]] == [5, 5]
    page.button_group(key="compare_target").set_value("B")
    sound(page.run())
    page.selectbox(key="norm").select("rms norm")
    sound(page.run())
    assert [cfg.norm for cfg in page.session_state["compare_columns"]] == ["layer norm", "rms norm"]
    assert compare_link.from_query(address(page))[0] == page.session_state["compare_columns"]


SEVERAL = {"residual": False, "norm": "rms norm", "lr": 0.02}


@pytest.mark.parametrize("ways", [("B",), ("B", "all"), ("B", "all", "B"), ("C", "B")], ids=" then ".join)
def test_a_late_browser_changes_no_chosen_column(
    ways: tuple[str, ...],
) -> None:
    page = compare(**columns({}, SEVERAL, {"norm": "none", "init": "he"}))
    before = page.session_state["compare_columns"]
    for target in ways[:-1]:
        page.button_group(key="compare_target").set_value(target)
        sound(page.run())
    repeated(page, "button_group", "compare_target", ways[-1])
    assert page.session_state["compare_columns"] == before
    assert address(page).get("change", "all") == ways[-1].lower()
    kept = before["ABC".find(ways[-1])] if ways[-1] != "all" else before[0]
    assert page.session_state["residual"] == kept.residual
    repeated(page, "button_group", "compare_target", "A", depth=("slider", 5))
    assert [cfg.depth for cfg in page.session_state["compare_columns"]] == [5, 3, 3], "what was pressed counts"
    assert [cfg.norm for cfg in page.session_state["compare_columns"]] == [cfg.norm for cfg in before]


def test_a_late_browser_keeps_a_prepared_comparison() -> None:
    page = compare(**columns({}, SEVERAL))
    repeated(page, "selectbox", "compare_pairing", "residual x norm")
    prepared = list(PAIRINGS["residual x norm"].make())
    assert page.session_state["compare_columns"] == prepared
    page.button_group(key="compare_target").set_value("B")
    sound(page.run())
    repeated(page, "menu_button", "arrangement", "DeepNorm")
    arranged = RunConfig.arranged("DeepNorm")
    assert page.session_state["compare_columns"] == [prepared[0], arranged, *prepared[2:]]


def test_a_browser_that_shows_a_column_whose_run_was_cut_short_changes_none_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = compare(**columns({}, SEVERAL))
    before = page.session_state["compare_columns"]
    with monkeypatch.context() as patch:
        patch.setattr("components.compare.runs.draw", lambda **_: streamlit.stop())
        page.button_group(key="compare_target").set_value("B")
        sound(page.run())
    repeated(page, "button_group", "compare_target", "all")
    assert page.session_state["compare_columns"] == before


def test_all_shows_only_what_every_column_has() -> None:
    page = compare(**columns({}, {"residual": False}, {"norm": "none", "depth": 5}))
    assert not [one for one in page.toggle if one.key == "residual"]
    assert "Residual: on (A, C), off (B)" in words(page)
    assert "Norm: layer norm (A, B), none (C)" in words(page)
    assert page.menu_button(key="arrangement").label == "Arrangement: several"
    arrange(page, "post-norm")
    assert page.toggle(key="residual").value is True
    assert page.menu_button(key="arrangement").label == "Arrangement: post-norm"
    post = RunConfig.arranged("post-norm", **SMALL)
    assert page.session_state["compare_columns"] == [post, post, replace(post, depth=5)]
    page.button_group(key="compare_target").set_value("C")
    assert sound(page.run()).slider(key="depth").value == 5


def test_the_column_under_change_stands_in_the_address_and_old_addresses_open() -> None:
    query = columns({}, {"residual": False})
    page = compare(**query)
    assert page.button_group(key="compare_target").value == "all"
    page.button_group(key="compare_target").set_value("B")
    assert address(sound(page.run())) == query | {"change": "b"}
    linked = compare(**query, change="b")
    assert linked.button_group(key="compare_target").value == "B"
    assert linked.toggle(key="residual").value is False
    press(press(compare(**query, change="b"), "Add a column"), "Remove C")
    assert "no change with that name" in words(compare(**query, change="d"))


def test_a_change_that_one_column_cannot_take_is_refused_in_a_sentence_and_changes_nothing() -> None:
    page = compare(**columns({}, {"stack": "residual", "placement": "post-norm"}))
    page.toggle(key="residual").set_value(False)
    sound(page.run())
    assert "Column B cannot take that" in words(page)
    assert [cfg.residual for cfg in page.session_state["compare_columns"]] == [True, True]


def test_columns_are_added_up_to_five_and_taken_away() -> None:
    page = compare(**columns({}, {"residual": False}))
    for _ in range(3):
        page.selectbox(key="compare_add").select("DeepNorm")
        page.button(key="compare_add_now").click()
        sound(page.run())
    kept = page.session_state["compare_columns"]
    assert [cfg.skip_scale for cfg in kept] == [1.0, 1.0, *3 * ["deepnorm"]]
    assert kept[2].depth == SMALL["depth"]
    assert page.button(key="compare_add_now").disabled
    page.button(key="compare_take").click()
    sound(page.run())
    assert len(page.session_state["compare_columns"]) == 4


def test_several_seeds_are_drawn_as_bands_and_one_seed_is_tagged() -> None:
    query = columns({}, {"residual": False})
    assert declared(compare(**query))["facts"] == ["1 seed"]
    page = compare(**query, seeds="3")
    said = "3 seeds, trained together: median and range; samples and their cosine are the first seed's"
    assert declared(page)["facts"] == [said]
    assert [run["seeds"] for run in declared(page)["runs"]] == [3, 3]
    for title, figure in charts(page).items():
        folded = sum(trace["bind"].get("fold") == "median" for trace in figure["data"])
        assert folded == (0 if "cosine" in title else 2)


def test_the_difference_view_is_bound_to_column_a_and_has_axes_of_its_own() -> None:
    page = compare(**columns({}, {"residual": False}))
    before = {title: panel["fit"] for title, panel in panels(page, "chart").items()}
    page.toggle(key="compare_difference").set_value(True)
    sound(page.run())
    for title, panel in panels(page, "chart").items():
        lines = [trace for trace in panel["figure"]["data"] if trace["bind"]["kind"] != "crosses"]
        assert [trace["bind"]["against"] for trace in lines] == [0, 0]
        assert panel["fit"] != before[title]


def test_every_column_has_stack_verdict_and_link() -> None:
    page = compare(**columns({}, {"residual": False}, {"norm": "none"}))
    stacks, said = panels(page, "stack"), panels(page, "headline")
    assert list(stacks) == [f"Signal and gradient of {letter}" for letter in "ABC"]
    assert {stack["scale"] for stack in stacks.values()} == {"shared"}
    assert [[block["skip"] for block in stack["blocks"]] for stack in stacks.values()] == [
        [1, 1, 1],
        [0, 0, 0],
        [1, 1, 1],
    ]
    assert [(one["run"], one["label"]) for one in said.values()] == [(0, "A"), (1, "B"), (2, "C")]
    assert {panel["span"] for panel in declared(page)["panels"] if panel["kind"] not in ("chart", "paths")} == {4}
    *spans, last = [panel["span"] for panel in panels(page, "chart").values()]
    assert {*spans} == {6}
    assert last == 12  # so that the columns begin a row
    ways = [panel for panel in declared(page)["panels"] if panel["kind"] == "link"]
    assert [way["href"] for way in ways] == [f"playground?{key_of(cfg)}" for cfg in runs(page)]
    says(page, {"opened": 1})
    assert page.title[0].value == "Playground"
    assert page.toggle(key="residual").value is False


def test_five_columns_fill_each_of_their_rows() -> None:
    drawn = declared(compare(**columns(*({"depth": depth} for depth in range(2, 2 + MAX_COLUMNS)))))["panels"]
    for kind in ("stack", "headline", "link"):
        assert sum(panel["span"] for panel in drawn if panel["kind"] == kind) == 12


def test_language_models_write_side_by_side_and_of_several_seeds_none_does() -> None:
    book = {"net": "transformer", "task": "book", "depth": 2, "width": 16}
    page = compare(**columns(book, book | {"placement": "post-norm"}))
    texts = panels(page, "text")
    assert [(title, one["run"], one["label"], one["span"]) for title, one in texts.items()] == [
        ("What A writes", 0, "A", 6),
        ("What B writes", 1, "B", 6),
    ]
    assert [bool(one["note"]) for one in texts.values()] == [True, False]
    assert [panel["kind"] for panel in declared(page)["panels"]][:3] == ["text", "text", "paths"]
    samples = [came.frames[0]["picture"]["sample"] for came in drawn_first(page)]
    assert len(samples[0]) == len(samples[1]) == 12
    page.slider(key="compare_seeds").set_value(2)
    assert not panels(sound(page.run()), "text")
    assert not panels(compare(**columns(book | {"task": "copy"}, {})), "text")


def test_the_ten_samples_of_all_columns_travel_side_by_side_and_their_cosines_show_the_collapse() -> None:
    page = compare(**columns({"depth": 32, "width": 64}, {"depth": 32, "width": 64, "residual": False}))
    (paths,) = panels(page, "paths").values()
    assert (paths["runs"], paths["labels"]) == ([0, 1], ["A residual on", "B residual off"])
    assert declared(page)["panels"][0]["kind"] == "paths"
    lines = charts(page)["Sample cosine by depth"]["data"]
    assert [trace["name"] for trace in lines] == paths["labels"]
    kept, lost = (bound(page, trace) for trace in lines)
    assert kept[-1] < 0.7
    assert lost[-1] > 0.95
    assert [came.frames[0]["journey"]["outcome"] for came in drawn_first(page)] == ["stay distinct", "merge"]
    page.toggle(key="compare_difference").set_value(True)
    assert "Sample cosine by depth" not in charts(sound(page.run())), "a cosine over another says nothing"


@pytest.mark.parametrize(
    ("nets", "names"),
    [
        (({}, {"residual": False, "norm": "none"}, {"norm": "none"}), ["A pre-norm", "B plain", "C residual only"]),
        (({}, {"depth": 4}, {"depth": 6}), ["A depth 3", "B depth 4", "C depth 6"]),
        (
            ({}, {"residual": False, "norm": "rms norm", "depth": 4}),
            ["A pre-norm, 3x16", "B no residual, pre-norm, rms norm, 4x16"],
        ),
    ],
)
def test_columns_are_named_by_what_distinguishes_them(nets, names) -> None:
    page = compare(**columns(*nets))
    assert [trace["name"] for trace in charts(page)["Sample cosine by depth"]["data"]] == names
    (paths,) = panels(page, "paths").values()
    assert paths["labels"] == names


def test_columns_are_added_and_changed_alone() -> None:
    page = rests(compare(**columns({}, {"residual": False})))
    before = next(one for one in words(page).splitlines() if "At step 30," in one)
    press(page, "Add a column")
    assert declared(page)["at"] == [30, False]
    assert before in words(page), "of the columns that are there"
    rests(page)
    assert "; C " in words(page)
    press(page, "Remove C")
    assert before in words(page)
    page.slider(key="depth").set_value(4)
    sound(page.run())
    assert declared(page)["at"] == [0, False]
    assert "At step" not in words(page)


def test_what_a_browser_trains_is_not_ranked() -> None:
    page = rests(compare(**columns({}, {"residual": False})))
    assert "At step 30," in words(page)
    links = [run["link"] for run in declared(page)["runs"]]
    says(page, {"at": {"step": 30, "playing": False, "here": True, "runs": links}})
    assert "At step" not in words(page)
    page.session_state["compare_share"] = True
    assert "the server has no numbers of it" in words(sound(page.run()))
    assert [one.label for one in page.get("download_button")] == ["Configurations (JSON)"]


def test_a_comparison_that_another_page_starts_is_started_by_a_word_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    page = compare(**columns({}, {"residual": False}))
    said = [declared(page)["start"]]
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr("streamlit.session_state", page.session_state)
            compare_link.request_play()
        said.append(declared(sound(page.run()))["start"])
    assert said[0] == ""
    assert len(set(said)) == 3
    assert declared(sound(page.run()))["start"] == said[2], "the browser knows which it has heeded"


def test_columns_over_the_budget_are_named_and_nothing_is_trained() -> None:
    large = {"depth": 128, "width": 512, "layers_per_branch": 2, "batch": 512, "steps": 5000}
    page = compare(**columns({}, large))
    assert any(error.value.startswith("Column B: ") and "over budget" in error.value for error in page.error)
    assert not charts(page)


def test_a_hostile_link_is_said_in_harmless_words() -> None:
    page = compare(a="depth=9999&width=8&batch=1&<b>=1", b="norm=![x](http://evil)", e="depth=3", seeds="99")
    said = words(page)
    assert "column A: Depth 9999 is out of range (1 to 128): 128 instead" in said
    assert "Seeds 99 is out of range (1 to 10): 10 instead" in said
    assert "evil)" not in said
    assert "<b>" not in said


def ran(losses: list[float], accuracy: float = 0.5, outcome: int | None = None) -> Trace:
    """A trace whose held-out loss is such at the steps 0, 1, ..., and which has diverged at `outcome`."""
    columns_ = Columns(("x0", "b01"), ("b01",), 1)
    frames = [Frame(at, np.zeros(2), np.zeros(1), loss, accuracy) for at, loss in enumerate(losses)]
    ended = None if outcome is None else Divergence(outcome, "loss")
    return trace_of(columns_, np.ones((len(losses), columns_.width), np.float32), frames, ended)


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        (
            {"A": [[2, 0.5]], "B": [[2, 1.0]]},
            "At step 1, A is ahead: B's loss is 2 times as large. Held-out loss: A 0.5",
        ),
        ({"A": [[2, 1.0]], "B": [[2, 1.05]]}, "A and B are level"),
        ({"A": [[2, 2.2]], "B": [[2, 2.4]]}, "At step 1, A is slightly better than chance (2.30). Held-out loss"),
        ({"A": [[2, 2.2]], "B": [[2, 2.1]]}, "At step 1, B and A are slightly better than chance (2.30)."),
        ({"A": [[2, 2.3]], "B": [[2, 2.4]]}, "At step 1, none is better than chance (2.30)."),
        ({"A": [[2, 0.5], [2, 0.6]], "B": [[2, 1.0], [2, 0.9]]}, "times as large, for every seed"),
        ({"A": [[2, 0.5], [2, 0.9]], "B": [[2, 1.0], [2, 0.8]]}, "times as large, not for every seed"),
    ],
)
def test_the_lead_is_judged_by_the_held_out_losses(runs: dict[str, list[list[float]]], verdict: str) -> None:
    said = ranking_sentence({name: [ran(one) for one in seeds] for name, seeds in runs.items()}, 1, "digits")
    assert verdict in said


def test_a_run_that_diverged_is_behind_all_others_and_says_when() -> None:
    said = ranking_sentence({"A": [ran([2, 3], outcome=1)], "B": [ran([2, 0.5])]}, 1, "digits")
    assert "B alone is left" in said
    assert "A diverged at step 1" in said
    both = ranking_sentence({"A": [ran([2, 3], outcome=1)], "B": [ran([2, 3], outcome=1)]}, 1, "digits")
    assert "none has a finite loss" in both
    before = ranking_sentence({"A": [ran([2, 3], outcome=1)], "B": [ran([2.1, 3])]}, 0, "digits")
    assert "diverged" not in before


def test_of_narrow_nets_that_die_in_some_seeds_those_that_learn_are_counted_at_the_end() -> None:
    narrow = {"width": 2, "depth": 2, "task": "linear", "norm": "none", "steps": 60, "optimizer": "adam", "lr": 0.03}
    counts = []
    for residual in (False, True):
        alone = [Run(RunConfig(**SMALL | narrow, residual=residual, seed=seed)) for seed in range(10)]  # type: ignore[arg-type]
        for run in alone:
            run.advance(60)
        counts.append(sum(float(run.trace().loss[-20:].mean()) < 0.9 * math.log(2) for run in alone))
    assert 0 < counts[0] < 10, "some die without a residual"
    page = rests(compare(**columns(narrow | {"residual": False}, narrow) | {"seeds": "10"}))
    assert f"A learned in {counts[0]} of 10 seeds; B learned in {counts[1]} of 10 seeds." in words(page)


def test_a_comparison_is_taken_home_as_configurations_numbers_and_a_link_that_checks_itself() -> None:
    query = columns({"steps": 3}, {"residual": False, "steps": 3})
    page = rests(compare(**query, seeds="2"))
    traces = {name: log.traces() for name, log in zip("AB", logs(page), strict=True)}
    rows = list(csv.DictReader(io.StringIO(comparison_csv(traces))))
    assert {(row["run"], row["seed"]) for row in rows} == {("A", "0"), ("A", "1"), ("B", "0"), ("B", "1")}
    last = [row for row in rows if (row["run"], row["seed"], row["step"]) == ("B", "1", "3")]
    np.testing.assert_array_equal(np.float32([row["act_rms"] for row in last]), traces["B"][1].act_rms[3])
    kept = json.loads(comparison_json(dict(zip("AB", runs(page), strict=True))))
    assert [configuration_from(json.dumps(kept[name]))[0] for name in "AB"] == runs(page)
    page.session_state["compare_share"] = True
    sound(page.run())
    labels = [button.proto.label for button in page.get("download_button")]
    assert labels == ["Configurations (JSON)", "Numbers (CSV)", "Playable HTML file"]
    shared = dict(parse_qsl(page.code[-1].value.partition("?")[2]))
    assert len(shared["digest"].split(",")) == 2
    again = rests(compare(**shared))
    assert [one.value.partition(": ")[0] for one in again.success if "Same result: " in one.value] == [
        "Column A",
        "Column B",
    ]
    assert declared(again)["start"], "a link with a digest runs again"
    other = rests(compare(**shared | {"b": urlencode({**SMALL, "steps": 3, "seed": 9})}))
    assert "Column B: The loss first differs from the link's at step 0" in words(other)
    other.slider(key="depth").set_value(4)
    assert "digest" not in address(sound(other.run()))


def test_a_projector_shows_a_comparison_without_controls() -> None:
    page = compare(**columns({}, {"residual": False}), seeds="2", view="projector")
    assert {panel["kind"] for panel in declared(page)["panels"]} == {"paths", "chart"}
    assert {figure["layout"]["bind"]["scale"] for figure in charts(page).values()} == {projector.CHART_SCALE}
    assert declared(page)["keys"] == projector.PLAYER_KEYS_HINT
    assert page.title[0].value == "pre-norm, 3x16 beside no residual, pre-norm, layer norm, 3x16"
    assert not page.toggle
    assert not page.button
    assert {run["seeds"] for run in declared(sound(page.run()))["runs"]} == {2}


@pytest.mark.full
def test_the_deep_post_norm_transformer_learns_with_warm_up_and_not_without_it() -> None:
    ends = []
    for cfg in PAIRINGS["post-norm and its warm-up, 24 blocks"].make()[:2]:
        run = Run(cfg)
        run.advance(cfg.steps)
        ends.append((float(run.trace().loss[-20:].mean()), run.trace().frames[-1].held_out_loss))
    without, warmed = ends
    assert max(warmed) < 0.9 * math.log(10) < min(without)
