"""Earlier tokens and the mask: the sentence follows the numbers."""

import numpy as np

from exhibits.labs.autoregression.revision.page import revision_sentence
from models.answers import Change


def changes(*difference, before=(1, 2, 3), after=(1, 2, 3)):
    return Change(np.array(difference), np.array(before), np.array(after))


def test_the_sentence_on_revision_follows_the_numbers():
    moved = changes(1.5, 0.2, 3.0, after=(1, 5, 6))
    kept = revision_sentence(changes(0, 1e-15, 0), moved, "\n")
    assert kept.startswith('Earlier tokens never change: "↵" is appended')
    assert "10⁻¹⁵, which is rounding" in kept
    assert "Without the mask, one moves by 3, and the prediction changes at 2 of 3" in kept
    assert "rounding" not in revision_sentence(changes(0, 0, 0), moved, "a")
    assert revision_sentence(changes(0, 0.5, 0), moved, "a").startswith("Earlier tokens change")
    assert "not finite" in revision_sentence(changes(0, np.nan, 0), moved, "a")
