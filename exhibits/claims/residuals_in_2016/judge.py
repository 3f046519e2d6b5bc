"""Judges the claim: He et al. 2016 were the first to let a signal skip layers."""

from models.claims.judging import MAX_VANISHED_SHARE, verdict
from models.experiment import Judgement, Values, judge


@judge("shares older claimed")
def identity_before(values: Values, *, claimed: int, years: dict[str, int]) -> Judgement:
    """Whether a design older than `claimed` preserves the gradient over many layers."""
    shares = values["numbers"]["shares"]
    older = [name for name, share in shares.items() if share > MAX_VANISHED_SHARE and years[name] < claimed]
    table = {
        "design": list(shares),
        "year": [str(years[name]) for name in shares],  # a year has no thousands
        "gradient returned": list(shares.values()),
    }
    numbers = {"shares": shares, "older": ", ".join(f"{name} ({years[name]})" for name in older), "claimed": claimed}
    return Judgement(verdict([not older]), numbers, table)
