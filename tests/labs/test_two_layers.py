"""Two layers on a sentence: torch's own attention, what the second head decides, and draws of dice."""

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from components.labs.attention.scaling import dice_sentence, histogram
from components.labs.attention.two_layers import layers_sentence
from models.labs.attention import dice_draws, dice_probabilities, score_draws
from models.labs.two_layers import ADJECTIVES, DECISION, IT, LAST_WORDS, NOUNS, WORD_FEATURES, two_layers, words
from tests.app_page import by_link, charts, sound
from tests.app_page import words as read
from tests.drawn import drawn

pytestmark = pytest.mark.usefixtures("trainer_in_this_process")


@pytest.mark.parametrize("last", LAST_WORDS)
@pytest.mark.parametrize("second_head", [True, False])
def test_both_layers_are_torchs(last, second_head):
    x = torch.tensor([WORD_FEATURES.get(word, (0, 0, 0, 0)) for word in words(last)], dtype=torch.float64)

    def attention(x, matrices):
        return F.scaled_dot_product_attention(*(x @ torch.tensor(matrix) for matrix in matrices))

    between = x + attention(x, NOUNS) + second_head * attention(x, ADJECTIVES)
    found = two_layers(last, second_head=second_head)
    np.testing.assert_allclose(found.stream, between, atol=1e-12)
    np.testing.assert_allclose(found.decision.output, attention(between, DECISION), atol=1e-12)


def test_it_hesitates_in_the_first_layer_and_the_last_word_decides_in_the_second():
    for last, noun in zip(LAST_WORDS, ("animal", "street"), strict=True):
        tokens, layers = words(last), two_layers(last)
        at, other = tokens.index(noun), tokens.index({"animal": "street", "street": "animal"}[noun])
        assert layers.nouns.weights[IT, at] == pytest.approx(layers.nouns.weights[IT, other])
        assert layers.nouns.weights[IT, [at, other]].sum() > 0.9
        assert layers.decision.weights[IT, at] > 0.9
        blind = two_layers(last, second_head=False)
        assert blind.decision.weights[IT, at] == pytest.approx(blind.decision.weights[IT, other], abs=0.01)
        assert f"decides for “{noun}”" in layers_sentence(layers, tokens)
        assert "“it” still hesitates" in layers_sentence(blind, tokens)


def test_the_page_decides_with_the_second_head_and_not_without():
    page = by_link("attention.py", closer="two-layers", **{"last-word": "wide"})
    assert "decides for “street”" in read(page)
    page.toggle(key="attention_layers_second").set_value(False)
    assert "“it” still hesitates" in read(sound(page.run()))


@pytest.mark.parametrize(("count", "ends"), [(1, 2 / 6), (2, 2 / 36), (5, 2 / 6**5)])
def test_more_dice_make_extremes_rarer(count, ends):
    """All outcomes one by one; 33%, 5.6% and .03% are the smallest or the largest total."""
    totals = np.array([sum(faces) for faces in product(range(1, 7), repeat=count)])
    expected = np.bincount(totals)[count:] / len(totals)
    np.testing.assert_allclose(dice_probabilities(count), expected, atol=1e-12)
    assert expected[0] + expected[-1] == pytest.approx(ends)
    assert f"expected in {ends:.2%}" in dice_sentence(dice_draws(count), count)
    assert dice_draws(count).std() == pytest.approx(totals.std(), rel=0.05)


@pytest.mark.parametrize("count", [1, 2, 10, 100])
def test_a_histogram_holds_every_draw(count):
    totals = dice_draws(count)
    for figure in (histogram(totals, "total", range(count, 6 * count + 1)), histogram(score_draws(64), "q·k")):
        assert sum(drawn(figure)["data"][0]["y"]) == pytest.approx(1, abs=1e-3)


def test_the_page_draws_scores_and_dice():
    page = by_link("attention.py", part="softmax-and-d-k", drawn="dice", dice="5")
    assert "Totals of 5 dice" in read(page)
    assert "Histogram of the draws" in charts(page)
    page.segmented_control(key="attention_scaling_drawn").set_value("scores")
    assert "away from their mean" in read(sound(page.run()))
