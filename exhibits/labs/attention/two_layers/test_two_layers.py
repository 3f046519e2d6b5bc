"""Two layers on a sentence: torch's own attention, what the second head decides, and draws of dice."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from exhibits.labs.attention.two_layers.numbers import (
    ADJECTIVES,
    DECISION,
    IT,
    LAST_WORDS,
    NOUNS,
    WORD_FEATURES,
    two_layers,
    words,
)
from exhibits.labs.attention.two_layers.page import layers_sentence
from tests.app_page import by_link, sound
from tests.app_page import words as read

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


def test_the_second_layer_decides_what_it_means():
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
