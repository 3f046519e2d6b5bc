"""Numbers and sentences are those of before: of twenty runs, as `runs` has recorded them."""

import json

import numpy as np
import pytest

from tests.golden.runs import FILE, RUNS, SENTENCES, measured, numbers, processor, recorded, sentences

KEPT = {name.rpartition("/")[::2]: array for name, array in np.load(FILE).items()}
SAID = json.loads(SENTENCES.read_text(encoding="utf-8"))


def kept(name: str) -> dict[str, np.ndarray]:
    return {part: array for (run, part), array in KEPT.items() if run == name}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_has_the_numbers_of_before(name: str) -> None:
    same = str(KEPT["", "processor"]) == processor()
    for part, array in numbers(measured(RUNS[name])).items():
        if same:
            np.testing.assert_array_equal(array, kept(name)[part], err_msg=part)
        else:  # another processor rounds otherwise
            np.testing.assert_allclose(array, kept(name)[part], rtol=0.02, atol=1e-3, err_msg=part)


@pytest.mark.parametrize("name", RUNS)
def test_the_same_is_said_of_a_run(name: str) -> None:
    assert sentences(RUNS[name], recorded(RUNS[name], kept(name))) == SAID[name]
