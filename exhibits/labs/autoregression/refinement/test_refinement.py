"""A prediction block by block, at every position and head."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from exhibits.labs.autoregression.refinement.page import attention_map
from tests.app_page import charts, sound, words
from tests.drawn import all_drawn
from tests.labs.small import small
from tests.labs_page import lab
from tests.player_page import rests
from tests.tables import table_of


def test_plotly_json_and_the_table_accept_every_chart():
    tokens = ["a", "\n", "."]
    for figure in all_drawn([attention_map(tokens, np.full((2, 3), share), 1) for share in (0.5, np.nan)]):
        table_of(figure)


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
