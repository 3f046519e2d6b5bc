"""Judges the claim: Deep nets trained with Adam need a warm-up."""

from models.claims.judging import loss_or_divergence, verdict
from models.experiment import Judgement, Values, judge
from models.lessons.judges import DIGITS, learned


@judge("ends chance nets")
def needs_warmup(values: Values, *, warmed: str) -> Judgement:
    """Whether all nets but the `warmed` one, which has a warm-up, fail to learn."""
    ends = {name: loss_or_divergence(trace) for name, trace in values.items()}
    learns = {name: learned(trace) for name, trace in values.items()}
    failed = [name for name, has_learned in learns.items() if name != warmed and not has_learned]
    table = {
        "net": list(ends),
        "loss": list(ends.values()),
        "learns": ["yes" if has_learned else "no" for has_learned in learns.values()],
    }
    numbers = {
        "ends": ends,
        "chance": DIGITS,
        "nets": " or ".join(name.replace(", ", " at a learning rate of ") for name in failed),
    }
    return Judgement(verdict([name in failed for name in learns if name != warmed]), numbers, table)
