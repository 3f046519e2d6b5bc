"""Whether layers do nothing where little is needed, in a sentence about branch shares."""

import numpy as np

from components.shell.text import number
from models.content import Texts

TEXTS = Texts("labs/residual")

# Share of what branches add on the hard task: below LESS they do less on an easy one, below ASIDE next to nothing.
LESS, ASIDE = 0.8, 0.4
EASY = {"linear": "a straight line", "copy": "random sequences"}


def aside_sentence(shares: dict[str, np.ndarray], step: int, residual: bool) -> str:
    """How much the branches add on `linear`, `copy` and `spiral`, from branch over stream by block (depth,)."""
    size = {task: float(np.sqrt(np.mean(np.square(values)))) for task, values in shares.items()}
    measured = TEXTS("shares", step=step, **{task: number(value, 2) for task, value in size.items()})
    if not residual:
        return TEXTS("shares without residual", measured=measured)
    return f"{measured}: {_verdict(size)}."


def _verdict(size: dict[str, float]) -> str:
    if not all(np.isfinite(value) for value in size.values()):
        return "not all of them are finite"
    if size["spiral"] == 0:
        return "before training every branch is off, and every block is the identity"
    ratio = {task: size[task] / size["spiral"] for task in EASY}
    less = [words for task, words in EASY.items() if ratio[task] < LESS]
    most = max(ratio.values())
    if most < ASIDE:
        return f"where little is needed the layers do almost nothing, at most {most:.0%} of the spiral's share"
    if len(less) == len(EASY):
        return f"where little is needed the layers do less, at most {most:.0%} of the spiral's share, but not nothing"
    if less:
        return f"the layers do clearly less on {less[0]} only"
    return "the layers do about as much where little is needed"
