"""The sentences on lens and attention at one position, and the choice of the next token."""

import math
from collections.abc import Sequence

import numpy as np

from models.answers import Lens
from models.insight.words import number
from models.trace import site_in_words

SEED = 0  # of the draws that continue a text, the same for everybody
SHOWN = {" ": "␣", "\n": "↵"}  # visible stand-ins for characters that cannot be seen


def shown(token: str) -> str:
    """A token as charts and sentences write it."""
    return SHOWN.get(token, token)


def settled(top: np.ndarray) -> int:
    """The first site from which every later site that is read (not -1) has the final class on top, (S,)."""
    other = np.flatnonzero((top != top[-1]) & (top >= 0))
    later = np.flatnonzero(top >= 0)
    return int(later[later > other.max(initial=-1)][0])


def lens_sentence(lens: Lens, sites: tuple[str, ...], position: int) -> str:
    """What the net says at one position, from which site on, and how far the start of the stream is from it."""
    top, truth = lens.top[:, position], int(lens.truth[position])
    where = f'At token {position + 1}, "{shown(lens.tokens[position])}",'
    if top[-1] < 0:
        return f"{where} the net's probabilities are not finite: it says nothing."
    names = [f'"{shown(name)}"' for name in lens.classes]
    right = "" if truth < 0 else ", which is right" if truth == top[-1] else f"; right is {names[truth]}"
    says = f"{where} the net says {names[top[-1]]} with {lens.chance[-1, position]:.0%}{right}."
    at = settled(top)
    where = site_in_words(sites[at])
    if at == 0:
        return f"{says} At {where} the lens already predicts this."
    since = f"Only at the end, {where}, does" if at == len(top) - 1 else f"From {where} on,"
    predicts = "the lens predict this" if at == len(top) - 1 else "the lens already predicts this"
    start = f"at {site_in_words(sites[0])} it predicts {names[top[0]]} (KL {number(lens.kl[0, position], 2)} nats)"
    return f"{says} {since} {predicts}{'' if top[0] < 0 else f'; {start}'}."


def attention_sentence(tokens: Sequence[str], weights: np.ndarray, block: int) -> str:
    """Which attention head of a block gives one token the most weight, and which token, (H, T)."""
    if not weights.size:
        return f"Block {block} was taken out: it has no attention."
    if not np.isfinite(weights).all():
        return f"The attention of block {block} is not finite."
    if weights.shape[1] == 1:
        return "There is one token, and attention has nothing to choose from."
    head, at = np.unravel_index(int(weights.argmax()), weights.shape)
    return (
        f"Of block {block}'s heads, head {head + 1} looks hardest: "
        f'{weights[head, at]:.0%} at token {at + 1}, "{shown(tokens[int(at)])}".'
    )


def tempered(p: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities (C,) at a temperature: p^(1/temperature) over their sum; at 0 all on the likeliest."""
    if temperature == 0:
        return np.eye(len(p))[int(p.argmax())]
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(p, float)) / temperature
    powers = np.exp(logs - logs.max())
    return powers / powers.sum()


def next_class(p: np.ndarray, temperature: float, position: int, seed: int = SEED) -> int:
    """The next class after `position` tokens.

    The draw depends on position and seed only, so that only the net and the temperature change the text. ValueError for
    a temperature below 0, or for probabilities that are not finite.
    """
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"temperature is {temperature!r}; legal is 0 or more")
    if not np.isfinite(p).all():
        raise ValueError("the probabilities are not finite; no token can be drawn from them")
    upto = tempered(p, temperature).cumsum()
    return int(np.searchsorted(upto, np.random.default_rng([seed, position]).random() * upto[-1], side="right"))
