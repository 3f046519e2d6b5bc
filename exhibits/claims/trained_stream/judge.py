"""Judges the claim: Training leaves the stream as large as initialisation made it."""

from models.claims.judging import SAME_FACTOR, verdict
from models.experiment import Judgement, Values, judge


@judge("before after within")
def trained_stream(values: Values) -> Judgement:
    """Whether the stream's growth over depth after training is within SAME_FACTOR of that before it, by net."""
    before, after = (
        {name: float(trace.act_rms[row, -1] / trace.act_rms[row, 0]) for name, trace in values.items()}
        for row in (0, -1)
    )
    holds = {name: 1 / SAME_FACTOR < after[name] / before[name] < SAME_FACTOR for name in values}
    table = {"net": list(before), "growth before training": list(before.values()), "after": list(after.values())}
    within = " or ".join(name for name, is_kept in holds.items() if is_kept)
    return Judgement(verdict(list(holds.values())), {"before": before, "after": after, "within": within}, table)
