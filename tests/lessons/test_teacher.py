"""Teacher mode: what a link hides is not there and keeps its value, the projector view, links to hand out."""

import json
from collections.abc import Callable
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
import segno
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from components.charts.parts import scaled_figure
from components.lessons.runs import lesson_chart
from components.shell.hidden_parts import MAX_NAMES, PARTS, parse_names
from components.shell.qr import qr_code_html
from models.lessons.homework import Homework, homework_from
from models.lessons.lessons import LESSONS
from models.lessons.plan import prepared_plans
from models.lessons.stops import PLAYGROUND, page_of
from models.spec import RunConfig, knobs
from models.spec.query import PLAIN_CHARS
from tests.app_page import (
    SMALL,
    by_link,
    charts,
    configuration,
    labels,
    playground,
    press,
    repeated,
    sound,
    unfolded,
    words,
)
from tests.app_page import address as address_bar
from tests.drawn import all_drawn
from tests.player_page import declared, panels, rests

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")

COLUMNS = {"a": urlencode(SMALL), "b": urlencode(SMALL | {"residual": "false"})}  # of a comparison


def opened(path: str, **query: str) -> AppTest:
    return by_link(f"{path}.py", **query)


def guessed(page: AppTest, at: int) -> AppTest:
    page.radio[0].set_value(page.radio[0].options[at])
    return press(sound(page.run()), "This is my guess")


def watched(page: AppTest) -> AppTest:
    """The lesson after its nets have been watched to the end."""
    return sound(rests(page).run())


def walked(page: AppTest, path: str, **query: str) -> AppTest:
    """Another page in the same visit, by an address that says nothing of what is hidden."""
    page.switch_page(f"{path}.py")
    page.query_params.clear()
    for key, value in query.items():
        page.query_params[key] = value
    return sound(page.run())


def keys(page: AppTest) -> set[str | None]:
    """The keys of all controls and buttons on the page."""
    return drawn(page) | {one.key for one in page.button}


def drawn(page: AppTest) -> set[str | None]:
    """The keys of all controls of configuration fields that are on the page."""
    return {
        one.key
        for kind in (page.slider, page.select_slider, page.number_input, page.selectbox, page.toggle, page.menu_button)
        for one in kind
    }


# --- what a link hides ---


@given(st.text(max_size=200))
def test_whatever_a_link_wants_hidden_only_known_names_are_and_the_rest_is_said_harmlessly(text: str) -> None:
    known, notes = parse_names(text)
    assert known <= set(PARTS) | set(knobs())
    assert all(set(note) <= PLAIN_CHARS | set(",:()") for note in notes)


@given(st.lists(st.sampled_from([*PARTS, *knobs()]), max_size=20))
def test_every_name_of_a_list_is_hidden_spaces_or_not(names: list[str]) -> None:
    assert parse_names(" , ".join(names)) == (frozenset(names), [])


def test_a_list_without_end_is_read_to_a_limit() -> None:
    assert len(parse_names("x," * 10**5)[1]) == MAX_NAMES


def test_a_hidden_control_is_not_there_keeps_its_value_and_the_others_stay() -> None:
    page = unfolded(playground(**SMALL, hide="depth,lr,optimizer"))
    assert not {"depth", "lr", "optimizer"} & drawn(page)
    assert {"width", "norm", "batch", "steps"} <= drawn(page)
    page.select_slider(key="width").set_value(24)
    sound(page.run())
    assert configuration(page) == RunConfig(depth=4, width=24, batch=16, steps=40)
    assert address_bar(page) == SMALL | {"width": "24", "hide": "depth,lr,optimizer"}


def test_what_sets_several_controls_is_not_there_where_one_of_them_is_hidden() -> None:
    assert "arrangement" in drawn(playground(**SMALL))
    page = playground(**SMALL, hide="norm")
    assert "arrangement" not in drawn(page)
    assert "placement" in drawn(page), "nothing else shows it"
    assert "Net" in groups(page)
    assert "Net" not in groups(playground(**SMALL, hide="task"))


