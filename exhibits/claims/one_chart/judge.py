"""Judges the claim: The chart of the stream's gradient shows whether a net is healthy: level is good."""

import numpy as np

from models.claims.judging import loss_or_divergence, verdict
from models.experiment import Judgement, Values, judge
from models.insight.outcome import final_cosine, gradient_change
from models.insight.words import change_in_words, number
from models.lessons.judges import learned

MAX_LEVEL_DECADES = 1.0  # change over depth up to which a gradient looks level


@judge("change spread alike learns")
def level_gradient_predicts_learning(values: Values) -> Judgement:
    """Whether exactly the nets with a level gradient learn."""
    change = {name: gradient_change(value) for name, value in values.items()}
    spread = {name: float(np.ptp(np.log10(value.weight_grad_rms[0]))) for name, value in values.items()}
    alike = {name: final_cosine(value) for name, value in values.items()}
    learns = {name: learned(value) for name, value in values.items()}
    ends = {name: loss_or_divergence(value) for name, value in values.items()}
    table = {
        "net": list(values),
        "stream gradient, start over end": [10**value for value in change.values()],
        "weight gradients, largest over least": [10**value for value in spread.values()],
        "sample cosine at the end": list(alike.values()),
        "mean loss of the last 20 steps": list(ends.values()),
    }
    numbers = {
        "change": {name: change_in_words("", value.grad_rms[0, ::-1], "") for name, value in values.items()},
        "spread": {name: number(10**value, 2) for name, value in spread.items()},
        "sizes": [value.grad_rms[0] for value in values.values()],
        "alike": alike,
        "learns": {
            name: end if isinstance(end, str) else "learns" if learns[name] else "does not learn"
            for name, end in ends.items()
        },
    }
    return Judgement(
        verdict([(abs(change[name]) < MAX_LEVEL_DECADES) == learns[name] for name in values]), numbers, table
    )
