"""Judges the result: A residual for the values of attention learns the same from less data."""

import numpy as np

from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import (
    Statements,
    final_losses,
    judge_statements,
    means,
    measures,
    spread,
    steps_to_final_loss,
    training_lines,
)


@judge("ends steps entropy missed")
def less_data(values: Values, *, statements: Statements) -> Judgement:
    """Final losses, steps to that of the net without a value residual, and entropy of the last block's attention."""
    plain, mixed = nets = ("plain values", "value residual")
    ends = final_losses({net: values[net] for net in nets}, loss_of_guessing("book"))
    share = steps_to_final_loss(values[mixed], values[plain])
    entropy = {
        net: np.array([measure.entropy[-1] for measure in measures(values, f"{net}, attention")]) for net in nets
    }
    measured = [ends[mixed] - ends[plain], share, entropy[mixed] - entropy[plain]]
    numbers = {"ends": means(ends), "steps": f"{share.mean():.0%}", "entropy": means(entropy)}
    return judge_statements(
        statements, measured, numbers, table=spread("loss", ends), lines=training_lines(values, nets)
    )
