"""Judges the result: Two learned numbers for each block, on the stream and on the token, make a net better."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.words import number
from models.papers.judging import Statements, final_losses, judge_statements, means, measures, spread


@judge("ends token stream missed")
def scalars_help(values: Values, *, statements: Statements) -> Judgement:
    """Final losses with learned scalars and without, and where these numbers are after training."""
    without, scaled = nets = ("pre-norm", "learned scalars")
    ends = final_losses({net: values[net] for net in nets}, loss_of_guessing("book"))
    scalars = np.stack([measure.gains.scalars for measure in measures(values, f"{scaled}, health")]).astype(float)
    stream, token = scalars[..., 0], scalars[..., 1]  # (K, L)
    sizes = _rms(token)
    measured = [ends[scaled] - ends[without], sizes, _rms(stream - 1), token.std(1) / sizes]
    of_block = {"on the stream": stream.mean(0), "on the token": token.mean(0)}
    blocks = tuple(map(str, range(1, token.shape[1] + 1)))
    lines = Lines("Learned scalars after training", "mean of the seeds", of_block, blocks, "block", "linear")
    numbers = {
        "ends": means(ends),
        "token": ", ".join(number(mean) for mean in token.mean(0)),
        "stream": ", ".join(number(mean) for mean in stream.mean(0)),
    }
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)


def _rms(rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((rows**2).mean(1)))