@pytest.mark.parametrize(
    ("part", "there"),
    [
        ("verdict", lambda page: bool(panels(page, "headline"))),
        ("verdict", lambda page: "loss" in said(page)),
        ("theory", lambda page: any(one.value.startswith("This network") for one in page.subheader)),
        ("theory", lambda page: bool(page.latex)),
        ("theory", lambda page: "Formula over measurement" in offered(page)),
        ("instruments", lambda page: "Health" in offered(page)),
        ("verdict", lambda page: "weight" in said(page)),
        ("verdict", lambda page: "cosine" in said(page)),
        ("verdict", lambda page: "Post-mortem" in offered(page)),
        ("export", lambda page: "Export and share" in [one.label for one in page.expander]),
        ("export", lambda page: "Compare with no residual" in [one.proto.label for one in page.get("page_link")]),
        ("arrangement", lambda page: "arrangement" in drawn(page)),
    ],
)
def test_a_hidden_part_is_not_there_and_without_the_link_it_is(part: str, there: Callable[[AppTest], bool]) -> None:
    assert there(playground(**SMALL))
    page = playground(**SMALL, hide=part)
    assert not there(page)
    assert {"Signal by depth", "Gradient by depth", "Loss"} <= set(charts(page))


def said(page: AppTest) -> set[str]:
    """The kinds of sentences that stand over the charts of the player."""
    return {panel["sentence"] for panel in panels(page, "chart").values()}


def groups(page: AppTest) -> list[str]:
    """The labels of all rows of choices."""
    return [one.proto.label for one in page.get("button_group")]


def offered(page: AppTest) -> list[str]:
    """The instruments that can be opened."""
    page.session_state["look_deeper"] = True
    sound(page.run())
    said = [json.loads(one.proto.json) for one in page.get("bidi_component")]
    return [card["name"] for data in said if data.get("label") == "Instruments" for card in data["cards"]]


@pytest.mark.parametrize("hide", ["", "verdict"])
def test_an_instrument_says_nothing_of_its_numbers_where_the_verdict_is_hidden(hide: str) -> None:
    page = playground(**SMALL, hide=hide)
    page.session_state["instrument"] = "Collapse"
    sound(page.run())
    assert "Cosine of samples by depth" in charts(page)
    assert ("have a mean cosine of" in words(page)) == (not hide)


@pytest.mark.full
def test_a_lessons_answers_are_kept_back_until_a_link_without_that_is_opened() -> None:
    page = watched(guessed(opened("lessons", lesson="final", hide="answers"), 2))
    assert {"Gradient by depth", "Signal by depth", "Loss"} <= set(charts(page))
    assert not panels(page, "headline"), "a verdict says what became of the nets"
    assert not [link for link in page.get("page_link") if "Compare" in link.proto.label]
    for answer in (LESSONS["final"].why, LESSONS["final"].challenge.text, "the first loss is", "Your guess was"):
        assert answer not in words(page)
    assert "hides the answer" in words(page)
    assert [code.value for code in page.code if "def " in code.value] == []
    assert "(answer hidden by the link)" in page.code[-1].value
    page.query_params["hide"] = ""
    sound(page.run())
    assert "Your guess was right" in words(sound(page.run()))
    assert LESSONS["final"].why in words(page)
    assert len(panels(page, "headline")) == len(LESSONS["final"].nets)
    assert [link for link in page.get("page_link") if "Compare" in link.proto.label]
    page.query_params["hide"] = "answers"
    assert LESSONS["final"].why not in words(sound(page.run())), "nor are they shown to who has seen them once"


def test_what_a_link_has_hidden_stays_hidden_on_a_walk_through_the_pages() -> None:
    page = opened("lessons", lesson="final", hide="answers,verdict,norm,arrangement,theory")
    del page.query_params["hide"]
    page.query_params["lesson"] = "gates"
    assert "answers" in sound(page.run()).session_state["hidden"]
    assert not panels(walked(page, "playground", **SMALL), "headline")
    assert "norm" not in drawn(page)
    assert not panels(walked(page, "compare", **COLUMNS), "headline")
    assert not {"norm", "compare_pairing", "compare_add", "compare_add_now"} & keys(page)
    walked(page, "anatomy", **SMALL)
    assert not {"norm", "anatomy_norm"} & keys(page)
    assert [one.value for one in (*page.latex, *page.code)] == []
    assert not any(word in words(page) for word in ("**Equation**", "**pre-norm.**"))
    assert not any(one.get("sentence") for one in panels(page, "chart").values())
    assert {"anatomy_residual", "anatomy_identity", "depth"} <= keys(page)


