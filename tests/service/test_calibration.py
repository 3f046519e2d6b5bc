"""How fast this machine is: measured by the worker when it starts, and used by every estimate of the pages."""

from contextlib import closing

import pytest

from models.service import calibration
from models.service.calibration import MAX_SLOWDOWN, MIN_SLOWDOWN, measure_machine
from models.service.client import Trainer
from models.spec import RunConfig
from models.spec.budget import Machine, budget_refusal, reference_step_cost, set_machine, step_seconds
from tests.waiting import until


@pytest.mark.parametrize(("fixed", "growing"), [(2.0, 3.0), (0.7, 1.5), (100.0, 1.0)])
def test_a_machine_is_found_from_the_steps_of_two_nets(monkeypatch, fixed, growing):
    def step(cfg):
        parts, sizes = reference_step_cost(cfg)
        return fixed * parts + growing * sizes

    monkeypatch.setattr(calibration, "_step_seconds", step)
    assert measure_machine() == Machine(min(fixed, MAX_SLOWDOWN), growing)


def test_a_real_measurement_is_within_its_bounds():
    found = measure_machine()
    assert MIN_SLOWDOWN <= found.fixed <= MAX_SLOWDOWN
    assert MIN_SLOWDOWN <= found.growing <= MAX_SLOWDOWN


def test_estimates_and_refusals_are_for_the_machine_that_was_found():
    cfg = RunConfig(depth=64, width=128, batch=64)
    before = step_seconds(cfg)
    parts, sizes = reference_step_cost(cfg)
    set_machine(Machine(fixed=1.0, growing=50.0))
    assert step_seconds(cfg) == pytest.approx(parts + 50 * sizes)
    assert "one step would take" in budget_refusal(cfg)
    set_machine(Machine())
    assert step_seconds(cfg) == before
    assert budget_refusal(cfg) is None


@pytest.mark.full
def test_the_worker_measures_when_it_starts_and_the_pages_hear_of_it(monkeypatch):
    told: list[Machine] = []
    monkeypatch.setitem(Trainer._receive.__globals__, "set_machine", told.append)
    with closing(Trainer()):
        until(lambda: told, "what the worker has measured")
    assert len(told) == 1
    assert MIN_SLOWDOWN <= told[0].fixed <= MAX_SLOWDOWN
