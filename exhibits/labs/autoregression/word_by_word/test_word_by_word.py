"""Word by word: each step takes what most often followed in the book."""

import re
from collections import Counter

import pytest

from exhibits.labs.autoregression.pieces.page import EXAMPLE
from exhibits.labs.autoregression.word_by_word.numbers import PIECES, WORD, WORDS, steps_from, units
from models.tasks.book import text
from tests.app_page import sound
from tests.labs_page import lab

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.mark.parametrize("look_back", [0, 1, 2])
def test_a_step_takes_what_most_often_followed(look_back):
    book = " ".join(text().split())
    before = ["", " and(?![A-Za-z'])", ", and(?![A-Za-z'])"][look_back]
    followed = Counter(re.findall(rf"{before}(?=({WORD.pattern}))" if before else WORD, book))
    (step,) = steps_from("the mountains, and", WORDS, look_back=look_back, most=1)
    assert step.count == followed.total()
    assert step.followed[0] == followed.most_common(1)[0]


def test_new_words_are_looked_back_past_and_pieces_lose_nothing():
    (step,) = steps_from("xyzzy", WORDS, look_back=4, most=1)
    assert step.last == ()
    for unit in (WORDS, PIECES):
        assert "".join(units(EXAMPLE, unit)) == EXAMPLE
        steps = steps_from("He said", unit, look_back=3, most=20)
        assert len(steps) == 20 or steps[-1].followed[0][0] == "."
        assert all(step.count >= sum(count for _, count in step.followed) for step in steps)


def test_the_sun_sets_word_by_word_on_the_page():
    page = sound(lab("autoregression").run())
    (shown,) = [one.value for one in page.code if "sun" in one.value]
    assert shown.startswith("The | ␣sun | ␣was | ␣setting | ␣over | ␣the | ␣mountains | , | ␣and | ␣the | ")
