"""The comparison: prepared questions, its link, its columns in AppTest, and figures that say what differs."""

import json
from urllib.parse import urlencode

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from components import compare_link
from components.compare_charts import compared_losses, compared_profiles
from models.insight.bands import band
from models.service.client import trainer
from models.spec import RunConfig
from models.spec.budget import over_budget
from models.spec.pairings import PAIRINGS, changed, clashes, differing
from models.trace import Divergence
from tests.app_page import APP, PATIENCE, address, charts, scrubber, sound, trained, words

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

SMALL = {"depth": 3, "width": 16, "batch": 16, "steps": 30}


def compare(**query: str) -> AppTest:
    page = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    page.switch_page("pages/train/compare.py")
    for key, value in query.items():
        page.query_params[key] = value
    return sound(page.run())


def columns(*fields: dict[str, object]) -> dict[str, str]:
    return compare_link.to_query([RunConfig(**(SMALL | one)) for one in fields], seeds=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PAIRINGS)
def test_every_prepared_comparison_differs_in_something_fits_the_budget_and_shares_seed_and_axes(name: str) -> None:
    configurations = PAIRINGS[name].make()
    assert 2 <= len(configurations) <= 4
    assert differing(configurations)
    assert len({cfg.seed for cfg in configurations}) == 1
    assert not clashes(configurations)
    assert [over_budget(cfg) for cfg in configurations] == [None] * len(configurations)


def test_a_comparison_survives_its_own_link() -> None:
    for pairing in PAIRINGS.values():
        configurations = list(pairing.make())
        assert compare_link.from_query(compare_link.to_query(configurations, seeds=5)) == (configurations, 5, [])


@given(
    st.dictionaries(st.text(max_size=6) | st.sampled_from(["a", "b", "c", "d", "e", "seeds"]), st.text(max_size=60), max_size=6)
)
def test_any_link_makes_two_to_four_legal_columns(query: dict[str, str]) -> None:
    configurations, seeds, notes = compare_link.from_query(query)
    assert 2 <= len(configurations) <= 4
    assert 1 <= seeds <= compare_link.MAX_SEEDS
    assert not set("<>[]!`") & set("".join(notes))


def test_a_fifth_column_is_ignored_and_said() -> None:
    query = dict.fromkeys("abcdef", urlencode({"depth": 4}))
    configurations, _, notes = compare_link.from_query(query)
    assert len(configurations) == 4
    assert any("at most 4" in note for note in notes)


def test_columns_of_other_nets_or_tasks_share_no_axis_and_the_page_says_which() -> None:
    assert set(clashes([RunConfig(), RunConfig(net="transformer")])) == {"depth"}
    assert set(clashes([RunConfig(), RunConfig(task="xor")])) == {"loss"}
    assert not clashes([RunConfig(), RunConfig(depth=5)])


def test_what_changed_is_found_by_field() -> None:
    assert changed(RunConfig(), RunConfig(norm="none", depth=8)) == {"depth": 8, "norm": "none"}


def test_profiles_of_seeds_are_a_line_in_a_band_and_the_difference_divides_by_the_first() -> None:
    one, two = band([np.array([1.0, 2.0]), np.array([1.0, 8.0])]), band([np.array([2.0, 8.0])])
    figure = compared_profiles(title="Activation by depth", sites=("x0", "b01"), labels=["A", "B"], bands=[one, two])
    go.Figure(figure)
    names = [trace["name"] for trace in figure["data"]]
    assert names == ["A, lowest seed", "A, highest seed", "A", "B"]
    assert figure["data"][2]["y"] == [1.0, 4.0], "the geometric median"
    ratio = compared_profiles(title="x", sites=("x0", "b01"), labels=["A", "B"], bands=[one, two], against_first=True)
    assert ratio["data"][-1]["y"] == [2.0, 2.0]


def test_losses_keep_their_raw_numbers_their_cross_and_their_difference() -> None:
    bands = [band([np.array([3.0, 2.0, 1.0])], log=False), band([np.array([3.0, np.nan])], log=False)]
    given_ = {"steps": 9, "labels": ["A", "B"], "bands": bands, "chance": 2.3, "shown_step": 1}
    figure = compared_losses(divergences=[None, Divergence(1, "loss")], **given_)  # type: ignore[arg-type]
    go.Figure(figure)
    assert figure["data"][0]["y"] == [3.0, 2.0, 1.0]
    assert [trace["name"] for trace in figure["data"]][-1] == "B diverged"
    difference = compared_losses(divergences=[None, None], against_first=True, **given_)  # type: ignore[arg-type]
    assert difference["data"][1]["y"][0] == 0.0
    json.dumps(figure, allow_nan=False)


