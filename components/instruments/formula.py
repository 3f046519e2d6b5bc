"""Formula over measurement: signal and gradient at initialisation, predicted by theory and measured in six nets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure
from components.instruments.panel import Instrument, InstrumentPanel, branch_weights
from models import answers
from models.content import Texts
from models.insight.formula import formula_sentence, geometric_mean, relative
from models.insight.theory import Law, branch_gains, law, rate
from models.insight.words import number
from models.spec import RunConfig, plan
from models.spec.plan import SUBLAYER_KINDS

WORDS = Texts("instruments/formula")

QUICK = 1e7  # weights of the branches up to which building six nets needs no button


def draw(panel: InstrumentPanel) -> None:
    start = InstrumentPanel(panel.name, replace(panel.view, row=0), panel.at)  # whatever step is shown
    if branch_weights(panel.cfg) <= QUICK:
        measured = start.ask(answers.SIGNAL)
    else:
        measured = start.ask_by_button(answers.SIGNAL, "Build and run six nets")
    panel.waiting |= start.waiting
    if measured is None:
        return
    value, sites, predicted = measured.value, plan(measured.cfg).sites, law(measured.cfg)
    stream = value.mean_square, predicted.mean_square
    gradient = relative(value.grad_norm), predicted.gradient
    panel.row(
        prediction_chart("Mean square of the stream at the start", "mean square", sites, *stream, hue=SIGNAL),
        prediction_chart("Gradient over its end at the start", "ratio", sites, *gradient, hue=GRADIENT),
    )
    panel.say(formula_sentence(predicted, value.mean_square, value.grad_norm))
    panel.table("Factor per sublayer", **factors(predicted, value.mean_square, value.grad_norm))
    gains = _gains(measured.cfg, value.v_f, value.v_b)
    panel.table("Branch gains", gains, sublayer=sites[1:], v_f=value.v_f.mean(0), v_b=value.v_b.mean(0))


def factors(law: Law, mean_square: np.ndarray, grad_norm: np.ndarray) -> dict[str, list[Any]]:
    """What a sublayer multiplies the mean square of the stream by, and the gradient going back, both (K, S)."""
    ways = (
        (law.mean_square, mean_square),
        (None if law.gradient is None else law.gradient[::-1], relative(grad_norm)[:, ::-1]),
    )
    return {
        "of": ["stream, mean square", "gradient, on its way back"],
        "formula": [np.nan if theory is None else rate(theory) for theory, _ in ways],
        "fitted": [rate(geometric_mean(measured)) for _, measured in ways],
    }


def prediction_chart(
    title: str, unit: str, sites: Sequence[str], rows: np.ndarray, predicted: np.ndarray | None, *, hue: str
) -> Figure:
    """Geometric mean and range of the measured rows (K, S), and the formula (S,) where there is one."""
    series = [Series(f"mean of {len(rows)} seeds", geometric_mean(rows)) if len(rows) else Series("seeds", np.empty(0))]
    if len(rows):
        series += [
            Series("least of the seeds", rows.min(0), "previous"),
            Series("most of the seeds", rows.max(0), "previous"),
        ]
    if predicted is not None:
        series.append(Series("formula", predicted, "formula"))
    return depth_profile(title=title, unit=unit, hue=hue, sites=sites, series=series)


def _gains(cfg: RunConfig, v_f: np.ndarray, v_b: np.ndarray) -> str:
    """The measured gains of the branches at unit mean square, by kind, and those that the initialisation predicts."""
    parts = []
    for kind in SUBLAYER_KINDS[cfg.net]:
        at = [place for place, one in enumerate(plan(cfg).sublayers) if one.kind == kind and not one.identity]
        if not at:
            continue
        expected = branch_gains(cfg, kind)
        formula = "no formula" if expected is None else f"formula {number(expected[0])} and {number(expected[1])}"
        parts.append(f"{kind}: v_f {number(v_f[:, at].mean())} and v_b {number(v_b[:, at].mean())}, {formula}")
    return WORDS("gains", parts="; ".join(parts)) if parts else ""


FORMULA = Instrument(draw, WORDS, "formula")
