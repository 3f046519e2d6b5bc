"""A prompt continued: the candidates, why it stopped, and the buttons."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from components.charts.tokens import candidates_chart
from components.labs.prompts import join_text
from exhibits.labs.autoregression.net.page import EXAMPLES, configuration
from exhibits.labs.autoregression.prompt.page import stop_sentence
from models.spec import TASKS
from tests.app_page import charts, press, sound, words
from tests.labs.small import chosen, small, text
from tests.labs_page import lab
from tests.player_page import panels, rests


@pytest.mark.parametrize(
    ("stopped", "said", "expected"),
    [
        ("length", ["a", "b"], "Stopped at the length limit."),
        ("end", ["."], 'Stopped at the end symbol: token 1 is "."; 2 were'),
        ("end", ["a", "."], "Stopped at the length limit and the end symbol"),
        ("full", ["1"], "a sequence of this task has 32 tokens"),
        ("unasked", [], "Type the next token yourself"),
        ("not finite", [], "not finite"),
    ],
)
def test_the_sentence_says_which_of_them_stopped_it(stopped, said, expected):
    assert expected in stop_sentence(stopped, len(said), 2, ".", 32)


def test_a_text_is_characters_in_a_row_and_a_sequence_symbols_with_spaces_between():
    assert join_text(configuration("book", "pre-norm", 1, 50), "Call ", ["m", "e"]) == "Call me"
    assert join_text(configuration("copy", "pre-norm", 1, 50), " 3  1 ", ["4"]) == "3 1 4"


def test_the_candidates_are_the_likeliest_and_the_chosen_one_however_unlikely():
    p = np.arange(40.0) / 780
    bars = candidates_chart("Candidates", [str(at) for at in range(40)], p, p**2 / (p**2).sum(), 3)["data"]
    assert bars[0]["text"] == [*map(str, range(39, 27, -1)), "3"]
    assert bars[0]["y"][0] == pytest.approx(0.05)
    assert [bar["name"] for bar in bars] == ["net's probability", "at the temperature"]


@pytest.fixture
def page(trainer_in_this_process) -> AppTest:
    return small(lab("autoregression"), "book")


def test_the_page_shows_the_candidates_before_anything_is_said_or_trained(page):
    assert text(page) == "Call me Ish"
    assert "This is the prompt. Press Next token or Generate." in words(page)
    assert len(chosen(page)) == 12
    assert "Earlier tokens never change" in words(page)
    assert {"Change by token", "Lens by site and token", "Attention by block"} <= set(charts(page))
    assert panels(page, "chart")["Loss of the transformer"]["sentence"] == "loss"


def test_generate_says_as_many_as_asked_for_and_the_same_as_one_by_one(page):
    page.number_input(key="autoregression_temperature").set_value(1.0)
    page.number_input(key="autoregression_length").set_value(6)
    sound(page.run())
    press(page, "Generate")
    sound(page.run())
    many = text(page)
    assert len(many) == len("Call me Ish") + 6
    assert "At step 0 the net wrote 6 tokens after the prompt. Stopped at the length limit." in words(page)
    press(page, "Back to the prompt")
    for _ in range(6):
        press(page, "Next token")
    assert text(page) == many
    page.selectbox(key="autoregression_looked_at_7").select_index(0)
    sound(page.run())
    assert f'"{many[11].replace(" ", "␣")}" is chosen' in words(page).replace("\n", "↵")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_puts_its_prompt_and_settings_into_the_controls(page, name):
    example = EXAMPLES[name]
    page.selectbox(key="autoregression_example").select(name)
    sound(page.run())
    page.selectbox(key="autoregression_example").select(next(one for one in EXAMPLES if one != name))
    sound(page.run())
    page.selectbox(key="autoregression_example").select(name)
    sound(page.run())
    assert text(page) == example.prompt
    assert page.number_input(key="autoregression_length").value == example.length
    assert page.selectbox(key=f"autoregression_end_{example.task}").value == example.end
    assert TASKS[example.task].vocabulary


def test_a_text_is_of_the_net_that_wrote_it_and_another_step_begins_at_the_prompt(page):
    press(page, "Next token")
    own, analysed = text(page), charts(page)["Attention by block"]
    rests(page)
    assert text(page) == "Call me Ish"
    assert "This is the prompt." in words(page)
    assert charts(page)["Attention by block"] != analysed
    press(page, "Next token")
    assert "At step 50 the net wrote 1 token after the prompt." in words(page)
    assert re.search(r"becomes [\d.]+%\. .*measured.* at step 50\.", words(page))
    rests(page, 0)
    assert text(page) == own
    assert charts(page)["Attention by block"] == analysed
