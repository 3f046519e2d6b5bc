"""Numbers that are not measured decide no claim: each number of each claim as NaN, and nets that diverged."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from components.experiments import deck
from models.claims.claims import CLAIMS
from models.claims.judging import UNDECIDED
from models.experiment import Finding, Trained
from models.trace import Divergence, Trace
from tests.app_page import words
from tests.claims.kit import LONG, ending, gathered, short
from tests.claims.test_claims import opened, ran
from tests.experiments import value

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
NOT_LEARNED = ("norm-alone", "warm-up", "one-chart")  # claims about whether nets learn, which a diverged one does not
DIVERGED = Divergence(step=7, quantity="loss")


def measured(key: str) -> dict[str, Any]:
    """The numbers of a claim; runs that are too long for a test end at a low loss."""
    if key not in LONG:
        return dict(gathered(key))
    return {n: ending(0.1) if isinstance(s, Trained) else value(s) for n, s in CLAIMS[key].sources.items()}


def without_numbers(one: Any) -> Any:
    """NaN in place of every fraction within."""
    if is_dataclass(one):
        return replace(one, **{f.name: without_numbers(getattr(one, f.name)) for f in fields(one)})  # type: ignore[type-var]
    if isinstance(one, Mapping):
        return {name: without_numbers(part) for name, part in one.items()}
    if isinstance(one, tuple | list):
        return type(one)(without_numbers(part) for part in one)
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.full_like(one, np.nan)
    return np.nan if isinstance(one, float | np.floating) else one


def spoilt(values: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The numbers with one field of one source as NaN, for each."""
    for name, one in values.items():
        for field in one if isinstance(one, dict) else [field.name for field in fields(one)]:
            part = without_numbers(one[field] if isinstance(one, dict) else getattr(one, field))
            changed = one | {field: part} if isinstance(one, dict) else replace(one, **{field: part})
            yield f"{name}: {field}", values | {name: changed}


@pytest.mark.parametrize("key", CLAIMS)
def test_a_number_that_is_nan_decides_no_claim(key: str) -> None:
    claim, values = CLAIMS[key], measured(key)
    whole = claim.finding(values)
    undecided = []
    for what, changed in spoilt(values):
        found = claim.finding(changed)
        assert "nan" not in found.sentence.split(), what
        if found.answer == UNDECIDED:
            undecided.append(what)
            assert found.sentence.startswith("Not measured: "), what
        else:
            assert (found.answer, found.sentence) == (whole.answer, whole.sentence), what  # it counts for nothing
    assert undecided
    assert claim.finding({name: without_numbers(one) for name, one in values.items()}).answer == UNDECIDED


@pytest.mark.parametrize("key", ["sandwich-is-post-norm", "deepnorm-is-alpha", "final-norm", "rms-norm", "log-normal"])
def test_the_quotient_of_two_overflows_decides_no_claim(key: str) -> None:
    def overflowed(one: Any) -> Any:
        if isinstance(one, dict):
            return {name: overflowed(part) for name, part in one.items()}
        if is_dataclass(one):
            return replace(one, **{f.name: overflowed(getattr(one, f.name)) for f in fields(one)})  # type: ignore[type-var]
        if isinstance(one, tuple):
            return tuple(map(overflowed, one))
        if isinstance(one, float):
            return np.inf
        return np.full_like(one, np.inf) if isinstance(one, np.ndarray) and one.dtype.kind == "f" else one

    with np.errstate(invalid="ignore"):
        values = {name: overflowed(one) for name, one in measured(key).items()}
        assert CLAIMS[key].finding(values).answer == UNDECIDED


def diverged(key: str, trace: Trace) -> Iterator[tuple[str, Finding]]:
    """Each trained net of a claim by name, and what is found if that one diverged as this trace did."""
    for name, one in measured(key).items():
        if isinstance(one, Trace):
            yield name, CLAIMS[key].finding(measured(key) | {name: trace})


@pytest.mark.parametrize("key", ["one-learning-rate", "depth-without-activation", *NOT_LEARNED])
def test_the_step_of_a_divergence_stands_beside_the_verdict(key: str) -> None:
    rows = short("pre-norm")
    trace = replace(rows, loss=np.where(rows.step < DIVERGED.step, 0.1, np.nan), divergence=DIVERGED)
    found = dict(diverged(key, trace))
    for name, said in found.items():
        assert "diverged at step 7" in said.sentence, name
        assert (said.answer == UNDECIDED) == (key not in NOT_LEARNED), name
    assert found


def test_a_divergence_after_the_rows_judged_counts_nothing() -> None:
    for key in ("deepnorm-is-alpha", "zero-gates"):
        values = measured(key)
        traces = {name: one for name, one in values.items() if isinstance(one, Trace)}
        late = values | {name: replace(one, divergence=Divergence(2, "loss")) for name, one in traces.items()}
        assert CLAIMS[key].finding(late).answer == CLAIMS[key].finding(values).answer


def test_a_guess_at_an_undecided_claim_is_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {name: without_numbers(one) for name, one in measured("by-hand").items()}
    monkeypatch.setattr(deck, "source_values", lambda *_: (False, values))
    page = ran(opened("by-hand"), "by-hand", "false")
    assert "**The claim is undecided.** Not measured: a number that decides it is not finite." in words(page)
    assert "You were right" not in words(page)
    assert "Not quite" not in words(page)
