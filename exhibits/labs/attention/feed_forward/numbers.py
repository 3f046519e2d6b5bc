"""What feed-forward nets contribute to a transformer, beside attention, as a sentence."""

import math
from collections.abc import Mapping

from models.content import Texts
from models.insight.baseline import LEARNED_BELOW, MAX_SLIGHT_COST, guess_in_words, loss_of_guessing
from models.insight.words import signed_number

TEXTS = Texts("labs/attention/feed_forward")


def feed_forward_sentence(losses: Mapping[str, float], cuts: Mapping[str, float], task: str, step: int) -> str:
    """Contribution of a transformer's feed-forward nets, compared with that of attention.

    `losses`: held-out losses of the whole net (key "") and of nets trained without one kind of sublayer (a key of
    PARTS). `cuts`: held-out losses of the whole net with all sublayers of a kind skipped.
    """
    whole, guessing = losses[""], loss_of_guessing(task)
    if not all(map(math.isfinite, (*losses.values(), *cuts.values()))):
        return TEXTS("nothing to compare", step=step)
    if whole > LEARNED_BELOW * guessing:
        return TEXTS("whole net untrained", step=step, loss=whole, guess=guess_in_words(task))
    lost_share = (losses["ffn"] - whole) / (guessing - whole)
    if lost_share <= 0:
        effect = "no worse"
    elif lost_share < MAX_SLIGHT_COST:
        effect = "hardly worse"
    else:
        effect = "worse"
    return TEXTS(
        "trained without",
        step=step,
        does=effect,
        losses=losses,
        whole=whole,
        slight=MAX_SLIGHT_COST,
        changes={kind: signed_number(cut - whole, 3) for kind, cut in cuts.items()},
    )
