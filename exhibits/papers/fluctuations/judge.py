"""Judges the result: Even with the right weights, a deep narrow net may start with a signal far too large or small."""

import numpy as np

from models.experiment import Judgement, Lines, Values, judge
from models.papers.judging import Statements, geometric_mean, judge_statements, means


@judge("narrow wide expected residual missed")
def length_fluctuates(values: Values, *, statements: Statements) -> Judgement:
    """Variance across layers of the log of a net's squared length, by shape, against 5 (L^2 - 1) / 6 L n."""
    plain, residual = values["numbers"]["plain"], values["numbers"]["residual"]
    shapes = sorted(plain, key=lambda shape: shape[1] / shape[0])
    formula = {(width, layers): 5 * (layers**2 - 1) / (6 * layers * width) for width, layers in shapes}
    widths = sorted({width for width, _ in shapes})
    wide = next(shape for shape in shapes if shape[0] == widths[-1])
    narrow = (widths[0], wide[1])
    shallow, *_, deep = sorted(residual)
    measured = [
        geometric_mean(np.stack([plain[shape] / formula[shape] for shape in shapes]), 0),
        plain[narrow] / plain[wide],
        residual[deep] / residual[shallow],
    ]
    names = tuple(f"{layers}/{width}" for width, layers in shapes)
    columns = {"plain": means(plain), "5(L² − 1)/6Ln": formula}
    table = {"layers / width": list(names)} | {
        name: [column[shape] for shape in shapes] for name, column in columns.items()
    }
    table["residual"] = [float(residual[shape].mean()) if shape in residual else "" for shape in shapes]
    curves = {name: np.array([column[shape] for shape in shapes]) for name, column in columns.items()}
    curves["residual"] = np.array([residual[shape].mean() if shape in residual else np.nan for shape in shapes])
    lines = Lines("Variance of the log length across layers", "variance", curves, names, "layers over width", "linear")
    numbers = {
        "narrow": float(plain[narrow].mean()),
        "wide": float(plain[wide].mean()),
        "expected": {"narrow": formula[narrow], "wide": formula[wide]},
        "residual": {"shallow": float(residual[shallow].mean()), "deep": float(residual[deep].mean())},
    }
    return judge_statements(statements, measured, numbers, table=table, lines=lines)
