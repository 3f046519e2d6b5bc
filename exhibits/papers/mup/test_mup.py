"""Tests the result: Under muP the first steps change activations by as much in a wide net as in a narrow one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from exhibits.papers.mup.numbers import coordinate_checks
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, contradicted

STANDARD, MUP, BY_DEPTH = "standard", "muP", "muP + 1/depth"


def of_checks(width: dict[str, float], depth: dict[str, float]) -> Callable[[dict[str, Any]], None]:
    """Sizes that are all these powers of width and of depth, by parametrisation."""

    def change(values: dict[str, Any]) -> None:
        values["numbers"] = {
            (field, name): replace(
                one,
                size=tuple(
                    tuple(tuple(tuple(at**power for _ in row) for row in seed) for seed in of)
                    for at, of in zip(one.values, one.size, strict=True)
                ),
            )
            for (field, name), one in values["numbers"].items()
            for power in [(width if field == "width" else depth)[name]]
        }

    return change


def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("mup", HOLDS)


def test_contrary_numbers_change_the_verdict() -> None:
    contradicted(
        "mup",
        [
            (HOLDS, of_checks({STANDARD: 0.5, MUP: 0.0, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
            (PARTLY, of_checks({STANDARD: 0.5, MUP: 0.2, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
            (PARTLY, of_checks({STANDARD: 0.5, MUP: -0.2, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
            (PARTLY, of_checks({STANDARD: -0.5, MUP: 0.0, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.5, BY_DEPTH: 0.0})),
            (PARTLY, of_checks({STANDARD: 0.5, MUP: 0.0, BY_DEPTH: 0.0}, {STANDARD: 0.5, MUP: 0.0, BY_DEPTH: 0.0})),
            (NOT_HERE, of_checks({STANDARD: 0.0, MUP: 0.5, BY_DEPTH: 0.0}, {STANDARD: 0.0, MUP: 0.0, BY_DEPTH: 0.5})),
        ],
    )


def test_slopes_of_the_recorded_sizes_are_those_of_numpy() -> None:
    said = PAPERS["mup"].judge.function({"numbers": coordinate_checks()})
    for field, site in (("width", -1), ("depth", -2)):
        for name, power in said.numbers[field].items():
            one = coordinate_checks()[field, name]
            assert len(one.size[0]) == 8
            sizes = [np.log([seed[4][site] for seed in of]).mean() for of in one.size]
            assert power == pytest.approx(np.polyfit(np.log(one.values), sizes, 1)[0])
