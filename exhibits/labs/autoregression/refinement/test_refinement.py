"""A prediction block by block, at every position and head."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.app_page import charts, sound, words
from tests.labs.small import small
from tests.labs_page import lab
from tests.player_page import rests


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return small(lab("autoregression"), "book")


def test_training_changes_what_the_net_says_and_every_position_and_head_can_be_looked_at(page):
    before = charts(page)["Candidates"]["data"][0]["y"]
    rests(page)
    assert "At step 50 the right token gets" in words(page)
    assert charts(page)["Candidates"]["data"][0]["y"] != before
    shown = charts(page)["Attention by block"]
    page.selectbox(key="autoregression_head").select("head 2")
    sound(page.run())
    assert charts(page)["Attention by block"] != shown
    page.selectbox(key="autoregression_position").select_index(2)
    sound(page.run())
    assert 'At token 3, "l"' in words(page)
