"""What the lens and attention say at one position, in a sentence, and which token a net goes on with."""

import math
from collections.abc import Sequence

import numpy as np

from models.trace import site_in_words

SEED = 0  # of the draws with which a text is continued, the same for everybody
SHOWN = {" ": "␣", "\n": "↵"}  # how characters are written that nobody sees


def shown(token: str) -> str:
    """A token as it is written in charts and sentences."""
    return SHOWN.get(token, token)


def settled(top: np.ndarray) -> int:
    """The first site from which on every site that is read (not -1) has the last one's class on top. (S,)."""
    other = np.flatnonzero((top != top[-1]) & (top >= 0))
    later = np.flatnonzero(top >= 0)
    return int(later[later > other.max(initial=-1)][0])


def lens_sentence(
    *,
    sites: tuple[str, ...],
    classes: Sequence[str],
    top: np.ndarray,
    chance: np.ndarray,
    kl: np.ndarray,
    truth: int,
    position: str,
) -> str:
    """What the net says at one position, since which site, and how far the stream's start is from it. (S,) each.

    `truth` is the right class, -1 where none is known.
    """
    if top[-1] < 0:
        return f"At {position} the net's probabilities are not finite: it says nothing."
    names = [f'"{shown(name)}"' for name in classes]
    right = "" if truth < 0 else ", which is right" if truth == top[-1] else f"; right is {names[truth]}"
    says = f"At {position} the net says {names[top[-1]]} with {chance[-1]:.0%}{right}."
    at = settled(top)
    since = "already at" if at == 0 else "only at the end," if at == len(top) - 1 else "from"
    until = "" if at in (0, len(top) - 1) else " on"
    start = (
        ""
        if at == 0 or top[0] < 0
        else f"; at {site_in_words(sites[0])} it says {names[top[0]]}, {kl[0]:.2g} nats from the end"
    )
    return f"{says} The lens says so {since} {site_in_words(sites[at])}{until}{start}."


def attention_sentence(tokens: Sequence[str], weights: np.ndarray, block: int) -> str:
    """Which head (H, T) of a block looks hardest at one token, and at which."""
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
    """Probabilities (C,) at a temperature: p^(1/temperature), over their sum; all on the likeliest at 0."""
    if temperature == 0:
        return np.eye(len(p))[int(p.argmax())]
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(p, float)) / temperature
    powers = np.exp(logs - logs.max())
    return powers / powers.sum()


def next_class(p: np.ndarray, temperature: float, position: int, seed: int = SEED) -> int:
    """The class that a text goes on with after `position` tokens. The same draw for a
    position and a seed at every look: only the net and the temperature change what comes.
    ValueError for a temperature below 0, or for probabilities that are not finite.
    """
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"temperature is {temperature!r}; legal is 0 or more")
    if not np.isfinite(p).all():
        raise ValueError("the probabilities are not finite; no token can be drawn from them")
    upto = tempered(p, temperature).cumsum()
    return int(np.searchsorted(upto, np.random.default_rng([seed, position]).random() * upto[-1], side="right"))
