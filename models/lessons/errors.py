"""The common errors of lecture notes as cards, by key, in the order in which they are listed."""

from models.lessons import (
    errors_attention,
    errors_batch,
    errors_charts,
    errors_norms,
    errors_placement,
    errors_skip,
    errors_start,
    errors_training,
)
from models.lessons.errors_card import Card

PARTS = (
    errors_norms,
    errors_batch,
    errors_placement,
    errors_skip,
    errors_start,
    errors_attention,
    errors_training,
    errors_charts,
)
ERRORS: dict[str, Card] = {card.key: card for part in PARTS for card in part.CARDS}


def found(text: str = "", topic: str = "") -> list[Card]:
    """The cards with every word of the text in claim, truth or topic, whatever the case; of one topic where it is named."""
    words = text.casefold().split()
    return [
        card
        for card in ERRORS.values()
        if topic in ("", card.topic) and all(word in f"{card.claim} {card.truth} {card.topic}".casefold() for word in words)
    ]
