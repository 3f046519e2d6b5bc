"""Start: the four cells as an experiment, what is said of them once it is over, and the net to break."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from components.player.feed import INKS, frame_json
from components.start.cells import CELLS
from components.start.words import FinishedRun, after_training, conclusion
from models.insight.outcome import BLOWS_UP, LEARNS, STAYS, outcome
from models.service.client import key_of
from models.spec import RunConfig
from models.tasks import open_task
from models.tasks.digits import HELD_OUT, images
from models.trace import Columns, Divergence, Frame, Trace, trace_of
from models.training import Run, profile_at_init
from tests.app_page import APP, PATIENCE, address, by_link, sound
from tests.player_page import declared, panels, runs, says

CHANCE = math.log(10)
SMALL = {"depth": 3, "width": 16, "batch": 16, "steps": 12}


def log(loss=(2.3,) * 30, *, size=1.0, cosine=0.1, diverged=None) -> Trace:
    """A log of one block: its losses, and before training the size and the likeness of ten digits after it."""
    columns = Columns(("x0", "b01"), ("b01",), 1)
    rows = np.ones((len(loss), columns.width), np.float32)
    rows[:, 0] = loss
    ten = {"ten_size": np.array([[1.0] * 10, [size] * 10]), "ten_cosine": np.array([0.0, cosine])}
    frame = Frame(0, np.array([0.0, cosine]), np.full(1, np.nan), 2.3, 0.9, picture=ten)
    return trace_of(columns, rows, [frame], diverged)


# --- outcome ---


@pytest.mark.parametrize(
    ("losses", "expected"),
    [((2.3,) * 30, STAYS), ((2.1,) * 30, STAYS), ((2.3,) * 10 + (2.0,) * 20, LEARNS), ((4.7,) * 30, BLOWS_UP)],
)
def test_the_mean_of_the_last_losses_says_what_became_of_a_run(losses, expected):
    assert outcome(log(losses), CHANCE) == expected


def test_a_run_that_diverged_blew_up_whatever_it_had_learned_before():
    assert outcome(log((0.1,) * 30, diverged=Divergence(29, "loss")), CHANCE) == BLOWS_UP


def test_the_conclusion_is_of_the_runs_as_they_came_out():
    both, norm = FinishedRun("D", RunConfig(), log((0.1,) * 30)), FinishedRun("C", RunConfig(), log(cosine=0.99))
    residual = FinishedRun("B", RunConfig(), log(size=77, diverged=Divergence(2, "branch")))
    neither = FinishedRun("A", RunConfig(), log(size=0.001))
    assert conclusion(neither, residual, norm, both) == (
        "**Only the net with both learns: 90% of unseen digits right.**"
    )
    assert conclusion(neither, residual, replace(norm, trace=log((0.1,) * 30)), both) == "**2 of 4 learn: C; D.**"


# --- ten digits ---


def test_the_ten_digits_are_held_out_one_of_each_and_answered_by_the_net_itself():
    run = Run(RunConfig(**SMALL))
    run.advance(13)
    pixels, labels = images()
    for frame in run.trace().frames:
        ten = frame.picture["ten"]
        assert ten.shape == (10, 8, 8)
        for digit, image in enumerate(ten):
            first = np.flatnonzero(labels[-HELD_OUT:] == digit)[0]
            np.testing.assert_array_equal(image.ravel(), pixels[-HELD_OUT:][first])
    # Measured anew: the net after its last update, on those ten alone.
    x, y = open_task(run.cfg, "cpu").held_out
    chosen = [int(np.flatnonzero(y[:, -1] == digit)[0]) for digit in range(10)]
    run.model.eval()
    with torch.no_grad():
        answers = run.model(x[chosen])[:, -1].argmax(-1).tolist()
    last = run.trace().frames[-1]
    assert last.step == SMALL["steps"]
    assert last.picture["ten_guess"] == answers


def test_the_net_before_training_answers_already_as_its_first_frame_does():
    cfg = RunConfig(**SMALL)
    run = Run(cfg)
    run.advance(1)
    (before,), first = profile_at_init(cfg).frames, run.trace().frames[0]
    assert before.picture["ten_guess"] == first.picture["ten_guess"]
    assert frame_json(cfg, before)["ten"] == frame_json(cfg, first)["ten"]
    assert frame_json(cfg, before)["picture"] is None  # the chart of its mistakes waits until somebody asks
    assert "ten" not in profile_at_init(RunConfig(**SMALL | {"task": "xor"})).frames[0].picture


def test_digits_go_to_the_browser_a_letter_a_pixel_and_no_number_is_no_answer():
    frame = profile_at_init(RunConfig(**SMALL)).frames[0]
    sent = frame_json(RunConfig(**SMALL), frame)["ten"]
    back = [[INKS.index(letter) for letter in image] for image in sent["images"]]
    np.testing.assert_array_equal(back, frame.picture["ten"].reshape(10, 64))
    lost = replace(frame, picture=frame.picture | {"ten_confidence": [math.nan] * 10})
    assert frame_json(RunConfig(**SMALL), lost)["ten"]["answers"] == [None] * 10


# --- the page ---


@pytest.fixture
def short(monkeypatch):
    """The four nets, small and soon over."""
    for cell in CELLS:
        monkeypatch.setitem(cell.fields, "depth", 20)
        for name, value in {"width": 16, "batch": 16, "steps": 12}.items():
            monkeypatch.setitem(cell.fields, name, value)


@pytest.fixture
def start(trainer_in_this_process, short):
    return sound(AppTest.from_file(APP, default_timeout=PATIENCE).run())


def picture(page):
    (paths,) = panels(page, "paths", "four").values()
    return paths


def test_the_four_cells_stand_in_one_order_everywhere(start):
    shown = declared(start, "four")
    assert [(cell.cfg.residual, cell.cfg.norm != "none") for cell in CELLS] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]
    assert [run["link"] for run in shown["runs"]] == [key_of(cell.cfg) for cell in CELLS]
    assert {panel["top"] for panel in panels(start, "curve", "four").values()} == {3.5}
    assert list(panels(start, "outcome", "four")) == picture(start)["labels"] == [cell.title for cell in CELLS]


# --- the net to break ---

PLAIN = {"residual": False, "norm": "none"}


def opened(**query):
    return by_link("start.py", **query)


def chosen(page, **net):
    return says(page, {"choice": {"depth": 32, "residual": True, "norm": True, "out": [], "asked": 1} | net}, "net")


def shown(page) -> RunConfig:
    (cfg,) = runs(page, "net")
    return cfg


@pytest.mark.usefixtures("trainer_in_this_process", "short")
def test_a_chosen_net_is_in_its_link():
    page = chosen(opened(), depth=7, residual=False, norm=False, out=[2, 3])
    cfg = RunConfig(depth=7, **PLAIN, overrides=((2, "identity", True), (3, "identity", True)))
    assert shown(page) == cfg
    assert address(page) == cfg.to_query() | {"part": "break"}
    assert shown(opened(**address(page))) == cfg
    (stack,) = panels(page, "stack", "net").values()
    drawn = {"depth": 7, "residual": False, "norm": False, "out": [2, 3], "own": None}
    assert stack["net"] == drawn | {"most": 40, "heard": 1, "kind": "layer norm"}
    assert [block["out"] for block in stack["blocks"]] == [False, True, True, False, False, False, False]
    assert address(chosen(page)) == {"part": "break"}


NOT_NETS = [
    {"depth": 0},
    {"depth": 41},
    {"depth": True},
    {"residual": "yes"},
    {"norm": None},
    {"out": 3},
    {"out": [33]},
    {"out": [0]},
    {"out": [[1]]},
    {"out": ["1"]},
    {"out": [1] * 33},
    {"asked": None},
]


@pytest.mark.usefixtures("trainer_in_this_process", "short")
def test_what_is_no_net_changes_nothing():
    page = opened()
    for net in NOT_NETS:
        page = chosen(page, **net)
        assert shown(page) == RunConfig(), net
    assert shown(says(page, {"choice": [7]}, "net")) == RunConfig()


@pytest.mark.parametrize(
    ("link", "net"),
    [
        ({"depth": "100000"}, {"depth": 40}),
        ({"depth": "0"}, {"depth": 1}),
        ({"depth": "x"}, {}),
        ({"norm": "false"}, {"norm": "none"}),
        ({"norm": "true", "residual": "false"}, {"residual": False}),
        ({"norm": "rms norm"}, {}),
        ({"overrides": "2.norm.none,3.identity.true"}, {"overrides": ((3, "identity", True),)}),
        (
            {"depth": "128", "overrides": "39-60.identity.true"},
            {"depth": 40, "overrides": ((39, "identity", True), (40, "identity", True))},
        ),
        ({"overrides": "33.identity.true"}, {}),
        ({"width": "8", "lr": "9", "steps": "5000"}, {}),
    ],
)
@pytest.mark.usefixtures("trainer_in_this_process", "short")
def test_a_link_becomes_a_net_that_is_built_here(link, net):
    assert shown(opened(**link)) == RunConfig(**net)


@pytest.mark.usefixtures("trainer_in_this_process", "short")
def test_a_hidden_control_hides_the_net():
    for hidden, is_there in (("verdict", True), ("residual", False), ("overrides", False)):
        page = opened(hide=hidden)
        assert bool(panels(page, "stack", "net")) == is_there
    (stack,) = panels(opened(hide="verdict"), "stack", "net").values()
    assert (stack["before"], stack["after"]) == ("", "")


@pytest.mark.parametrize(
    ("trace", "line"),
    [
        (log((2.3,) * 300), "Stuck: after 300 steps, 90% of unseen digits are right."),
        (log((0.1,) * 300), "Learned: after 300 steps, 90% of unseen digits are right."),
        (log((9.3,) * 300), "Lost: loss 9.3, where guessing has 2.3."),
        (
            log((0.1,) * 30, diverged=Divergence(29, "loss")),
            "Diverged at step 29: the numbers overflow first in the loss.",
        ),
    ],
)
def test_one_line_says_what_training_made_of_it(trace, line):
    assert after_training(RunConfig(), trace) == line
    assert len(line.split()) <= 12
