"""Judges the claim: The learned scalars stay at their start."""

import numpy as np

from models.claims.judging import verdict
from models.experiment import Judgement, Lines, Values, judge


@judge("stream token")
def unmoved(values: Values, *, margin: float) -> Judgement:
    """Whether the learned scalars of each net end within `margin` of 1 and 0."""
    scalars = {name: measure.gains.scalars.astype(float) for name, measure in values.items()}  # (L, 2) each
    stream, token = ({name: of[np.abs(of[:, at] - start).argmax(), at] for name, of in scalars.items()}
                     for at, start in enumerate((1.0, 0.0)))  # fmt: skip
    holds = [abs(scalar - 1) < margin for scalar in stream.values()] + [
        abs(scalar) < margin for scalar in token.values()
    ]
    table = {
        "net": list(scalars),
        "on the stream, furthest from 1": list(stream.values()),
        "on the token, furthest from 0": list(token.values()),
    }
    first = next(iter(scalars.values()))
    blocks = tuple(map(str, range(1, len(first) + 1)))
    lines = {"on the stream": first[:, 0], "on the token": first[:, 1]}
    return Judgement(
        verdict(holds),
        {"stream": stream, "token": token},
        table,
        Lines(f"Learned scalars, {next(iter(scalars))}", "after training", lines, blocks, "block", "linear"),
    )
