"""Sentences and figures about positions inside trained nets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import SHARE, Series, by_name, linear_profile
from components.charts.parts import Figure, level
from components.shell.text import number

CLEAR = 0.05  # difference in accuracy from which two nets count as different
WORSE = 0.05  # nats from which the longer half counts as better or worse


def place_sentence(accuracy: Mapping[str, np.ndarray], chance: float, step: int) -> str:
    """How well the position can be read at both ends of the stream, and what the residual does."""
    kept, lost = (np.asarray(accuracy[name], float) for name in ("with residuals", "without residuals"))
    if not (np.isfinite(kept).all() and np.isfinite(lost).all()):
        return f"At step {step} a stream is not finite somewhere, so no position can be read there."
    ends = (
        f"At step {step} a token's position is read correctly at the end of the stream {kept[-1]:.0%} of the time with "
        f"residuals and {lost[-1]:.0%} without; chance is {chance:.0%}."
    )
    if kept[0] < 3 * chance:
        return (
            f"{ends} The stream begins without it ({kept[0]:.0%}): attention infers it, from the number of tokens that "
            "its causal mask shows or from what its scores are told of positions."
        )
    begins = f"At the beginning of the stream it is {kept[0]:.0%} and {lost[0]:.0%}"
    if kept[-1] - lost[-1] > CLEAR:
        return f"{ends} {begins}: the residual keeps the position."
    if lost[-1] - kept[-1] > CLEAR:
        return f"{ends} {begins}: here the net without residuals keeps more of it."
    return f"{ends} {begins}: here the residual makes no clear difference."


def place_chart(sites: Sequence[str], accuracy: Mapping[str, np.ndarray], chance: float) -> Figure:
    """Share of positions read correctly, by site, beside that of guessing."""
    title, unit = "Position read from the stream", "share read correctly"
    how: dict[str, Any] = {"guides": (chance,), "levels": [{"name": "chance", "at": chance}], "bounds": SHARE}
    return linear_profile(title=title, unit=unit, hue=SIGNAL, sites=sites, series=by_name(accuracy), **how)


def beyond_sentence(loss: np.ndarray, tokens: int, step: int) -> str:
    """The loss at positions beyond training, compared with the later half of those in training."""
    inside, outside = float(np.mean(loss[tokens // 2 : tokens])), float(np.mean(loss[tokens:]))
    if not np.isfinite(inside + outside):
        return f"At step {step} the loss is not finite somewhere."
    said = (
        f"At step {step} the loss is {number(inside, 3)} nats at positions {tokens // 2 + 1} to {tokens}, and "
        f"{number(outside, 3)} at {tokens + 1} to {len(loss)}, which no training text had"
    )
    if step == 0:
        return f"{said}. The net has learned nothing yet."
    if outside - inside > WORSE:
        return f"{said}: the net does not generalise beyond its training length."
    if inside - outside > WORSE:
        return f"{said}: it even gets better."
    return f"{said}: it generalises."


def beyond_chart(loss: np.ndarray, tokens: int) -> Figure:
    """Loss by position, with a vertical line at the training length."""
    places = list(range(1, len(loss) + 1))
    figure = linear_profile(
        title="Loss by position",
        x="token; vertical line: training length",
        sites=places,
        unit="cross-entropy, nats",
        hue=LOSS,
        series=[Series("loss", loss)],
    )
    figure["layout"]["shapes"] = [level(tokens - 0.5, dash="dot")]  # the axis counts from 0
    return figure
