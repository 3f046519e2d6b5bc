"""Judges the lesson: After the plain sum."""

import math
from collections.abc import Mapping, Sequence

from models.experiment import Judgement, Values, judge
from models.insight.words import number
from models.lessons.judges import OTHERWISE, losses_in_words


@judge("growth later losses")
def which_grow(values: Values, *, options: Mapping[str, Sequence[str]], factor: float) -> Judgement:
    """The option that names the nets whose signal is more than `factor` times as large at the end, before training."""
    growth, later = (
        {net: float(trace.act_rms[row, -1] / trace.act_rms[row, 0]) for net, trace in values.items()} for row in (0, -1)
    )
    growing = {net for net, times in growth.items() if times > factor}
    is_measured = not any(map(math.isnan, growth.values()))
    answers = [option for option, nets in options.items() if is_measured and set(nets) == growing]
    numbers = {"growth": _in_words(growth), "later": _in_words(later), "losses": losses_in_words(values)}
    return Judgement(next(iter(answers), OTHERWISE), numbers)


def _in_words(by_net: Mapping[str, float]) -> str:
    """Numbers with their nets: "3.98 (pre-norm), 0.121 (attention residuals)"."""
    return ", ".join(f"{number(value)} ({net})" for net, value in by_net.items())
