"""Steps from token to token, in a recurrent cell and in attention."""

import numpy as np

from exhibits.labs.attention.recurrence.numbers import sequential_steps
from exhibits.labs.attention.recurrence.page import waiting_graph


def test_the_graphs_have_a_line_for_everything_that_is_waited_for():
    chain, all_at_once = (waiting_graph(sequential_steps(6, recurrent=kind), recurrent=kind) for kind in (True, False))
    assert chain["data"][0]["x"].count(None) == 6 + 5
    assert all_at_once["data"][0]["x"].count(None) == 6 * 7 // 2
    assert chain["data"][1]["customdata"][6:] == [1, 2, 3, 4, 5, 6]
    assert all_at_once["data"][1]["customdata"][6:] == [1] * 6


def test_a_recurrent_cell_needs_n_steps_and_attention_one():
    assert sequential_steps(7, recurrent=True).max() == sequential_steps(7, recurrent=True)[6, 0] == 7
    assert set(sequential_steps(7, recurrent=False)[np.tril_indices(7)]) == {1}
    assert (sequential_steps(7, recurrent=True)[np.triu_indices(7, 1)] == -1).all()
