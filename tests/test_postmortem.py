"""Why a run diverged: every rule on a run that triggers it."""

from dataclasses import replace

import numpy as np
import pytest

from models.insight.postmortem import RULES, postmortem
from models.spec import RunConfig
from models.trace import Columns, Divergence, trace_of
from models.training import Run

SHORT = {"depth": 16, "width": 32, "batch": 32, "steps": 60, "device": "cpu"}
DEEP = SHORT | {"depth": 32}
TRIGGERS = {
    "overflow at initialisation": [RunConfig.arranged("plain", init_gain=10.0, **DEEP), RunConfig(skip_scale=256.0, **SHORT)],
    "stream explodes over depth": [
        RunConfig.arranged("residual only", **DEEP),
        RunConfig(norm="none", **SHORT),
        RunConfig.arranged("plain", init="he", **DEEP),
    ],
    "gradient explodes over depth": [
        RunConfig(residual=False, placement="post-norm", norm="batch norm", lr=10.0, **(SHORT | {"depth": 64, "steps": 20}))
    ],
    "updates too large": [
        RunConfig(lr=1.0, **SHORT),
        RunConfig(net="transformer", task="copy", optimizer="sgd", lr=10.0, **(SHORT | {"depth": 3, "batch": 8})),
    ],
    "stream grows in training": [
        RunConfig.arranged("ReZero", lr=0.3, **SHORT),
        RunConfig.arranged("plain", lr=0.3, **(SHORT | {"depth": 4})),
    ],
}
CASES = [(kind, cfg) for kind, triggers in TRIGGERS.items() for cfg in triggers]


def trained(cfg: RunConfig, *, frames: bool = True) -> Run:
    run = Run(cfg, frames=frames)
    run.advance(cfg.steps)
    return run


def test_there_is_a_run_for_every_rule():
    assert list(TRIGGERS) == [rule.kind for rule in RULES]


@pytest.mark.parametrize(("kind", "cfg"), CASES)
def test_a_run_that_triggers_a_rule_is_explained_by_it(kind, cfg):
    found = postmortem(cfg, trained(cfg).trace())
    assert found.kind == kind
    assert found.first == next(rule.first for rule in RULES if rule.kind == kind)


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_only_where_an_update_is_as_long_as_its_gradient_is_it_said_to_be_too_large(optimizer):
    cfg = RunConfig.arranged("residual only", **DEEP, optimizer=optimizer)
    trace = trained(replace(cfg, optimizer="momentum")).trace()
    assert ("update is that much too large" in postmortem(cfg, trace).sentence) == (optimizer == "momentum")


def rows(*profiles: tuple[list[float], list[float]]):
    """A tape of two blocks that diverged at its last row, from (activation, gradient) by site."""
    columns = Columns(("x0", "b01", "b02"), ("b01", "b02"), 2)
    table = np.ones((len(profiles), columns.width), np.float32)
    for row, (act, grad) in zip(table, profiles, strict=True):
        row[columns.slices["act_rms"]], row[columns.slices["grad_rms"]] = act, grad
    return trace_of(columns, table, (), Divergence(len(profiles) - 1, "activation", "b02", 2))


def test_last_good_and_first_bad_step_are_told_by_site():
    trace = rows(([1, 2, 3], [1, 1, 1]), ([1, 2, 4], [1, 1, 1]), ([1, 2, np.inf], [np.nan, np.nan, 1]))
    found = postmortem(RunConfig(depth=2), trace)
    assert found.good_activation.tolist() == [2, 2, 1]
    assert found.bad_activation.tolist() == [-1, -1, 2]
    assert found.good_gradient.tolist() == [1, 1, 2]
    assert found.bad_gradient.tolist() == [2, 2, -1]


def test_a_site_that_was_never_finite_has_no_good_step():
    found = postmortem(RunConfig(depth=2), rows(([1, 50, np.inf], [np.nan, np.nan, np.nan])))
    assert found.kind == "overflow at initialisation"
    assert found.good_activation.tolist() == [0, 0, -1]
    assert found.bad_gradient.tolist() == [0, 0, 0]
    assert "1.7 decades per sublayer" in found.sentence


def test_a_divergence_that_no_rule_explains_is_said_to_be_unexplained():
    found = postmortem(RunConfig(depth=2), rows(([1, 1, 1], [1, 1, 1]), ([1, 1, 1], [1, 1, 1]), ([1, 1, np.nan], [1, 1, 1])))
    assert found.kind == "unexplained"
    assert found.first == ("lr", "clip")
