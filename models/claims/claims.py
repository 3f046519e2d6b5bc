"""The common errors as cards by key, in the order of the page."""

from models.claims import attention, batch, charts, norms, placement, skip, start, training
from models.claims.card import Card, topic_in_words

PARTS = (norms, batch, placement, skip, start, attention, training, charts)
CLAIMS: dict[str, Card] = {card.key: card for part in PARTS for card in part.CARDS}


def matching(text: str = "", topic: str = "") -> list[Card]:
    """The cards that contain all words of a text, case ignored; of one topic if one is given."""
    words = text.casefold().split()
    return [
        card
        for card in CLAIMS.values()
        if topic in ("", card.topic)
        and all(word in f"{card.claim} {card.truth} {topic_in_words(card.topic)}".casefold() for word in words)
    ]
