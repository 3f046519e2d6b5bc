"""Judges of lessons: by a number of one net, or by which nets learn."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from models.content import Texts
from models.experiment import Judgement, Values, judge
from models.insight.baseline import loss_of_guessing
from models.insight.outcome import (
    LAST_ROWS,
    RECENT_ROWS,
    final_cosine,
    final_loss,
    recent_losses,
)
from models.insight.words import change_in_words, decades, number
from models.trace import Trace

TEXTS = Texts("judges")

DIGITS = loss_of_guessing("digits")  # nats
OTHERWISE = "another combination"  # the answer if no option names exactly the nets that learn


def learned(trace: Trace) -> bool:
    """Whether the final loss is below half the loss of guessing digits."""
    return final_loss(trace) < 0.5 * DIGITS


def losses_in_words(traces: Mapping[str, Trace], detail: str = "") -> str:
    """Final loss and accuracy of each net as sentences; `detail` "lowest" adds the least mean of RECENT_ROWS losses.

    Example:
    "“without” diverged at step 3. Mean loss of the last 20 steps: with a residual: 0.01, held-out accuracy 95%."
    """
    diverged, ends_by_net = [], []
    for name, trace in traces.items():
        if trace.divergence:
            diverged.append(TEXTS("diverged", net=name, step=trace.divergence.step))
            continue
        end = TEXTS("end", net=name, loss=number(final_loss(trace)))
        recent = recent_losses(trace.loss)
        if detail == "lowest" and np.isfinite(recent).any():
            end += " " + TEXTS("lowest", lately=RECENT_ROWS, lowest=number(np.nanmin(recent)))
        accuracy = trace.frames[-1].held_out_accuracy if trace.frames else float("nan")
        if np.isfinite(accuracy):
            end += TEXTS("accuracy", accuracy=accuracy)
        ends_by_net.append(end)
    ends = [TEXTS("ends", last=LAST_ROWS, ends="; ".join(ends_by_net))] if ends_by_net else []
    return " ".join([*diverged, *ends])


def _losses_number(values: Values) -> dict[str, Any]:
    """The placeholder `losses` of a text, with an optional detail."""
    return {"losses": lambda detail: losses_in_words(values, detail)}


@judge("change losses")
def size_over_depth(
    values: Values, *, net: str, measure: str, bounds: Sequence[float], options: Sequence[str]
) -> Judgement:
    """Factor by which a net's `signal` or `gradient` changes over depth; the first option is below bounds[0].

    OTHERWISE if one of the two is NaN.
    """
    trace = values[net]
    sizes = {"signal": trace.act_rms[0], "gradient": trace.grad_rms[0, ::-1]}[measure]
    index = int(np.searchsorted(np.log10(bounds), abs(decades(sizes[0], sizes[-1])), "right"))
    answer = OTHERWISE if np.isnan(sizes[[0, -1]]).any() else options[index]
    return Judgement(answer, _losses_number(values) | {"change": change_in_words("", sizes, "")})


@judge("value losses")
def number_of_a_net(
    values: Values, *, net: str, measure: str, bounds: Sequence[float], options: Sequence[str]
) -> Judgement:
    """A net's `sample cosine`, or its `first loss` over chance: the first option is below bounds[0].

    OTHERWISE if there is no number.
    """
    value = final_cosine(values[net]) if measure == "sample cosine" else float(values[net].loss[0]) / DIGITS
    answer = OTHERWISE if math.isnan(value) else options[int(np.searchsorted(bounds, value, "right"))]
    return Judgement(answer, _losses_number(values) | {"value": value})


@judge("losses chance")
def which_learn(
    values: Values, *, options: Mapping[str, Sequence[str]], loss_below: float = 0.0, accuracy: float = 0.0
) -> Judgement:
    """Which nets learn: the option that names exactly these, or OTHERWISE, also if a number that decides is NaN.

    A net learns if its final loss is low; with `loss_below`, if a mean of RECENT_ROWS losses ever is below it; with
    `accuracy`, if its held-out accuracy reaches that after the last step.
    """

    def has_learned(trace: Trace) -> bool:
        if loss_below:
            return bool((recent_losses(trace.loss) < loss_below).any())
        if accuracy:
            return trace.divergence is None and trace.frames[-1].held_out_accuracy >= accuracy
        return learned(trace)

    learners = {name for name, trace in values.items() if has_learned(trace)}
    ends = [t.frames[-1].held_out_accuracy if accuracy else final_loss(t) for t in values.values() if not t.divergence]
    options_of_these = [
        option for option, nets in options.items() if set(nets) == learners and not np.isnan(ends).any()
    ]
    answer = next(iter(options_of_these), OTHERWISE)
    return Judgement(answer, _losses_number(values) | {"chance": DIGITS})