def test_two_columns_train_under_one_player_and_each_has_its_line() -> None:
    page = trained(compare(**columns({}, {"residual": False})))
    lines = [trace for trace in charts(page)["Loss"]["data"] if trace["mode"] == "lines"]
    assert [len(line["y"]) for line in lines] == [31, 31]
    assert lines[0]["y"] != lines[1]["y"]
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


def test_a_change_that_one_column_cannot_take_is_refused_in_a_sentence_and_changes_nothing() -> None:
    page = compare(**columns({}, {"stack": "residual", "placement": "post-norm"}))
    page.toggle(key="residual").set_value(False)
    sound(page.run())
    assert "Column B cannot take that" in words(page)
    assert [cfg.residual for cfg in page.session_state["compare_columns"]] == [True, True]


def test_columns_are_added_from_an_arrangement_up_to_four_and_taken_away() -> None:
    page = compare(**columns({}, {"residual": False}))
    for _ in range(2):
        page.selectbox(key="compare_add").select("DeepNorm")
        page.button(key="compare_add_now").click()
        sound(page.run())
    kept = page.session_state["compare_columns"]
    assert [cfg.skip_scale for cfg in kept] == [1.0, 1.0, "deepnorm", "deepnorm"]
    assert kept[2].depth == SMALL["depth"]
    assert page.button(key="compare_add_now").disabled
    page.button(key="compare_take").click()
    sound(page.run())
    assert len(page.session_state["compare_columns"]) == 3


def test_a_prepared_comparison_replaces_the_columns() -> None:
    page = compare(**columns({}, {"residual": False}))
    page.selectbox(key="compare_pairing").select("residual x norm")
    sound(page.run())
    assert page.session_state["compare_columns"] == list(PAIRINGS["residual x norm"].make())


def test_several_seeds_are_drawn_as_bands_and_one_seed_is_tagged() -> None:
    query = columns({}, {"residual": False})
    assert "1 seed" in words(compare(**query))
    page = trained(compare(**query, seeds="3"))
    assert "3 seeds" in words(page)
    names = [trace["name"] for trace in charts(page)["Gradient by depth"]["data"]]
    assert sum("lowest seed" in name for name in names) == 2


def test_the_difference_view_is_one_at_column_a() -> None:
    page = compare(**columns({}, {"residual": False}))
    page.toggle(key="compare_difference").set_value(True)
    sound(page.run())
    first = charts(page)["Activation by depth"]["data"][0]["y"]
    assert first == pytest.approx([1.0] * (int(SMALL["depth"]) + 1))


def test_a_hostile_link_is_said_in_harmless_words() -> None:
    page = compare(a="depth=9999&<b>=1", b="norm=![x](http://evil)", e="depth=3", seeds="99")
    said = words(page)
    assert "column A: depth 9999 became 128" in said
    assert "seeds became 8" in said
    assert "evil)" not in said
    assert "<b>" not in said


def test_columns_that_have_all_diverged_stop_at_the_last_end_and_say_where_each_ended() -> None:
    wild = {"depth": 20, "norm": "none"}
    page = trained(compare(**columns(wild | {"lr": 0.03}, wild | {"lr": 1.0})))
    tapes = [trainer().tape(cfg) for cfg in page.session_state["compare_columns"]]
    ends = [tape.divergence.step for tape in tapes]  # type: ignore[union-attr]
    assert ends[0] != ends[1]
    assert f"step {max(ends)} of 30" in words(page)
    assert f"all have diverged: A at step {ends[0]}, B at step {ends[1]}" in words(page)
    assert scrubber(page).value == max(ends)


def test_a_column_that_has_diverged_does_not_hold_the_other_back() -> None:
    page = trained(compare(**columns({}, {"depth": 20, "norm": "none", "init_gain": 3.0, "lr": 1.0})))
    assert "step 30 of 30" in words(page)
    assert "all have diverged" not in words(page)


def test_a_column_of_fewer_steps_does_not_hold_the_other_back() -> None:
    assert "step 30 of 30" in words(trained(compare(**columns({}, {"steps": 12}))))


def test_exceptions_for_single_blocks_are_told_in_words() -> None:
    page = compare(**columns({}, {"overrides": ((3, "residual", False),)}))
    assert "| Overrides | **none** | **block 3: no residual** |" in words(page)


def test_nets_without_a_common_depth_are_told_so_once() -> None:
    page = compare(**columns({}, {"net": "transformer", "task": "digits"}))
    assert words(page).count("their depths have no common axis") == 1
    assert set(charts(page)) == {"Loss"}
