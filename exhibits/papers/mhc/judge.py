"""Judges the result: Doubly stochastic mixing gives hyper-connections the identity back."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.papers.judging import Statements, final_losses, judge_statements, means, measures, spread


@judge("gain ends missed")
def identity_restored(values: Values, *, statements: Statements) -> Judgement:
    """Gain of the composed mixing after training, and final losses from the identity on and off it."""
    free, bound = nets = ("hyper-connections", "mHC")
    trained = {name: traces for name, traces in values.items() if ", mixing" not in name}
    ends = final_losses(trained, loss_of_guessing("digits"))
    mixings = {net: measures(values, f"{net}, mixing") for net in nets}
    gains = {
        net: np.stack([np.maximum(mixing.forward, mixing.backward) for mixing in of]) for net, of in mixings.items()
    }
    last = {net: of[:, -1] for net, of in gains.items()}
    measured = [last[free], last[bound], ends[f"{bound}, off"] - ends[f"{free}, off"], ends[bound] - ends[free]]
    lines = {net: np.concatenate([[1.0], of.mean(0)]) for net, of in gains.items()}
    numbers = {"gain": means(last), "ends": means(ends)}
    return judge_statements(
        statements,
        measured,
        numbers,
        table=spread("loss", ends),
        lines=Lines("Gain of the mixing from the input on", "mean of the seeds", lines, axis="linear"),
    )
