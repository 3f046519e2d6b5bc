"""A replaced token, and a net that goes on after the slip."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.app_page import sound, words
from tests.labs.small import small
from tests.labs_page import lab, until


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return small(lab("autoregression"), "book")


def test_a_replaced_token_moves_later_logits_alone(page):
    assert "With the causal mask, 0 of the 5 earlier positions change" in words(page)
    assert "without it 5 of the 5 earlier ones do too" in words(page)
    page.selectbox(key="autoregression_replaced_book").select_index(8)
    page.text_input(key="autoregression_replacement_book").set_value("u")
    page.toggle(key="autoregression_corrects").set_value(True)
    sound(page.run())
    until(page, lambda: "is still at position 9" in words(page))
    assert page.code[1].value.startswith("Call me ush; no, I mean ")
    assert len(page.code[1].value) == len("Call me ush; no, I mean ") + 20


@pytest.mark.parametrize(
    ("typed", "problem"), [("ab", "exactly one character"), ("", "exactly one"), ("é", "exactly one")]
)
def test_what_is_no_token_gets_a_sentence_and_stays_typed(page, typed, problem):
    page.text_input(key="autoregression_replacement_book").set_value(typed)
    sound(page.run())
    assert problem in words(page)
    assert page.text_input(key="autoregression_replacement_book").value == typed
    page.text_input(key="autoregression_replacement_book").set_value("m")
    assert "is already there" in words(sound(page.run()))
