"""The common errors as cards by key, in the order of the page."""

from models.claims import attention as errors_attention
from models.claims import batch as errors_batch
from models.claims import charts as errors_charts
from models.claims import norms as errors_norms
from models.claims import placement as errors_placement
from models.claims import skip as errors_skip
from models.claims import start as errors_start
from models.claims import training as errors_training
from models.claims.card import Card

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
    """The cards that contain all words of a text, case ignored; of one topic if one is given."""
    words = text.casefold().split()
    return [
        card
        for card in ERRORS.values()
        if topic in ("", card.topic)
        and all(word in f"{card.claim} {card.truth} {card.topic}".casefold() for word in words)
    ]
