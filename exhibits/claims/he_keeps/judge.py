"""Judges the claim: He's initialisation preserves the variance."""

import numpy as np

from models.claims.judging import size_lines, verdict
from models.experiment import Judgement, Values, judge

PRESERVED_FACTOR = 2.0  # factor up to which a mean square counts as preserved


@judge("least geometric most")
def size_kept(values: Values) -> Judgement:
    """Least, mean and largest ratio of mean squares, end over start, over seeds."""
    mean_squares = {name: np.asarray(value.mean_square) for name, value in values.items()}
    ratios = {name: by_seed[:, -1] / by_seed[:, 0] for name, by_seed in mean_squares.items()}
    least = {name: float(np.min(ratio)) for name, ratio in ratios.items()}
    mean = {name: float(np.mean(ratio)) for name, ratio in ratios.items()}
    largest = {name: float(np.max(ratio)) for name, ratio in ratios.items()}
    geometric = {name: float(np.exp(np.log(value).mean())) for name, value in ratios.items()}
    columns = {"least": least, "mean": mean, "most": largest}
    table = {"net": list(ratios)} | {heading: list(value.values()) for heading, value in columns.items()}
    numbers = {"least": least, "geometric": geometric, "most": largest}
    holds = [1 / PRESERVED_FACTOR < value < PRESERVED_FACTOR for value in geometric.values()]
    return Judgement(verdict(holds), numbers, table, size_lines(values))
