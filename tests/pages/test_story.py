"""The story: five scenes of real runs, whose sentences are made
from the numbers of those runs.
"""

import pytest

from addnorm.player.declare import Curve, Scene
from components.story import page as story
from models.spec import RunConfig
from tests.app_page import address, by_link, sound
from tests.player_page import declared

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
    ]
    for run, scene in enumerate(scenes):
        assert {panel["run"] for panel in scene["panels"]} == {scene["run"]} == {run}
        picture = ["block", "digit"] if run == 0 else ["paths", "block"]
        assert [panel["key"] for panel in scene["panels"]] == [*picture, "curve", "stack"]
    assert [scene["panels"][0]["runs"] for scene in scenes[1:]] == [[run] for run in range(1, 5)]
    drawn = [next(panel["diagram"] for panel in scene["panels"] if panel["key"] == "block") for scene in scenes]
    # Faint is what a block lacks.
    assert [("norm lacks" in one, "skip lacks" in one) for one in drawn] == [
        (True, True),
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    ]


def test_a_scene_of_a_run_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="of run 1: there are 1"):
        Scene("A", "B", 1, [Curve("Loss", 1)]).to_json(1, 1)


def test_an_old_link_leads_away_once(small):
    page = opened(scene="6", depth="7", residual="true", norm="false")
    assert address(page) == {"depth": "7", "residual": "true", "norm": "false", "part": "break"}
    page.switch_page("story.py")
    page.query_params.clear()
    assert declared(sound(page.run()))["scene"] == 5
    assert address(page) == {"scene": "6"}


@pytest.mark.parametrize(
    ("asked", "shown"), [("3", 3), ("6", 5), ("0", 1), ("9", 5), ("-1", 1), ("two", 1), ("9" * 50, 1)]
)
def test_a_link_leads_to_a_scene(small, asked, shown):
    assert declared(opened(scene=asked))["scene"] == shown
