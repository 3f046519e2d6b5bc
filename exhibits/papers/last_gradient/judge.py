"""Judges the result: In post-LN the last layers have large gradients at any depth; in pre-LN they shrink as 1/√L."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, geometric_mean, judge_statements, means, measured_nets, measures, slope


@judge("ratio pre post missed")
def last_gradient(values: Values, *, statements: Statements) -> Judgement:
    """Gradient of the last block's last matrix at step 0, by depth, in pre-norm and post-norm."""
    depths = sorted({int(net.split(", ")[1]) for net in measured_nets(values)})
    post, pre = (
        np.stack([[measure.last_gradient for measure in measures(values, f"{kind}, {depth}")] for depth in depths], 1)
        for kind in ("post-LN", "pre-LN")
    )
    powers = {
        name: np.array([slope(depths, row) for row in rows])
        for name, rows in {"post": post, "pre": pre, "ratio": pre / post}.items()
    }
    mean_post, mean_pre = geometric_mean(post, 0), geometric_mean(pre, 0)
    table = {"blocks": depths, "post-LN": list(mean_post), "pre-LN": list(mean_pre)}
    inverse_root = mean_pre[0] * np.sqrt(depths[0] / np.array(depths))
    curves = {"post-LN": mean_post, "pre-LN": mean_pre, "1/√L": inverse_root}
    places = tuple(str(depth) for depth in depths)
    lines = Lines("Gradient of the last block's last matrix", "L2 norm", curves, places, "blocks L")
    measured = [powers["post"], powers["pre"]]
    return judge_statements(statements, measured, means(powers), table=table, lines=lines)
