"""The story: six scenes of real runs, whose sentences are made
from the numbers of those runs, and a net of the reader's own.
"""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from components.stage.panels import Curve
from components.stage.scenes import Scene
from components.story import page as story
from components.story import words
from models.service.client import trainer
from models.spec import RunConfig
from models.trace import Columns, Divergence, trace_of
from models.training import profile_at_init
from tests.app_page import address, by_link, sound
from tests.stage_page import declared, runs, says, tapes

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
    return by_link("pages/start/story.py", **query)


def texts(page):
    return [scene["text"] for scene in declared(page)["scenes"]]


def grown(cfg):
    """How much larger ten digits leave a net before training than they enter it."""
    size = np.sqrt(np.mean(np.square(profile_at_init(cfg).frames[0].picture["ten_size"]), axis=1))
    return size[-1] / size[0]


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
        picture = ["block", "digit"] if run == 0 else ["travel", "block"]
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


def test_a_scene_that_is_chosen_stands_in_the_address(small):
    page = says(opened(), {"scene": 4})
    assert declared(page)["scene"] == 4
    assert address(page) == {"scene": "4"}
    for nonsense in (0, 7, 10**30, True, "2", None, [3]):
        assert declared(says(page, {"scene": nonsense}))["scene"] == 4


def test_the_sentences_say_what_is_measured_before_training(small):
    said = texts(opened())
    (left,) = re.findall(r"after 20, 1/([\d,]+) is left:", said[1])
    assert 1 / int(left.replace(",", "")) == pytest.approx(grown(story.FADES), rel=0.05)
    each = float(re.search(r"each block keeps about ([\d.]+)% of it", said[1])[1]) / 100
    assert each**story.FADES.depth == pytest.approx(grown(story.FADES), rel=0.05)
    out = re.search(r"blocks ([\d,.]+) times as large", said[2])[1]
    assert float(out.replace(",", "")) == pytest.approx(grown(story.GROWS), rel=0.05)


@pytest.mark.full
def test_what_training_shows_is_said_once_it_has(small):
    page = opened()
    before = texts(page)
    assert "learns to recognise digits" in before[0]
    assert "overflow" not in before[2]
    assert "watch the loss" in before[4]
    tapes(page)
    after = texts(sound(page.run()))
    trace = trainer().tape(story.SHALLOW).trace()
    assert f"learns to recognise {trace.frames[-1].held_out_accuracy:.0%} of unseen digits" in after[0]
    fate = trainer().tape(story.GROWS).trace().divergence
    assert f"at step {fate.step} the numbers overflow" in after[2]
    merged = trainer().tape(story.MERGES).trace().frames[-1]
    assert f"after 12 steps it recognises {merged.held_out_accuracy:.0%} of unseen digits" in after[3]
    assert (
        f"2 plain blocks recognise {trace.frames[-1].held_out_accuracy:.0%}: digits this small do not need depth"
        in after[4]
    )


def test_what_came_of_the_reader_s_net_is_kept_for_who_has_watched_it(small):
    page = opened()
    tapes(page)  # somebody has trained them all
    last = declared(sound(page.run()))["scenes"][-1]
    assert last["text"].endswith("where does it stop learning?")
    trace = trainer().tape(runs(page)[5]).trace()
    assert "loss is" in last["after"] or f"overflow at step {trace.divergence.step}" in last["after"]


def told_after(loss, divergence=None):
    """What is said of the default net after a run with these losses."""
    rows = np.ones((len(loss), Columns(("x0", "b01"), ("b01",), 1).width), np.float32)
    rows[:, 0] = loss
    trace = trace_of(Columns(("x0", "b01"), ("b01",), 1), rows, [], divergence)
    return words.after(words.Seen(RunConfig(), None, SimpleNamespace(done=True, trace=lambda: trace)))


def test_what_training_has_made_of_the_reader_s_net_agrees_with_its_loss():
    assert told_after([0.005] * 30) == "After training, this net has learned: its loss is 0.005; chance is 2.30."
    assert (
        told_after([2.31] * 30) == "After training, this net is stuck: its loss is 2.31, no better than chance (2.30)."
    )
    assert "is stuck: its loss is 2.20, not below 90% of chance (2.30)." in told_after([2.2] * 30)
    assert "is lost: its loss is 37, worse than chance (2.30)." in told_after([37.0] * 30)
    assert told_after([2.3] * 3, Divergence(3, "loss")) == "In training its numbers overflow at step 3."


@pytest.mark.full
def test_no_scene_says_more_than_three_sentences(small):
    page = opened()
    tapes(page)
    for said in (*texts(page), *texts(sound(page.run()))):
        assert 1 <= len(re.findall(r"[.?](?: |$)", said)) <= 3


def test_the_reader_chooses_a_net_and_its_link_shows_it_again(small):
    page = opened()
    assert runs(page)[5] == RunConfig(depth=24)
    page = says(page, {"choice": {"depth": 7, "residual": True, "norm": False}})
    assert runs(page)[5] == RunConfig(depth=7, norm="none")
    assert declared(page)["scenes"][5]["choice"] == {"depth": 7, "most": 64, "residual": True, "norm": False}
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


def test_a_net_of_which_nothing_is_known_yet_is_told_of_without_numbers(small):
    unknown = [
        words.Seen(RunConfig(depth=depth, seed=99), None, trainer().tape(RunConfig(depth=depth, seed=99)))
        for depth in range(1, 7)
    ]
    for title, text in words.scenes(unknown, digit=3):
        assert title
        assert text.endswith((".", "?"))
        assert not re.search(r"\d/|times|%", text)
