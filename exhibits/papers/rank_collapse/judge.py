"""Judges the result: Attention without skips makes all tokens alike, doubly exponentially with depth."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, geometric_mean, judge_statements, measures

MAX_ROUNDING_ERROR = 1e-6  # distances below it are rounding errors


@judge("bare skipped mlps bare_share skipped_share missed")
def rank_collapses(values: Values, *, statements: Statements) -> Judgement:
    """Distance of tokens from their mean by block: attention alone, with skips, and with feed-forward nets."""
    collapses = {net: measures(values, net) for net in ("no skip", "skip", "feed-forward, no skip")}
    spreads = {net: np.stack([measure.spread[::2] for measure in of]).astype(float) for net, of in collapses.items()}
    shares = {net: np.stack([measure.query_key_share for measure in of]).astype(float) for net, of in collapses.items()}
    starved = shares["no skip"][:, 2:].max(1)
    fed = shares["skip"].min(1)
    measured = [
        np.array([_log_ratio(row[1:]) for row in spreads["no skip"]]),
        spreads["skip"][:, -1],
        spreads["feed-forward, no skip"][:, -1],
        np.log10(np.maximum(starved, np.finfo(float).tiny)),
        np.log10(np.maximum(fed, np.finfo(float).tiny)),
    ]
    mean = {net: geometric_mean(np.maximum(rows, np.finfo(float).tiny), 0) for net, rows in spreads.items()}
    table = {"blocks": list(range(len(mean["skip"])))}
    table |= {f"distance, {net}": list(distances) for net, distances in mean.items()}
    places = tuple(str(block) for block in range(len(mean["skip"])))
    lines = Lines("Distance of the tokens from their mean", "share of their length", mean, places, "blocks")
    numbers = {
        "bare": mean["no skip"][1:4],
        "skipped": float(mean["skip"][-1]),
        "mlps": float(mean["feed-forward, no skip"][-1]),
        "bare_share": float(starved.max()),
        "skipped_share": float(fed.min()),
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _log_ratio(distances: np.ndarray) -> float:
    """Mean of ln d_(l+1) / ln d_l before rounding: 3 if a distance is cubed; NaN if fewer than two are left."""
    logs = np.log(distances[distances > MAX_ROUNDING_ERROR])
    return float(np.mean(logs[1:] / logs[:-1])) if len(logs) > 1 else float("nan")
