"""The story: six scenes of real runs, whose sentences are made
from the numbers of those runs, and a net of the reader's own.
"""

import pytest

from addnorm.player.declare import Curve, Scene
from addnorm.words import number
from components.story import page as story
from models.service.client import trainer
from models.spec import RunConfig
from tests.app_page import address, by_link, sound
from tests.player_page import declared, logs, runs, says

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
SMALL = {"width": 16, "batch": 16, "steps": 12}
PLAIN = {"residual": False, "norm": "none"}


@pytest.fixture
def small(monkeypatch):
    """The story with nets that are soon trained."""
    monkeypatch.setattr(story, "SHALLOW", RunConfig(depth=2, **PLAIN, **SMALL))
    monkeypatch.setattr(story, "FADES", RunConfig(depth=20, **PLAIN, **SMALL))
    monkeypatch.setattr(story, "GROWS", RunConfig(depth=20, norm="none", lr=1.0, **SMALL))
    monkeypatch.setattr(story, "MERGES", RunConfig(depth=20, residual=False, **SMALL))
    monkeypatch.setattr(story, "LEVELS", RunConfig(depth=20, **SMALL))


def opened(**query):
    return by_link("story.py", **query)


def test_every_scene_is_of_its_own_run_and_shows_the_same_panels(small):
    scenes = declared(opened())["scenes"]
    assert [scene["title"] for scene in scenes] == [
        "A digit enters a block",
        "20 plain blocks: the digits vanish",
        "Add alone: they fly out",
        "Norm alone: they merge",
        "Add and norm: they stay distinct",
        "Break it yourself",
    ]
    for run, scene in enumerate(scenes):
        assert {panel["run"] for panel in scene["panels"]} == {scene["run"]} == {run}
        picture = ["block", "digit"] if run == 0 else ["paths", "block"]
        assert [panel["key"] for panel in scene["panels"]] == [*picture, "curve", "stack"]
    assert [scene["panels"][0]["runs"] for scene in scenes[1:]] == [[run] for run in range(1, 6)]
    drawn = [next(panel["diagram"] for panel in scene["panels"] if panel["key"] == "block") for scene in scenes[:5]]
    # Faint is what a block lacks.
    assert [("norm lacks" in one, "skip lacks" in one) for one in drawn] == [
        (True, True),
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    ]
    assert [bool(scene["choice"]) for scene in scenes] == [False] * 5 + [True]


def test_a_scene_of_a_run_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="of run 1: there are 1"):
        Scene("A", "B", 1, [Curve("Loss", 1)]).to_json(1, 1)


@pytest.mark.parametrize(
    ("asked", "shown"), [("3", 3), ("6", 6), ("0", 1), ("9", 6), ("-1", 1), ("two", 1), ("9" * 50, 1)]
)
def test_a_link_leads_to_a_scene(small, asked, shown):
    assert declared(opened(scene=asked))["scene"] == shown


@pytest.mark.full
def test_what_came_of_the_reader_s_net_is_kept_for_who_has_watched_it(small):
    page = opened()
    logs(page)  # somebody has trained them all
    last = declared(sound(page.run()))["scenes"][-1]
    assert last["text"].endswith("where does it stop learning?")
    trace = trainer().log(runs(page)[5]).trace()
    assert (
        f"its last loss is {number(float(trace.loss[-1]))}; chance" in last["after"]
        or f"overflow at step {trace.divergence.step}" in last["after"]
    )


def test_the_reader_chooses_a_net_and_its_link_shows_it_again(small):
    page = opened()
    assert runs(page)[5] == RunConfig(depth=24)
    page = says(page, {"choice": {"depth": 7, "residual": True, "norm": False}})
    assert runs(page)[5] == RunConfig(depth=7, norm="none")
    assert declared(page)["scenes"][5]["choice"] == {"depth": 7, "max_depth": 64, "residual": True, "norm": False}
    link = address(page)
    assert link == {"scene": "6", "depth": "7", "residual": "true", "norm": "false"}
    assert runs(opened(**link)) == runs(page)


@pytest.mark.parametrize(
    "said",
    [
        {"depth": 0, "residual": True, "norm": True},
        {"depth": 65, "residual": True, "norm": True},
        {"depth": True, "residual": True, "norm": True},
        {"depth": 7, "residual": "yes", "norm": True},
        {"depth": 7},
        {},
        [7, True, True],
    ],
)
def test_what_cannot_be_chosen_changes_nothing(small, said):
    page = opened()
    assert runs(says(page, {"choice": said})) == runs(page)


@pytest.mark.parametrize(("depth", "taken"), [("100000", 24), ("64", 64), ("0", 1), ("-3", 24), ("x", 24), ("99", 64)])
def test_a_depth_that_a_link_cannot_have_becomes_one_that_it_can(small, depth, taken):
    assert runs(opened(depth=depth, residual="true", norm="true"))[5].depth == taken
