"""How finished runs decide a lesson's question: by a number of one net, or by which nets learn."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from models.content import Texts
from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import LAST, LATELY, final_cosine, final_loss, gradient_change, recent_losses, stream_change
from models.insight.words import change_in_words, number
from models.trace import Trace

TEXTS = Texts("judges")

DIGITS = loss_of_guessing("digits")
OTHERWISE = "another combination"


def learned(trace: Trace) -> bool:
    """Whether the final loss is below half the loss of guessing digits."""
    return final_loss(trace) < 0.5 * DIGITS


def losses_in_words(traces: Mapping[str, Trace], how: str = "") -> str:
    """The end of every net, and with "lowest" the least mean of LATELY consecutive losses, as a sentence.

    "“without” diverged at step 3. Mean loss of the last 20 steps: with a residual: 0.01, held-out accuracy 95%."
    """
    lost, ends_by_net = [], []
    for name, trace in traces.items():
        if trace.divergence:
            lost.append(TEXTS("diverged", net=name, step=trace.divergence.step))
            continue
        end = TEXTS("end", net=name, loss=number(final_loss(trace)))
        lately = recent_losses(trace.loss)
        if how == "lowest" and np.isfinite(lately).any():
            end += " " + TEXTS("lowest", lately=LATELY, lowest=number(np.nanmin(lately)))
        accuracy = trace.frames[-1].held_out_accuracy if trace.frames else float("nan")
        ends_by_net.append(end + (TEXTS("accuracy", accuracy=accuracy) if np.isfinite(accuracy) else ""))
    ends = [TEXTS("ends", last=LAST, ends="; ".join(ends_by_net))] if ends_by_net else []
    return " ".join([*lost, *ends])


def _losses_number(values: Values) -> dict[str, Any]:
    return {"losses": lambda how: losses_in_words(values, how)}


@judge("change losses")
def size_over_depth(
    values: Values, *, net: str, measure: str, bounds: Sequence[float], options: Sequence[str]
) -> Judgement:
    """By which factor a net changes its `signal` or `gradient` over depth; the first option is below bounds[0]."""
    decades = {"signal": stream_change, "gradient": gradient_change}[measure](values[net])
    at = int(np.searchsorted([math.log10(bound) for bound in bounds], abs(decades), "right"))
    return Judgement(options[at], _losses_number(values) | {"change": change_in_words("", decades, "").strip()})


@judge("value losses")
def number_of_a_net(
    values: Values, *, net: str, measure: str, bounds: Sequence[float], options: Sequence[str]
) -> Judgement:
    """A net's `sample cosine`, or its `first loss` over chance: the first option is below bounds[0]."""
    value = final_cosine(values[net]) if measure == "sample cosine" else float(values[net].loss[0]) / DIGITS
    return Judgement(options[int(np.searchsorted(bounds, value, "right"))], _losses_number(values) | {"value": value})


@judge("losses chance")
def which_learn(
    values: Values, *, options: Mapping[str, Sequence[str]], loss_below: float = 0.0, accuracy: float = 0.0
) -> Judgement:
    """Which nets learn: an option names them; OTHERWISE if none names just these.

    Other than by the final loss: with `loss_below` by a mean of LATELY losses at any time, with `accuracy` by the
    share of held-out samples that are right after the last step.
    """
    does: Callable[[Trace], bool] = learned
    if loss_below:
        does = lambda trace: bool((recent_losses(trace.loss) < loss_below).any())  # noqa: E731
    elif accuracy:
        does = lambda trace: trace.divergence is None and trace.frames[-1].held_out_accuracy >= accuracy  # noqa: E731
    learning = {name for name, trace in values.items() if does(trace)}
    answer = next((option for option, nets in options.items() if set(nets) == learning), OTHERWISE)
    return Judgement(answer, _losses_number(values) | {"chance": DIGITS})