@pytest.mark.parametrize("name", ["depth", "lr", "warmup", "norm"])
def test_a_prepared_comparison_is_not_there_where_it_would_set_what_is_hidden(name: str) -> None:
    assert "compare_pairing" not in keys(walked(playground(**SMALL, hide=name), "compare", **COLUMNS))
    # An added column has its depth and learning rate from A.
    assert ("compare_add" in keys(walked(playground(**SMALL, hide=name), "compare", **COLUMNS))) == (
        name in {"depth", "lr"}
    )


def test_a_comparison_does_not_tell_apart_by_what_a_link_hides() -> None:
    def legend(page: AppTest) -> list[str]:
        return [trace["name"] for trace in charts(page)["Signal by depth"]["data"] if trace.get("name")]

    page = walked(playground(**SMALL), "compare", **COLUMNS)
    told = words(page)
    assert legend(page) == ["A residual on", "B residual off"]
    assert "| Residual | **on** | **off** |" in told
    assert "norm layer" in told
    page = walked(playground(**SMALL, hide="residual,norm"), "compare", **COLUMNS)
    kept = words(page)
    assert legend(page) == ["A pre-norm, 4x16", "B pre-norm, 4x16"]
    assert legend(walked(playground(**SMALL, hide="residual,norm,placement,depth"), "compare", **COLUMNS)) == [
        "A",
        "B",
    ]
    assert "The link hides what differs." in kept
    assert "Equal in all: net mlp" in kept
    assert not any(word in kept for word in ("| Residual", "norm layer", "The columns are equal"))


@pytest.mark.parametrize(("path", "query"), [("compare", COLUMNS), ("anatomy", SMALL)])
def test_an_address_of_compare_or_anatomy_that_hides_something_keeps_doing_so(path: str, query: dict[str, str]) -> None:
    page = walked(playground(**SMALL), path, **query, hide="norm")
    assert "norm" not in keys(page)
    page.slider(key="depth").set_value(5)
    assert address_bar(sound(page.run()))["hide"] == "norm"
    assert "norm" not in keys(page)


def test_what_puts_blocks_back_is_not_there_where_it_would_set_what_is_hidden() -> None:
    query = SMALL | {"overrides": "2.norm.none"}
    back, remove = "Restore all blocks", "Remove the exceptions"
    for name, there in (("width", True), ("norm", False)):
        page = unfolded(playground(**query, hide=name))
        assert (remove in labels(page)) == there
        assert (back in labels(walked(page, "anatomy", **query))) == there


def test_a_post_mortem_that_was_open_is_closed_when_a_link_hides_the_verdict() -> None:
    page = playground(**SMALL)
    page.session_state["instrument"] = "Post-mortem"
    assert "Post-mortem" in [one.value for one in sound(page.run()).subheader]
    page.query_params["hide"] = "verdict"
    assert "Post-mortem" not in [one.value for one in sound(page.run()).subheader]


def test_a_link_can_keep_to_one_lesson() -> None:
    page = opened("lessons", lesson="final", hide="lessons")
    assert not any(key == "lesson_box" for key in drawn(page))
    assert ways(page) == []
    assert LESSONS["final"].question in words(page)
    free = opened("lessons", lesson="final")
    assert any(key == "lesson_box" for key in drawn(free))
    assert len(ways(free)) == 2


def ways(page: AppTest) -> list[str]:
    """The buttons Previous and Next."""
    return [label for label in labels(page) if label.startswith(("Previous", "Next"))]


# --- the projector view ---


def test_the_projector_view_has_the_charts_the_player_and_the_keys_and_nothing_else_to_set() -> None:
    page = playground(**SMALL, view="projector")
    assert [one.value for one in page.title] == ["pre-norm, 4x16"]
    assert set(charts(page)) == {"Signal by depth", "Gradient by depth", "Loss"}
    assert not drawn(page) & set(knobs())
    assert declared(page)["keys"]
    assert configuration(page) == RunConfig(depth=4, width=16, batch=16, steps=40)
    assert address_bar(page) == SMALL | {"view": "projector"}


