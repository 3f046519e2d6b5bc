"""Judges the claim: Concatenating stream and branch keeps as much as adding them, at the same cost."""

from models.claims.judging import SAME_FACTOR, verdict
from models.experiment import Judgement, Values, judge

ADDED = "add"


@judge("rank times")
def concatenation(values: Values) -> Judgement:
    """Whether a concatenation keeps as many directions as the addition, with weights as few, within SAME_FACTOR."""
    rank, weights = values["numbers"]["rank"], values["numbers"]["weights"]
    holds = [
        rank[name] * SAME_FACTOR >= rank[ADDED] and weights[name] <= SAME_FACTOR * weights[ADDED]
        for name in rank
        if name != ADDED
    ]
    table = {"join": list(rank), "directions kept": list(rank.values()), "weights": list(weights.values())}
    numbers = {"rank": rank, "times": {name: count / weights[ADDED] for name, count in weights.items()}}
    return Judgement(verdict(holds), numbers, table)
