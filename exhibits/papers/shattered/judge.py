"""Judges the result: In deep plain nets gradients look like white noise; skips keep them alike."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, judge_statements


@judge("plain residual root deep law missed")
def gradients_shatter(values: Values, *, statements: Statements) -> Judgement:
    """Decay with depth of the correlation between input gradients of different samples, by kind of net."""
    layers, rows, law = (values["numbers"][name] for name in ("layers", "correlation", "law"))
    normed = "residual with batch norm"
    early, later = 2, 3  # indices of depths; the plain nets' correlation is above the noise at the first
    per_layer_by_kind = {
        kind: np.maximum(rows[kind][:, at], 0.0) ** (1 / layers[at])
        for kind, at in (("plain", early), ("residual", later))
    }
    root = rows[normed][:, -1] / rows[normed][:, early] * np.sqrt(layers[-1] / layers[early])
    measured = [
        per_layer_by_kind["plain"],
        per_layer_by_kind["residual"],
        root,
        (rows[normed] / law[normed]).mean(1),
        rows[normed][:, -1] - rows["residual"][:, -1],
    ]
    mean = {kind: correlations.mean(0) for kind, correlations in rows.items()}
    table = {"layers": list(layers)} | {kind: list(correlations) for kind, correlations in mean.items()}
    table["law with batch norm"] = list(law[normed])
    curves = {
        "plain": mean["plain"][: early + 1],
        normed: mean[normed],
        "law with batch norm": law[normed],
        "1/√L": mean[normed][0] * np.sqrt(layers[0] / np.array(layers)),
        "residual": mean["residual"],
    }
    places = tuple(str(depth) for depth in layers)
    lines = Lines("Gradient of one sample beside another's", "correlation", curves, places, "layers")
    numbers = {
        **{kind: float(factors.mean()) for kind, factors in per_layer_by_kind.items()},
        "root": float(root.mean()),
        "deep": float(mean[normed][-1]),
        "law": float(law[normed][-1]),
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)
