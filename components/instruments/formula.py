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
from models.insight.formula import formula_sentence, geometric_mean, relative
from models.insight.theory import Law, branch_gains, law, rate
from models.insight.words import number
from models.spec import RunConfig, plan
from models.spec.plan import SUBLAYER_KINDS

QUICK = 1e7  # weights of the branches up to which building six nets needs no button


def draw(panel: InstrumentPanel) -> None:
    start = InstrumentPanel(panel.name, replace(panel.view, row=0), panel.at)  # whatever step is shown
    if branch_weights(panel.cfg) <= QUICK:
        found = start.ask(answers.SIGNAL)
    else:
        found = start.ask_by_button(answers.SIGNAL, "Build and run six nets")
    panel.waiting |= start.waiting
    if found is None:
        return
    value, sites, predicted = found.value, plan(found.cfg).sites, law(found.cfg)
    stream = value.mean_square, predicted.mean_square
    gradient = relative(value.grad_norm), predicted.gradient
    panel.row(
        prediction_chart("Mean square of the stream at the start", "mean square", sites, *stream, hue=SIGNAL),
        prediction_chart("Gradient over its end at the start", "ratio", sites, *gradient, hue=GRADIENT),
    )
    panel.say(formula_sentence(predicted, value.mean_square, value.grad_norm))
    panel.table("Factor per sublayer", **factors(predicted, value.mean_square, value.grad_norm))
    gains = _gains(found.cfg, value.v_f, value.v_b)
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
            Series("least of the seeds", rows.min(0), "ghost"),
            Series("most of the seeds", rows.max(0), "ghost"),
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
    return f"Gains of the branches at unit input, forward and back: {'; '.join(parts)}." if parts else ""


FORMULA = Instrument(
    draw,
    "What does theory predict, and does the net obey?",
    "formula",
    "The net at its start, whatever step is shown, on a Gaussian input of unit mean square with cross-entropy on "
    "random labels; six seeds, averaged as logarithms because a product of random factors is log-normal. A_l is the "
    "mean square of the stream, G_l the length of the gradient there. The formula follows the stream from sublayer to "
    "sublayer: with skip weight a, branch scale s and what the branch makes of its input, A ← a²A + s²v_f and G² ← "
    "(a² + s²v_b) G² going back, where each norm divides by the mean square it finds. For two layers v_f = n₂σ₂² E "
    "act(√q z)², v_b = n₁σ₁² n₂σ₂² E act'(√q z)², q = n₁σ₁² A, z standard normal; for ReLU fed with 1: fan-in ½, He "
    "on both 2, PyTorch's default 1/18, Xavier ½ m (2/(1+m))². One layer has a mean, which adds up coherently beside "
    "the variance. Hence, for two layers, 1 + vL and √(1 + vL) for pre-norm (Xiong 2020, arXiv 2002.04745), (1+v)^L "
    "for residual only; for LayerNorm scaling (Sun 2025, arXiv 2502.05795) this recursion gives 1 + v H_L, H_L = 1 + "
    "1/2 + ... + 1/L, which is not a formula of the paper. The laws are those of wide nets (mean field: Poole 2016, "
    "arXiv 1606.05340; Yang 2019, arXiv 1902.08129): a narrow net of many sublayers strays by a factor that grows "
    "with depth over width, with a residual or without (Hanin & Nica 2018, arXiv 1812.05994). A norm keeps the stream "
    "at its law, but not the gradient: it strays too, most in sandwich.",
)
