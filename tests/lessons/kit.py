"""What a lesson's nets show, and what its challenge takes."""

from dataclasses import replace
from typing import Any

import numpy as np

from models.lessons.challenges import check, rule_violations
from models.lessons.lessons import LESSONS
from models.spec import RunConfig
from models.trace import Trace
from models.training import Run
from tests.traces import finished


def shows(key: str, option: str, said: str) -> None:
    """The nets of a lesson decide for this option, and its sentence has these words and the losses."""
    lesson = LESSONS[key]
    nets = {name: finished(cfg) for name, cfg in lesson.nets.items()}
    finding = lesson.finding(nets)
    assert finding.answer == option
    assert finding.answer in lesson.options
    assert said in finding.sentence
    for name, trace in nets.items():
        end = f"{name}: {np.mean(trace.loss[-20:]):.3g}"
        assert (f"“{name}” diverged at step {trace.divergence.step}." if trace.divergence else end) in finding.sentence


def solved_by(key: str, solution: dict[str, Any] | None = None, *, near_miss: dict[str, Any]) -> None:
    """A challenge is passed by the teacher's key, and by its numbers not by other fields that keep to the rules."""
    challenge = LESSONS[key].challenge
    solution = solution or dict(LESSONS[key].teaching.key)
    solved, missed = (replace(challenge.base, **change) for change in (solution, near_miss))
    assert rule_violations(challenge, missed) == ()
    passed = check(challenge, solved, finished(solved))
    assert passed.passed, passed.missing
    failed = check(challenge, missed, finished(missed))
    assert not failed.passed
    assert failed.missing


def before_training(*, init: str = "fan-in", **fields: Any) -> Trace:
    one = Run(RunConfig(steps=1, init=init, **fields))
    one.advance(1)
    return one.trace()
