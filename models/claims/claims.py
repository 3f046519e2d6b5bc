"""All claims, in the order in which they are listed."""

from models.claims import attention, batch, charts, norms, placement, skip, start, training
from models.claims.card import Card

CLAIMS: dict[str, Card] = {
    card.key: card
    for part in (norms, batch, placement, skip, start, attention, training, charts)
    for card in part.CARDS
}


def matching(text: str = "", topic: str = "") -> list[Card]:
    """The cards with every word of a text in claim, truth or topic, in any case; only those of a topic, if given."""
    words = text.casefold().split()
    return [
        card
        for card in CLAIMS.values()
        if topic in ("", card.topic)
        and all(word in f"{card.claim} {card.truth} {card.topic}".casefold() for word in words)
    ]
