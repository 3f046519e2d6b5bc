"""The step beside a verdict: what is offered at a run's start, on its way, after it has failed, after it has learned."""

import pytest

from components.instruments.remedies import RemedySearch
from components.player.view import View
from components.playground import next_step as steps
from components.playground.next_step import NextStep, next_step
from components.shell.hidden_parts import HIDDEN
from components.shell.link import COMPARE, LESSONS
from models.insight.postmortem import Remedy, has_failed
from models.insight.verdict import verdict
from models.spec import RunConfig
from models.spec.budget import budget_refusal
from models.training import Run
from tests.app_page import SMALL, address, playground, trained
from tests.player_page import advance, declared, following, panels

SHORT = {"width": 16, "batch": 16, "steps": 40, "device": "cpu"}
# A run of each kind of verdict before training.
STARTS = {
    "healthy": {"depth": 4},
    "collapsed": {"depth": 24, "residual": False},
    "exploding": {"depth": 24, "norm": "none", "init_gain": 2.0},
    "vanishing": {"depth": 24, "norm": "none", "residual": False},
    "borderline": {"depth": 12, "residual": False, "norm": "none"},
    "inert": {"depth": 4, "branch_scale": 1e-4},
    "large updates": {"depth": 4, "optimizer": "adam", "lr": 0.1},
}


def run(**fields):
    cfg = RunConfig(**(SHORT | fields))
    made = Run(cfg)
    made.advance(cfg.steps)
    made.close()
    return cfg, made.trace()


@pytest.fixture
def tried(monkeypatch):
    """What the trainer has found that helps, for one test."""
    found = RemedySearch([])
    monkeypatch.setattr(steps, "remedy_search", lambda view: found)
    return found.offers


def taken(cfg: RunConfig, step: NextStep) -> bool:
    """Whether a step does one thing, and a legal one that fits."""
    if step.fields:
        return budget_refusal(RunConfig(**{**vars(cfg), **step.fields})) is None and step.page is None
    return step.page in (None, COMPARE, LESSONS)


@pytest.mark.parametrize("kind", STARTS)
def test_every_verdict_has_a_step_that_can_be_taken(kind, tried):
    cfg, trace = run(**STARTS[kind])
    assert verdict(cfg, trace, 0).kind == kind
    tried.append((Remedy("a residual", {"residual": True, "norm": "layer norm"}), "the loss falls"))
    for row in (0, 1, len(trace) - 1):
        step = next_step(View(cfg, trace, row), None)
        assert step.label
        assert taken(cfg, step)
        if has_failed(cfg, trace, row):
            assert step.label == "Try a residual"
            assert "With a residual the loss falls." in step.note
        elif row < cfg.steps:
            assert step == NextStep("Go on training" if row else "Now train it")
        else:
            assert step.fields or step.page


def test_a_norm_that_helps_is_tried_before_other_changes(tried):
    cfg, trace = run(depth=24, norm="none", init_gain=2.0)
    tried += [(Remedy("rate", {"lr": 0.001}), "helps"), (Remedy("layer norm", {"norm": "layer norm"}), "helps")]
    assert next_step(View(cfg, trace, len(trace) - 1), None).label == "Try layer norm"


def test_what_learned_is_asked_something_harder():
    cfg, trace = run(depth=4)
    end = View(cfg, trace, cfg.steps)
    assert next_step(end, None) == NextStep("Now cut the residuals", {"residual": False})
    cut = RunConfig(**SHORT, depth=4, residual=False)
    assert next_step(end, cut) == NextStep("Now try 8 blocks", {"depth": 8}), "it has just come from there"


@pytest.mark.parametrize(
    ("hidden", "label"),
    [
        ({"residual"}, "Now try 8 blocks"),
        ({"depth"}, "Now cut the residuals"),
        ({"residual", "depth"}, "Open a lesson"),
        ({"residual", "depth", "lessons"}, ""),
    ],
)
def test_no_hidden_control_is_offered(hidden, label, monkeypatch):
    monkeypatch.setattr(HIDDEN, "get", lambda: frozenset(hidden))
    cfg, trace = run(depth=4)
    assert next_step(View(cfg, trace, cfg.steps), None).label == label


def test_the_limits_refuse_no_step(monkeypatch, tried):
    cfg, trace = run(depth=4)
    monkeypatch.setattr(steps, "budget_refusal", lambda net: "too large" if net.depth > 4 or not net.residual else None)
    assert next_step(View(cfg, trace, cfg.steps), None).page == LESSONS
    bad, log = run(depth=24, norm="none", init_gain=2.0)
    tried.append((Remedy("norm", {"norm": "layer norm"}), "helps"))
    assert next_step(View(bad, log, len(log) - 1), None).page == LESSONS
    assert not next_step(View(RunConfig(**SHORT, depth=100), trace, 40), None).fields.get("depth")


@pytest.mark.usefixtures("trainer_in_this_process")
def test_a_press_does_what_the_step_says():
    page = playground(**SMALL)
    assert following(page) == "Now train it"
    start = declared(page)["start"]
    advance(page)
    assert declared(page)["start"] not in ("", start)
    trained(page)
    assert following(page) == "Now cut the residuals"
    advance(page)
    assert address(page)["residual"] == "false"
    assert not panels(playground(**SMALL, hide="verdict"), "headline")
