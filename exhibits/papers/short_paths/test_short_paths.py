"""Tests the result: A residual net is like an ensemble of short paths: take a block out, and it still works."""

from typing import Any

import numpy as np
import pytest

from exhibits.instruments.paths.answer import PathLengths
from models.papers.judging import HOLDS, NOT_HERE, PARTLY
from models.papers.papers import PAPERS
from tests.papers.kit import comes_out, lesions


def of_paths(residual: float, plain: float, length: int) -> str:
    values: dict[str, Any] = {f"residual, seed {at}": lesions(*[residual] * 16) for at in range(3)}
    values |= {f"plain, seed {at}": lesions(*[plain] * 8) for at in range(3)}
    sizes = np.eye(17)[length]
    values |= {f"paths, seed {at}": PathLengths(8, sizes, sizes, sizes, 1.0) for at in range(3)}
    return PAPERS["short-paths"].finding(values).answer


@pytest.mark.full
def test_what_is_measured_comes_out_as_told() -> None:
    comes_out("short-paths", HOLDS)


def test_an_ensemble_is_judged_by_what_is_left_without_a_block_and_by_the_paths() -> None:
    assert of_paths(0.89, 0.1, 5) == HOLDS
    assert of_paths(0.5, 0.1, 5) == PARTLY
    assert of_paths(0.89, 0.85, 5) == PARTLY
    assert of_paths(0.5, 0.85, 12) == NOT_HERE
