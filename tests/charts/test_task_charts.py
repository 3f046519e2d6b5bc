"""What a net says, as figures: every class, every digit and every symbol that the picture holds."""

import numpy as np
import pytest

from components.charts.colour import RED, RIGHT
from components.charts.tasks import CELL_COLOURS, decision_map, digit_mistakes, sequence_table
from models.spec import RunConfig
from models.training import Run
from tests.drawn import drawn


@pytest.fixture(scope="module")
def pictures():
    """A real picture of every kind, of small nets at their start."""
    small = {"depth": 1, "width": 16, "steps": 1, "batch": 8}
    nets = {task: "transformer" if task in ("copy", "sort", "recall") else "mlp" for task in TASKS_SHOWN}
    taken = {}
    for task, net in nets.items():
        run = Run(RunConfig(task=task, net=net, **small))
        run.advance(1)
        taken[task] = run.frames[0].picture
    return taken


TASKS_SHOWN = ("spiral", "xor", "digits", "copy", "sort", "recall")
CHART_OF = {"spiral": decision_map, "xor": decision_map, "digits": digit_mistakes} | dict.fromkeys(
    ("copy", "sort", "recall"), sequence_table
)


@pytest.mark.parametrize("task", TASKS_SHOWN)
def test_plotly_and_json_accept_the_picture_of_a_real_net(pictures, task):
    figure = CHART_OF[task](pictures[task])
    figure = drawn(figure)
    assert figure["data"]


@pytest.mark.parametrize(("task", "classes"), [("spiral", 3), ("xor", 2)])
def test_the_plane_has_a_region_and_marks_for_every_class(pictures, task, classes):
    figure, picture = decision_map(pictures[task]), pictures[task]
    regions = [trace for trace in figure["data"] if trace["type"] == "heatmap"]
    points = [trace for trace in figure["data"] if trace["type"] == "scatter"]
    assert [region["name"] for region in regions] == [f"says {one}" for one in range(classes)]
    assert [mark["name"] for mark in points] == [f"class {one}" for one in range(classes)]
    assert sum(len(mark["x"]) for mark in points) == len(picture["labels"])
    assert len({mark["marker"]["symbol"] for mark in points}) == classes
    assert len({mark["marker"]["color"] for mark in points}) == classes


def test_every_place_of_the_plane_belongs_to_the_class_that_the_net_says(pictures):
    picture = pictures["spiral"]
    for one, region in enumerate(decision_map(picture)["data"][:3]):
        strength = np.array(region["z"], float)
        assert np.array_equal(np.isfinite(strength), picture["grid"] == one)
        inside = picture["grid"] == one
        assert strength[inside] == pytest.approx(picture["confidence"][inside], rel=6e-4)


def test_a_class_without_held_out_points_still_has_its_region():
    picture = {
        "grid": np.array([[0, 2], [0, 2]]),
        "confidence": np.full((2, 2), 0.9),
        "axis": np.array([-1.0, 1.0]),
        "extent": [-1, 1],
        "points": np.zeros((1, 2)),
        "labels": np.array([0]),
    }
    names = [trace["name"] for trace in drawn(decision_map(picture))["data"]]
    assert names == ["says 0", "says 1", "says 2", "class 0"]


def test_every_mistaken_digit_has_its_pixels_and_says_answer_and_truth():
    mistakes = np.arange(6 * 64).reshape(6, 8, 8) % 17
    picture = {"mistakes": mistakes, "truth": [3, 8, 1, 4, 9, 7], "guess": [5, 3, 7, 9, 4, 1]}
    picture["confidence"] = [0.991, 0.9, 0.8, 0.7, 0.6, 0.5]
    figure = digit_mistakes(picture)
    assert [np.array(trace["z"]).tolist() for trace in figure["data"]] == mistakes.tolist()
    captions = [note["text"] for note in figure["layout"]["annotations"]]
    assert captions[0] == "Said 5, is 3"
    assert captions[-1] == "Said 1, is 7"
    assert len(captions) == 6


def _copied(wrong_at: int) -> dict[str, np.ndarray]:
    symbols = np.arange(16)
    given = np.concatenate((symbols, symbols))
    target = np.full(32, -1)
    target[15:31] = symbols
    guess = target.copy()
    guess[15 + wrong_at] = 9
    return {"input": given[None], "target": target[None], "guess": guess[None]}


def test_a_wrong_answer_is_marked_by_colour_and_by_a_cross():
    table = sequence_table(_copied(wrong_at=4))["data"][0]
    kinds, texts = table["z"][-1], table["text"][-1]
    colours = dict(table["colorscale"])
    assert colours[kinds[4] / (len(CELL_COLOURS) - 1)] == RED
    assert "9" in texts[4]
    assert "✗" in texts[4]
    others = [at for at in range(16) if at != 4]
    assert {colours[kinds[at] / (len(CELL_COLOURS) - 1)] for at in others} == {RIGHT}
    assert [texts[at] for at in others] == [str(at) for at in others]


def test_a_table_shows_every_question_target_and_answer_of_its_sequences(pictures):
    for task in ("sort", "recall"):
        picture = pictures[task]
        figure = sequence_table(picture)
        table = figure["data"][0]
        names = figure["layout"]["yaxis"]["ticktext"]
        for at in range(2):
            texts = table["text"][at * len(names) // 2 : (at + 1) * len(names) // 2]
            asked = picture["target"][at] >= 0
            assert [text for text in texts[-2] if text] == [str(value) for value in picture["target"][at][asked]]
            answers = [text.removesuffix("<br>✗") for text in texts[-1] if text]
            assert answers == [str(value) for value in picture["guess"][at][asked]]
            crosses = sum("✗" in text for text in texts[-1])
            assert crosses == (picture["guess"][at] != picture["target"][at])[asked].sum()
