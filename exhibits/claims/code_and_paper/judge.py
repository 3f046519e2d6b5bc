"""Judges the claim: It makes no difference that the transformer's code has its norm elsewhere than the paper."""

from models.claims.judging import loss_or_divergence, verdict
from models.experiment import Judgement, Values, judge
from models.lessons.judges import DIGITS, learned


@judge("ends chance depths")
def code_and_paper(values: Values, *, depths: list[int]) -> Judgement:
    """Whether, at each of the `depths` with which the names end, both nets learn or neither does."""
    ends = {name: loss_or_divergence(trace) for name, trace in values.items()}
    learns = {name: learned(trace) for name, trace in values.items()}
    alike = {
        depth: len({has_learned for name, has_learned in learns.items() if name.endswith(f" {depth} blocks")}) == 1
        for depth in depths
    }
    table = {
        "net": list(ends),
        "loss": list(ends.values()),
        "learns": ["yes" if has_learned else "no" for has_learned in learns.values()],
    }
    same = " or ".join(str(depth) for depth in depths if alike[depth])
    return Judgement(verdict(list(alike.values())), {"ends": ends, "chance": DIGITS, "depths": same}, table)
