"""Formula over measurement: signal and gradient at initialisation, predicted by theory and measured in six nets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure
from components.instruments.panel import InstrumentPanel, branch_weights
from models import answers
from models.content import Texts
from models.insight.formula import formula_sentence, geometric_mean, relative_to_last
from models.insight.theory import Law, branch_gains, factor_per_sublayer, law
from models.insight.words import number
from models.spec import RunConfig, plan
from models.spec.plan import SUBLAYER_KINDS

WORDS = Texts("instruments/formula")

QUICK_WEIGHTS = 1e7  # weights of the branches; above it, building six nets waits for a button


def draw(panel: InstrumentPanel) -> None:
    start = InstrumentPanel(panel.name, replace(panel.view, row=0), panel.playhead)  # step 0 at any playhead
    if branch_weights(panel.cfg) <= QUICK_WEIGHTS:
        measured = start.ask(answers.SIGNAL)
    else:
        measured = start.ask_by_button(answers.SIGNAL, "Build and run six nets")
    panel.waiting |= start.waiting
    if measured is None:
        return
    value, sites, predicted = measured.value, plan(measured.cfg).sites, law(measured.cfg)
    stream = value.mean_square, predicted.mean_square
    gradient = relative_to_last(value.grad_norm), predicted.gradient
    panel.row(
        prediction_chart("Mean square of the stream at the start", "mean square", sites, *stream, hue=SIGNAL),
        prediction_chart("Gradient over its end at the start", "ratio", sites, *gradient, hue=GRADIENT),
    )
    panel.write(formula_sentence(predicted, value.mean_square, value.grad_norm))
    panel.table("Factor per sublayer", **factors(predicted, value.mean_square, value.grad_norm))
    gains = _gains_sentence(measured.cfg, value.v_f, value.v_b)
    panel.table("Branch gains", gains, sublayer=sites[1:], v_f=value.v_f.mean(0), v_b=value.v_b.mean(0))


def factors(law: Law, mean_square: np.ndarray, grad_norm: np.ndarray) -> dict[str, list[Any]]:
    """Factor by which a sublayer multiplies the stream's mean square, and the gradient backwards, as table columns.

    Both measurements are (K, S): by seed and site.
    """
    gradient_law = None if law.gradient is None else law.gradient[::-1]
    laws = (law.mean_square, gradient_law)
    measurements = (mean_square, relative_to_last(grad_norm)[:, ::-1])
    return {
        "of": ["stream, mean square", "gradient, on its way back"],
        "formula": [np.nan if theory is None else factor_per_sublayer(theory) for theory in laws],
        "fitted": [factor_per_sublayer(geometric_mean(measured)) for measured in measurements],
    }


def prediction_chart(
    title: str, unit: str, sites: Sequence[str], rows: np.ndarray, predicted: np.ndarray | None, *, hue: str
) -> Figure:
    """Geometric mean and range of the measured rows (K, S), and the formula (S,) if there is one."""
    if len(rows):
        series = [
            Series(f"mean of {len(rows)} seeds", geometric_mean(rows)),
            Series("least of the seeds", rows.min(0), "previous"),
            Series("most of the seeds", rows.max(0), "previous"),
        ]
    else:
        series = [Series("seeds", np.empty(0))]
    if predicted is not None:
        series.append(Series("formula", predicted, "formula"))
    return depth_profile(title=title, unit=unit, hue=hue, sites=sites, series=series)


def _gains_sentence(cfg: RunConfig, v_f: np.ndarray, v_b: np.ndarray) -> str:
    """Measured gains of the branches at unit mean square, by kind, beside those that the initialisation predicts.

    `v_f` (forward) and `v_b` (backward) are (K, M): by seed and sublayer.
    """
    parts = []
    for kind in SUBLAYER_KINDS[cfg.net]:
        sublayers = enumerate(plan(cfg).sublayers)
        columns = [index for index, sublayer in sublayers if sublayer.kind == kind and not sublayer.identity]
        if not columns:
            continue
        forward, backward = number(v_f[:, columns].mean()), number(v_b[:, columns].mean())
        expected = branch_gains(cfg, kind)
        formula = "no formula" if expected is None else f"formula {number(expected[0])} and {number(expected[1])}"
        parts.append(f"{kind}: v_f {forward} and v_b {backward}, {formula}")
    return WORDS("gains", parts="; ".join(parts)) if parts else ""
