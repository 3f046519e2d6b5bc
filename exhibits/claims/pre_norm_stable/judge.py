"""Judges the claim: Pre-norm never explodes."""

from models.claims.judging import SAME_FACTOR, growth, size_lines, verdict
from models.experiment import Judgement, Values, judge
from models.insight.words import number


@judge("growth end")
def never_explodes(values: Values) -> Judgement:
    """Whether a stream keeps its size before training, and a run at a high learning rate stays finite."""
    signal, trace = values["before training"], values["learning rate 3"]
    mean_square_ratio, divergence = growth(signal), trace.divergence
    end = f"d{divergence.sentence()[1:]}" if divergence else f"ends at loss {number(float(trace.loss[-1]))}."
    table = {
        "what": ["stream's mean square, end over start", "first step that is not finite"],
        "found": [mean_square_ratio, divergence.step if divergence else "none"],
    }
    lines = size_lines({"geometric mean of six seeds": signal})
    return Judgement(
        answer=verdict([mean_square_ratio < SAME_FACTOR, divergence is None]),
        numbers={"growth": mean_square_ratio, "end": end},
        table=table,
        lines=lines,
    )
