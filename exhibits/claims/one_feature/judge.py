"""Judges the claim: Layer norm stops one feature from dominating."""

from models.claims.judging import verdict
from models.experiment import Judgement, Values, judge

DOMINANT_SHARE = 0.9  # share of the sum of squares above which one feature dominates


@judge("times after below share sum")
def one_feature(values: Values) -> Judgement:
    """Share of one large feature in a token after layer norm."""
    measured = values["numbers"]
    after, share = measured["after"], measured["share"]
    table = {
        "times larger": measured["times"],
        "that feature after layer norm": after,
        "its share of the squares": share,
    }
    numbers = measured | {"below": measured["bound"] - after[-1]}
    return Judgement(verdict([bool(share.max() < limit) for limit in (DOMINANT_SHARE, 0.5)]), numbers, table)
