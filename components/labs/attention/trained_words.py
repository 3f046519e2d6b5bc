"""What is said and drawn of positions inside trained nets: measured numbers in, a sentence or a figure out."""

from collections.abc import Mapping, Sequence

import numpy as np

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import Series
from components.charts.linear import SHARE, linear_profile
from components.charts.parts import Figure, level
from components.labs.attention.charts import lines
from components.shell.text import number

CLEAR = 0.05  # of accuracy, from which on two nets are said to differ
WORSE = 0.05  # nats, from which on the longer half is said to cost more or less


def place_sentence(accuracy: Mapping[str, np.ndarray], chance: float, step: int) -> str:
    """How well the place is read where the stream begins and ends, and what the skip has to do with it."""
    kept, lost = (np.asarray(accuracy[name], float) for name in ("with skips", "without skips"))
    if not (np.isfinite(kept).all() and np.isfinite(lost).all()):
        return f"At step {step} a stream is not finite somewhere: no place can be read there."
    ends = (
        f"At step {step} the place of a token is read right at the end of the stream {kept[-1]:.0%} of the time with "
        f"skips and {lost[-1]:.0%} without; guessing gives {chance:.0%}."
    )
    if kept[0] < 3 * chance:
        return (
            f"{ends} Nothing is written where the stream begins ({kept[0]:.0%}): what is read later attention has "
            "found out, from how many tokens its causal mask shows."
        )
    begins = f"Where the stream begins it is {kept[0]:.0%} and {lost[0]:.0%}"
    if kept[-1] - lost[-1] > CLEAR:
        return f"{ends} {begins}: the skip keeps the position."
    if lost[-1] - kept[-1] > CLEAR:
        return f"{ends} {begins}: here the net without skips keeps more of it."
    return f"{ends} {begins}: here the skip makes no clear difference."


def place_chart(sites: Sequence[str], accuracy: Mapping[str, np.ndarray], chance: float) -> Figure:
    """Share of places read right, site by site; dotted: guessing."""
    series = [
        Series(name, np.asarray(values), role)
        for (name, values), role in zip(accuracy.items(), ("now", "other"), strict=True)
    ]
    title, unit = "Place read from the stream", "share read right; dotted: guessing"
    return linear_profile(
        title=title, unit=unit, hue=SIGNAL, sites=sites, series=series, bounds=SHARE, guides=(chance,)
    )


def beyond_sentence(loss: np.ndarray, tokens: int, step: int) -> str:
    """What places beyond training cost, beside the later half
    of those of training, which have as much text to go by.
    """
    inside, outside = float(np.mean(loss[tokens // 2 : tokens])), float(np.mean(loss[tokens:]))
    if not np.isfinite(inside + outside):
        return f"At step {step} the loss is not finite somewhere."
    said = (
        f"At step {step} places {tokens // 2 + 1} to {tokens} cost {number(inside, 3)} nats, and {tokens + 1} to "
        f"{len(loss)}, which no training text had, {number(outside, 3)}"
    )
    if step == 0:
        return f"{said}. It has learned nothing yet."
    if outside - inside > WORSE:
        return f"{said}: the net does not carry on beyond its length."
    if inside - outside > WORSE:
        return f"{said}: it gets better still."
    return f"{said}: it carries on."


def beyond_chart(loss: np.ndarray, tokens: int) -> Figure:
    """Loss by place, with the end of training's length as an upright line."""
    places = list(range(1, len(loss) + 1))
    title, over = "Loss by place", "token; upright: the length of training"
    figure = lines(title, over=over, at=places, unit="cross-entropy, nats", hue=LOSS, series=[Series("loss", loss)])
    figure["layout"]["shapes"] = [level(x=tokens - 0.5, dash="dot")]  # the axis counts from 0
    return figure
