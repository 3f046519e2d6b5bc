"""Judges the result: With DeepNorm a training step changes the output by the same amount at any depth."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, judge_statements, means, measured_nets, measures, slope


@judge("powers everything missed")
def bounded_update(values: Values, *, statements: Statements, bounded: str) -> Judgement:
    """Change of the logits by one step, over depth, by net: updating matrices alone, and all parameters."""
    names = measured_nets(values)
    nets = dict.fromkeys(name.split(", ")[0] for name in names)
    depths = sorted({int(name.split(", ")[1]) for name in names})
    changes = {
        what: {
            net: np.stack(
                [[getattr(measure, what) for measure in measures(values, f"{net}, {depth}")] for depth in depths], 1
            )
            for net in nets
        }
        for what in ("matrices", "everything")
    }
    powers = {net: np.array([slope(depths, row) for row in rows]) for net, rows in changes["matrices"].items()}
    everything = np.array([slope(depths, row) for row in changes["everything"][bounded]])
    mean = {
        what: {net: np.exp(np.log(rows).mean(0)) for net, rows in by_net.items()} for what, by_net in changes.items()
    }
    table = {"blocks": depths} | {net: list(row) for net, row in mean["matrices"].items()}
    table |= {f"{net}, with biases and gains": list(row) for net, row in mean["everything"].items()}
    places = tuple(map(str, depths))
    lines = Lines("Change of the logits by one step", "RMS", mean["matrices"], places, "blocks")
    numbers = {
        "powers": means(powers),
        "everything": float(everything.mean()),
    }
    return judge_statements(statements, [*powers.values(), everything], numbers, table=table, lines=lines)