def test_the_projector_views_charts_are_larger_and_show_the_same_numbers() -> None:
    usual, large = charts(playground(**SMALL)), charts(playground(**SMALL, view="projector"))
    for name, figure in large.items():
        assert [trace["bind"] for trace in figure["data"]] == [trace["bind"] for trace in usual[name]["data"]]
        assert 12 * figure["layout"]["bind"]["scale"] >= 16


def test_enlarging_leaves_the_figure_it_was_given_as_it_was() -> None:
    figure = lesson_chart(LESSONS["final"], "loss")
    before = str(figure)
    usual, large = (one["layout"] for one in all_drawn([figure, scaled_figure(figure, 2)]))
    assert str(figure) == before
    assert large["margin"]["b"] == 2 * usual["margin"]["b"]


# --- the teacher's page ---


def link_of(page: AppTest, at: int = 0) -> tuple[str, dict[str, str]]:
    """Page and query of an address that the teacher's page shows."""
    parts = urlsplit(page.code[at].value)
    return parts.path.rpartition("/")[2], dict(parse_qsl(parts.query))


def homework_of(page: AppTest) -> Homework:
    """What the link that is handed out opens and hides."""
    (token,) = parse_qs(urlsplit(page.code[0].value).query)["t"]
    found = homework_from(token)
    assert found is not None
    assert f"**{found.code}**" in words(page)
    return found


def test_a_lessons_link_hides_its_answers() -> None:
    page = opened("teacher")
    page.selectbox(key="teacher_target").set_value("final")
    sound(page.run())
    assert (homework_of(page).stop, homework_of(page).hide) == ("final", ("answers", "lessons"))
    assert link_of(page, 1) == ("lessons", {"lesson": "final"})


def test_a_browser_that_repeats_an_old_plan_takes_no_newer_back() -> None:
    page = opened("teacher", plan="start")
    page.text_area(key="teacher_plan").set_value("skip\nnowhere")
    sound(page.run())
    page = repeated(page, "selectbox", "teacher_prepared", next(iter(prepared_plans())))
    assert page.text_area(key="teacher_plan").value.startswith(f"# {next(iter(prepared_plans()))}")
    assert "nowhere" not in page.query_params["plan"][0]


def test_homework_opens_the_playground_as_it_stands_or_the_link_of_any_page() -> None:
    page = playground(**SMALL)
    page.switch_page("teacher.py")
    page.query_params.clear()
    sound(page.run())
    page.selectbox(key="teacher_target").set_value(PLAYGROUND)
    sound(page.run())
    page.multiselect(key="teacher_playground_hide").set_value(["verdict", "depth", "theory"])
    found = homework_of(sound(page.run()))
    assert (page_of(found.stop), found.hide) == ((PLAYGROUND, SMALL), ("verdict", "depth", "theory"))
    pupil = playground(**SMALL, homework=found.token)
    assert "depth" not in drawn(pupil)
    assert configuration(pupil) == configuration(playground(**SMALL))
    page.text_input(key="teacher_page").set_value("https://host/attention?wish=2&class=ABCD")
    found = homework_of(sound(page.run()))
    assert (found.stop, found.hide) == ("attention?wish=2", ("answers",))
    page.text_input(key="teacher_page").set_value("https://host/nowhere")
    assert "is no page, lesson or question" in words(sound(page.run()))


def test_a_too_long_link_has_no_qr_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.shell.address.app_url", lambda: "https://host")
    page = opened("teacher")
    assert [one for one in page.get("html") if "QR code" in one.proto.body]
    page.text_input(key="teacher_page").set_value(f"https://host/attention?wish={'2' * 1900}")
    assert homework_of(sound(page.run())).stop.startswith("attention")
    assert not [one for one in page.get("html") if "QR code" in one.proto.body]


def test_the_qr_code_is_of_the_link_that_is_handed_out() -> None:
    link = "https://host/base/join?c=ABCD"
    said = qr_code_html(link)
    assert 'alt="QR code of the link to hand out"' in said
    assert segno.make(link, error="m", micro=False).svg_data_uri(scale=6, border=4, light="white") in said
    assert said != qr_code_html(link + "2")
