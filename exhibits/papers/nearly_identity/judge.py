"""Judges the result: Batch norm makes the blocks of deep residual nets nearly the identity."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.insight.baseline import LEARNED_BELOW, loss_of_guessing
from models.papers.judging import Statements, final_losses, geometric_mean, judge_statements, means, spread


@judge("share last ends missed")
def nearly_identity(values: Values, *, statements: Statements) -> Judgement:
    """Share of the branch in the variance after a block, by block, and final losses without the norm."""
    chance = loss_of_guessing("digits")
    ends = final_losses(values, chance)
    shares = np.stack([(trace.branch_rms[0] / trace.act_rms[0, 1:]) ** 2 for trace in values["batch norm"]])
    shares = shares.astype(float)
    blocks = np.arange(1, shares.shape[1] + 1)
    share = geometric_mean(shares, 0)
    by_seed = (shares * blocks)[:, len(blocks) // 2 :].mean(1)
    measured = [by_seed, ends["SkipInit"] - ends["batch norm"], ends["neither"] < LEARNED_BELOW * chance]
    lines = Lines(
        "Share of the branch in the variance",
        "share",
        {"batch norm": share, "1/l": 1 / blocks},
        tuple(map(str, blocks)),
        "block l",
    )
    numbers = {"share": float(by_seed.mean()), "last": float(share[-1]), "ends": means(ends)}
    return judge_statements(statements, measured, numbers, table=spread("loss", ends), lines=lines)
