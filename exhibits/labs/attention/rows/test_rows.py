"""Rows of weights: what a softmax could have given, and the right values of widely copied slips."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.shell.text import vector
from exhibits.labs.attention.rows.page import row_sentence, slip_sentence
from models.labs.attention_examples import ROWS, WEIGHTS
from tests.app_page import sound
from tests.labs_page import lab


def test_weights_that_a_softmax_could_have_given_are_told_from_others():
    assert "as the weights of a softmax do" in row_sentence(np.array([0.25, 0.75]), WEIGHTS, 1.0)
    assert "no negative weight" in row_sentence(np.array([-0.5, 1.5]), WEIGHTS, 1.0)
    assert "They sum to 0.00, so they cannot come" in row_sentence(np.zeros(2), WEIGHTS, 1.0)


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    page = lab("attention")
    page.selectbox(key="attention_head_preset").select("X times W")
    return sound(page.run())


def test_columns_of_the_sentence_say_what_they_mean_and_the_slip_has_the_right_dot_products(page):
    keys = np.array(ROWS["Three scores"].printed_vectors)
    np.testing.assert_allclose(keys @ keys[0], [4.04, 8.44, 12.84])
    assert "the right ones are [4.04, 8.44, 12.84]" in slip_sentence(ROWS["Three scores"])
    own = sum(weight * row for weight, row in zip((0.02, 0.28, 0.7), keys, strict=True))
    assert f"gives the output {vector([1, 2, 3, 4])}; " in slip_sentence(ROWS["Token 1 as it is, over √4"])
    assert f"Its own weights and values give {vector(own)}." in slip_sentence(ROWS["Token 1 as it is, over √4"])
    np.testing.assert_allclose(own, [0.972, 2.044, 3.116, 4.188])
    page.selectbox(key="attention_head_preset").select("A sentence")
    sound(page.run())
    assert ["noun", "verb", "pronoun", "small word"] in [[*table.value.columns] for table in page.dataframe]
