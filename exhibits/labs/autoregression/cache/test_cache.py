"""Keys and values that are kept."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from exhibits.labs.autoregression.net.page import configuration
from tests.app_page import sound, words
from tests.labs.small import small
from tests.labs_page import lab


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return small(lab("autoregression"), "book")


def test_keys_and_values_that_are_kept_cost_a_share_and_give_the_same_logits(page):
    cfg = configuration("book", "pre-norm", 1, 50)
    matrices = 12 * 64**2 + 64 * 75  # of one block of width 64 with four times as many hidden units, and the head
    assert cfg.expansion == 4
    assert f"takes {11 * matrices + 2 * 64 * 11**2:,} multiplications" in words(page)
    assert f"kept, {matrices + 2 * 64 * 11:,}:" in words(page)
    assert re.search(r"largest difference is (0|[\d.·]*10⁻¹[⁴⁵⁶])", words(page))
    page.text_input(key="autoregression_prompt_book").set_value("ab")
    assert "The text needs 3 tokens" in words(sound(page.run()))
