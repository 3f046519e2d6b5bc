"""What is said of positions: whether distance alone matters, what a longer text meets, a widely copied slip."""

import numpy as np

from components.labs.attention.head_words import WRITTEN_OUT
from components.shell.text import number, vector
from models.labs.attention_examples import PRINTED_POSITION
from models.labs.position_kinds import turns
from models.labs.positions import BASE, ByDistance, sinusoids

ROUNDING = 1e-9  # of the largest score, below which a difference is none


def slip() -> str:
    """A widely copied row for position 1, and the right values."""
    right = sinusoids(np.arange(2), len(PRINTED_POSITION))[1]
    return (
        f"A widely copied worked example gives {vector(PRINTED_POSITION)} for position 1 with {len(PRINTED_POSITION)} "
        f"features; the right values, sines and cosines of 1 and 1/100, are {vector(right.round(3))}."
    )


def row(place: int, width: int) -> str:
    """How the sinusoidal row of one place comes about, its first pairs written out."""
    values = sinusoids(np.array([place]), width)[0]
    pairs = []
    for pair in range(min(width // 2, WRITTEN_OUT // 2)):
        by = BASE ** (2 * pair / width)
        angle = f"{place}/{number(by)}"
        pairs.append(f"sin({angle}) = {number(values[2 * pair])}, cos({angle}) = {number(values[2 * pair + 1])}")
    whole = vector(values.round(3)) if width <= 2 * WRITTEN_OUT else f"{vector(values[:WRITTEN_OUT].round(3))[:-1]}, ...]"
    return f"Position {place}: {'; '.join(pairs)}{' ...' if width > WRITTEN_OUT else ''}  \nrow: **{whole}**"


def claim(kind: str, found: ByDistance) -> str:
    """Whether the distance alone decides the score of two places, and whether it shows which of them comes first."""
    if kind == "none":
        return "Not even the distance matters: one query and one key score the same wherever they stand."
    size = float(np.abs(found.mean).max()) or 1.0
    if found.spread > ROUNDING * size:
        return (
            f"Distance alone does not decide: pairs at one distance differ by up to {number(found.spread, 3)}, where the scores' "
            f"means reach {number(size, 3)}."
        )
    sided = float(np.abs(found.mean - found.mean[::-1]).max())
    first = (
        f"a key before and a key after differ by up to {number(sided, 3)}, so it shows which comes first"
        if sided > ROUNDING * size
        else "a place before and a place after score alike, so it does not show which comes first"
    )
    return f"Distance alone decides: all pairs at one distance agree but for rounding ({number(found.spread, 2)}); {first}."


def longer(kind: str, count: int, width: int) -> str:
    """What a text that is longer than `count` meets at its next place."""
    if kind == "learned":
        return (
            f"The table has {count} rows, for positions 0 to {count - 1}. There is none for position {count}: a longer text "
            "cannot be read at all."
        )
    if kind == "none":
        return (
            "There is nothing that could run out. What a longer text changes is over how many tokens a head spreads its weights."
        )
    gone = turns(width, count)
    new = int((gone < 1).sum())
    what = "its row comes" if kind == "sinusoidal" else "its angles come"
    return (
        f"Position {count} can be computed: {what} from the formula. That does not make it known: within {count} positions "
        f"{len(gone) - new} of the {len(gone)} pairs of features have gone round, and the slowest has made {number(gone[-1], 2)} "
        f"of a turn. The other {new} show a longer text angles that no training text had."
    )
