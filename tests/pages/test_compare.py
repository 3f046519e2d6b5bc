"""The comparison: prepared questions, its link, its columns in AppTest, and figures that say what differs."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from components.shell import compare_link
from models.service.client import key_of
from models.spec import RunConfig
from models.spec.budget import over_budget
from models.spec.pairings import PAIRINGS, changed, clashes, differing
from tests.app_page import APP, PATIENCE, address, charts, sound, words
from tests.stage_page import bound, declared, panels, runs, says, tapes

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
    st.dictionaries(
        st.text(max_size=6) | st.sampled_from(["a", "b", "c", "d", "e", "seeds"]), st.text(max_size=60), max_size=6
    )
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


def test_two_columns_stand_under_one_player_and_each_has_its_line() -> None:
    page = compare(**columns({}, {"residual": False}))
    assert [cfg.residual for cfg in runs(page)] == [True, False]
    assert (declared(page)["shared"], declared(page)["names"]) == (" all", ["A", "B"])
    assert set(charts(page)) == {"Activation by depth", "Gradient by depth", "Loss"}
    tapes(page)
    for title in ("Activation by depth", "Gradient by depth"):
        first, second = (bound(page, trace, 30) for trace in charts(page)[title]["data"])
        assert len(first) == len(second) == SMALL["depth"] + 1
        assert first != second
    lines = [trace for trace in charts(page)["Loss"]["data"] if trace["mode"] == "lines"]
    assert [trace["bind"]["run"] for trace in lines] == [0, 1]
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
    assert declared(compare(**query))["facts"] == ["1 seed"]
    page = compare(**query, seeds="3")
    assert declared(page)["facts"] == ["3 seeds, trained together: geometric median and range"]
    assert [run["seeds"] for run in declared(page)["runs"]] == [3, 3]
    for figure in charts(page).values():
        assert sum("lowest seed" in trace["name"] for trace in figure["data"]) == 2


def test_the_difference_view_is_bound_to_column_a_and_has_axes_of_its_own() -> None:
    page = compare(**columns({}, {"residual": False}))
    before = {title: panel["fit"] for title, panel in panels(page, "chart").items()}
    page.toggle(key="compare_difference").set_value(True)
    sound(page.run())
    for title, panel in panels(page, "chart").items():
        lines = [trace for trace in panel["figure"]["data"] if trace["mode"] != "markers"]
        assert [trace["bind"]["against"] for trace in lines] == [0, 0]
        assert panel["fit"] != before[title]


def test_every_column_has_its_stack_on_a_common_scale_its_verdict_and_its_way_to_the_playground() -> None:
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
    assert {panel["span"] for panel in declared(page)["panels"]} == {4}
    ways = [panel for panel in declared(page)["panels"] if panel["kind"] == "link"]
    assert [way["href"] for way in ways] == [f"playground?{key_of(cfg)}" for cfg in runs(page)]
    says(page, {"opened": 1})
    assert page.title[0].value == "Playground"
    assert page.toggle(key="residual").value is False


def test_where_the_verdict_is_hidden_the_letters_stay() -> None:
    page = compare(**columns({}, {"residual": False}), hide="verdict")
    assert not panels(page, "headline")
    assert list(panels(page, "heading")) == ["A", "B"]


def test_a_comparison_that_another_page_starts_is_started_by_a_word_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    page = compare(**columns({}, {"residual": False}))
    said = [declared(page)["start"]]
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr("streamlit.session_state", page.session_state)
            compare_link.begin()
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
    page = compare(a="depth=9999&<b>=1", b="norm=![x](http://evil)", e="depth=3", seeds="99")
    said = words(page)
    assert "column A: depth 9999 became 128" in said
    assert "seeds became 8" in said
    assert "evil)" not in said
    assert "<b>" not in said


def test_exceptions_for_single_blocks_are_told_in_words() -> None:
    page = compare(**columns({}, {"overrides": ((3, "residual", False),)}))
    assert "| Overrides | **none** | **block 3: no residual** |" in words(page)


def test_nets_without_a_common_depth_are_told_so_once() -> None:
    page = compare(**columns({}, {"net": "transformer", "task": "digits"}))
    assert words(page).count("their depths have no common axis") == 1
    assert set(charts(page)) == {"Loss"}
