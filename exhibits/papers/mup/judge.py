"""Judges the result: Under muP the first steps change activations by as much in a wide net as in a narrow one."""

from typing import Any

import numpy as np

from addnorm.coordinate_check import Coordinates
from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, judge_statements, slope


@judge("width depth first missed")
def flat_over_size(values: Values, *, statements: Statements) -> Judgement:
    """Slopes of recorded sizes after the last step, over width and depth, by parametrisation.

    `values["numbers"]` has the coordinate checks by (field, parametrisation).
    """
    checks: dict[tuple[str, str], Coordinates] = values["numbers"]
    steps = next(iter(checks.values())).steps
    slopes = {key: _slopes(check, steps) for key, check in checks.items()}
    standard, mup, by_depth = dict.fromkeys(name for _, name in checks)
    measured = [slopes["width", name]["logits"] for name in (mup, standard)]
    measured += [slopes["depth", name]["end"] for name in (by_depth, mup, standard)]
    table: dict[str, Any] = {"parametrisation": [standard, mup, by_depth]}
    table |= {
        f"{site}, over {field}": [float(slopes[field, name][site].mean()) for name in (standard, mup, by_depth)]
        for field in ("width", "depth")
        for site in checks[field, mup].sites
    }
    curves = {name: np.array(checks["width", name].mean(steps, "logits")) for name in (mup, standard)}
    places = tuple(map(str, checks["width", mup].values))
    lines = Lines(f"Size of the logits after {steps} steps", "RMS", curves, places, "width")
    numbers = {
        "width": {name: float(slopes["width", name]["logits"].mean()) for name in (standard, mup)},
        "depth": {name: float(slopes["depth", name]["end"].mean()) for name in (standard, mup, by_depth)},
        "first": float(_slopes(checks["width", mup], 0)["logits"].mean()),
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)


def _slopes(check: Coordinates, step: int) -> dict[str, np.ndarray]:
    """Slope on log-log axes of each site's size after a step, one per seed, (K,)."""
    sizes = np.array([[by_step[step] for by_step in by_seed] for by_seed in check.size])  # (values, K, sites)
    return {
        site: np.array([slope(check.values, by_seed) for by_seed in sizes[:, :, index].T])
        for index, site in enumerate(check.sites)
    }
