"""Judges the claim: Training at one shared learning rate shows which arrangement is better."""

from models.claims.judging import finite_loss, verdict
from models.experiment import Judgement, Values, judge

MAX_DRAW_GAP = 0.1  # nats between two losses that count as a draw


@judge("ends winner")
def same_winner(values: Values, *, pair: list[str], rates: list[str]) -> Judgement:
    """Which of two nets ends at the lower loss, at each learning rate."""
    ends = {name: finite_loss(trace) for name, trace in values.items()}
    gaps = [ends[f"{pair[1]}, {rate}"] - ends[f"{pair[0]}, {rate}"] for rate in rates]
    signs = [0 if abs(gap) < MAX_DRAW_GAP else 1 if gap > 0 else -1 for gap in gaps]
    results = {0: "a draw", 1: f"{pair[0]} ahead", -1: f"{pair[1]} ahead"}
    winners = [results[sign] for sign in signs]
    table = {"net and learning rate": list(ends), "loss": list(ends.values())}
    numbers = {"ends": ends, "winner": dict(zip(rates, winners, strict=True))}
    return Judgement(verdict([len(set(signs)) == 1]), numbers, table)
