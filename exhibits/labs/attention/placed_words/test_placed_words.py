"""A few words with their positions: rows that are added, and what each encoding makes of i - j."""

import numpy as np
import pytest
import torch

from exhibits.labs.attention.placed_words.numbers import pairwise_values, word_embeddings
from exhibits.labs.attention.placed_words.page import between_sentence, repeated_word
from models.nets.branches import Alibi, Rotary, bucket_indices, relative_distances
from models.spec import POSITIONS
from tests.app_page import by_link, charts, sound, words
from tests.drawn import drawn

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")
PLACES = np.arange(5)


def test_a_word_has_one_row_wherever_it_stands_and_other_words_have_others():
    rows = word_embeddings(["Pizza", "like", "pizza"], 4)
    np.testing.assert_array_equal(rows[0], rows[2])
    assert np.abs(rows[0] - rows[1]).max() > 0.1


def test_rows_of_sines_multiply_to_cosines_of_i_minus_j():
    expected = [[sum(np.cos((i - j) / 100**k) for k in range(2)) for j in PLACES] for i in PLACES]
    np.testing.assert_allclose(pairwise_values("sinusoidal", 5, 4), expected, atol=1e-12)


def test_a_query_is_turned_further_than_a_key_by_the_angle_between_them():
    """The app's own rotation of the first feature of a query or key of four, at each position."""
    turned = Rotary(5, 4).double()(torch.eye(4, dtype=torch.float64)[:1].expand(1, 1, 5, 4))[0, 0].numpy()
    own = np.degrees(np.angle(turned[:, 0] + 1j * turned[:, 2]))
    apart = (own[:, None] - own[None] - pairwise_values("rotary", 5, 4) + 180) % 360 - 180
    np.testing.assert_allclose(apart, 0, atol=1e-4)


def test_buckets_and_penalties_are_the_apps():
    np.testing.assert_array_equal(
        pairwise_values("relative bias", 5, 4), bucket_indices(relative_distances(5, "cpu"), bidirectional=True)
    )
    np.testing.assert_allclose(pairwise_values("alibi", 5, 4), Alibi(8)(5, False)[0])
    assert pairwise_values("none", 5, 4).size == 0


@pytest.mark.parametrize("kind", POSITIONS)
def test_the_page_adds_rows_or_shows_what_the_scores_get(kind):
    page = by_link("attention.py", part="positions", encoding=kind.replace(" ", "-"), words="we like, we like!")
    tokens = ["we", "like", "we", "like"]
    assert between_sentence(kind, tokens, 0) in words(page)
    assert "“we” has the same embedding row" in words(page)
    shown = {title: drawn(figure)["data"][0] for title, figure in charts(page).items() if drawn(figure)["data"]}
    if kind in ("sinusoidal", "learned"):
        parts = [np.array(shown[title]["customdata"]) for title in ("Embedding", "+ Position", "= What enters")]
        np.testing.assert_allclose(parts[0] + parts[1], parts[2], atol=1e-3)
    else:
        np.testing.assert_allclose(
            shown["What enters: the embedding"]["customdata"], word_embeddings(tokens, 4), atol=1e-3
        )
    assert shown["i - j"]["y"] == ["0 we", "1 like", "2 we", "3 like"]
    assert repeated_word(tokens) == "we"
    assert not repeated_word(["I", "like"])


@pytest.mark.parametrize("typed", ["", "!!! 12 ???", "pizza", "a b c d e f g"])
def test_words_that_do_not_fit_get_a_sentence_and_stay_typed(typed):
    page = by_link("attention.py", part="positions")
    page.text_input(key="attention_words_words").set_value(typed)
    sound(page.run())
    (problem,) = page.error
    assert "Type 2 to 6 words" in problem.value
    assert page.text_input(key="attention_words_words").value == typed
    assert drawn(charts(page)["i - j"])["data"][0]["x"] == ["0 I", "1 like", "2 pizza"]


@pytest.mark.parametrize("kind", ["sinusoidal", "relative bias"])
def test_a_thousand_positions_are_computed_and_a_part_of_them_is_drawn(kind):
    page = by_link("attention.py", part="positions", encoding=kind.replace(" ", "-"), positions="1024", features="64")
    assert page.slider(key="attention_positions_count").value == 1024
    table = "Table that is added" if kind == "sinusoidal" else "Added to the scores"
    (shade,) = drawn(charts(page)[table])["data"]
    assert shade["y"][:3] == ["0", "8", "16"]
    assert len(shade["y"]) == 128
    assert "One position in 8 is drawn" in words(page)
