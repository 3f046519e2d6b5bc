"""Sentences on lens and attention at one position, and the choice of the next token."""

import math
from collections.abc import Sequence

import numpy as np

from models.answers import Lens
from models.insight.words import number
from models.trace import site_in_words

SAMPLING_SEED = 0  # of the draws that continue a text; the same for every visitor
VISIBLE_STAND_INS = {" ": "␣", "\n": "↵"}


def visible_token(token: str) -> str:
    """A token with a visible character in place of a space or a line break."""
    return VISIBLE_STAND_INS.get(token, token)


def settling_site(top: np.ndarray) -> int:
    """Index of the first site from which on every later site predicts the final class.

    `top` is the likeliest class by site (S,), or -1 where the lens has no answer; such sites are skipped.
    """
    readable = np.flatnonzero(top >= 0)
    last_wrong = readable[top[readable] != top[-1]].max(initial=-1)
    return int(readable[readable > last_wrong][0])


def lens_sentence(lens: Lens, sites: tuple[str, ...], position: int) -> str:
    """The net's answer at one position, from which site on the lens predicts it, and what it predicts at the start."""
    top, truth = lens.top[:, position], int(lens.truth[position])
    place = f'At token {position + 1}, "{visible_token(lens.tokens[position])}",'
    if top[-1] < 0:
        return f"{place} the net's probabilities are not finite: it says nothing."
    names = [f'"{visible_token(name)}"' for name in lens.classes]
    right = "" if truth < 0 else ", which is right" if truth == top[-1] else f"; the right answer is {names[truth]}"
    answer = f"{place} the net says {names[top[-1]]} with {lens.probability[-1, position]:.0%}{right}."
    settled = settling_site(top)
    site = site_in_words(sites[settled])
    if settled == 0:
        return f"{answer} At {site} the lens already predicts this."
    if settled == len(top) - 1:
        prediction = f"Only at the end, {site}, does the lens predict this"
    else:
        prediction = f"From {site} on, the lens already predicts this"
    if top[0] < 0:
        return f"{answer} {prediction}."
    start = f"at {site_in_words(sites[0])} it predicts {names[top[0]]} (KL {number(lens.kl[0, position], 2)} nats)"
    return f"{answer} {prediction}; {start}."


def attention_sentence(tokens: Sequence[str], weights: np.ndarray, block: int) -> str:
    """The head of a block that gives a single token the most weight, and that token; `weights` is (H, T)."""
    if not weights.size:
        return f"Block {block} was taken out: it has no attention."
    if not np.isfinite(weights).all():
        return f"The attention of block {block} is not finite."
    if weights.shape[1] == 1:
        return "There is one token, and attention has nothing to choose from."
    head, token = np.unravel_index(int(weights.argmax()), weights.shape)
    return (
        f"Of block {block}'s heads, head {head + 1} is the most focused: "
        f'{weights[head, token]:.0%} at token {token + 1}, "{visible_token(tokens[int(token)])}".'
    )


def with_temperature(p: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities (C,) at a temperature, p^(1/temperature) normalised; temperature 0 puts all on the likeliest."""
    if temperature == 0:
        return np.eye(len(p))[int(p.argmax())]
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(p, float)) / temperature
    powers = np.exp(logs - logs.max())
    return powers / powers.sum()


def next_class(p: np.ndarray, temperature: float, position: int, seed: int = SAMPLING_SEED) -> int:
    """Draws the next class after `position` tokens from probabilities (C,).

    The random number depends only on position and seed, so that only the net and the temperature change the text.
    ValueError for a temperature below 0, or for probabilities that are not finite.
    """
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"temperature is {temperature!r}; legal is 0 or more")
    if not np.isfinite(p).all():
        raise ValueError("the probabilities are not finite; no token can be drawn from them")
    cumulative = with_temperature(p, temperature).cumsum()
    drawn = np.random.default_rng([seed, position]).random() * cumulative[-1]
    return int(np.searchsorted(cumulative, drawn, side="right"))
