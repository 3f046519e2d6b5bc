"""What is said of positions: whether distance alone matters, what a longer text meets, a widely copied slip."""

import numpy as np

from components.labs.attention.head_words import WRITTEN_OUT
from components.shell.text import number, vector
from models.labs.attention_examples import PRINTED_POSITION
from models.labs.position_kinds import HEADS, turns
from models.labs.positions import BASE, BUCKETS, FURTHEST, ByDistance, bucket, nearest_rows, sinusoids, slopes

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
    whole = (
        vector(values.round(3)) if width <= 2 * WRITTEN_OUT else f"{vector(values[:WRITTEN_OUT].round(3))[:-1]}, ...]"
    )
    return f"Position {place}: {'; '.join(pairs)}{' ...' if width > WRITTEN_OUT else ''}  \nrow: **{whole}**"


FORMULAS = {
    "relative bias": r"s_{ij}=\frac{q_i\cdot k_j}{\sqrt{d_k}}+b_{\beta(i-j)}",
    "alibi": r"s_{ij}=\frac{q_i\cdot k_j}{\sqrt{d_k}}-m_h\,|i-j|,\qquad m_h=2^{-8h/H}",
}


def of_scores(kind: str, count: int) -> str:
    """What the scores of this many positions get: the buckets they use, or what a far token has left of its weight."""
    if kind == "alibi":
        first, last = slopes(HEADS)[0], slopes(HEADS)[-1]
        far = count - 1
        kept = [np.exp(-slope * (far - 1)) for slope in (first, last)]
        return (
            f"Of {HEADS} heads the first has the slope {number(first)}, the last {number(last)}. Beside its neighbour, "
            f"one {far} places away keeps {number(kept[0], 3)} of its weight in the first head (e to the power of "
            f"{number(-first * (far - 1))}) and {number(kept[1], 3)} in the last. The first is shown."
        )
    near = BUCKETS // 4
    used = np.unique(bucket(np.arange(-(count - 1), count)))
    wide = [int(at) for at in np.flatnonzero(np.diff(bucket(np.arange(FURTHEST + 1)))) + 1]
    return (
        f"{count} positions use {len(used)} of {BUCKETS} numbers of a head; one half is for tokens before, one for "
        f"tokens after. Up to the distance {wide[near - 1] - 1} each has its own; from then on they share: a new one "
        f"begins at {', '.join(str(at) for at in wide[near - 1 :])}."
    )


def scored(kind: str) -> str:
    """Whose scores the chart by distance shows."""
    if kind in ("sinusoidal", "learned"):
        return "Dot products of rows of the table."
    if kind in FORMULAS:
        return "One query with one key over √d_k, and what is added, at all pairs of positions."
    return "Dot products of one query with one key at all pairs of positions."


def untrained(kind: str) -> str:
    """What of this is drawn at random."""
    if kind == "learned":
        return "The table is random here, as before training."
    return "T5's numbers are random here; in the nets of this app they start at 0." if kind == "relative bias" else ""


def claim(kind: str, found: ByDistance) -> str:
    """Whether the distance alone decides the score of two places, and whether it shows which of them comes first."""
    if kind == "none":
        return "Not even the distance matters: one query and one key score the same wherever they stand."
    size = float(np.abs(found.mean).max()) or 1.0
    if found.spread > ROUNDING * size:
        return (
            f"Distance alone does not decide: pairs at one distance differ by up to {number(found.spread, 3)}, where "
            f"the scores' means reach {number(size, 3)}."
        )
    sided = float(np.abs(found.mean - found.mean[::-1]).max())
    first = (
        f"a key before and a key after differ by up to {number(sided, 3)}, so it shows which comes first"
        if sided > ROUNDING * size
        else "a place before and a place after score alike, so it does not show which comes first"
    )
    return (
        f"Distance alone decides: all pairs at one distance agree but for rounding ({number(found.spread, 2)}); "
        f"{first}."
    )


def unique(table: np.ndarray) -> str:
    """Whether every place has a row of its own, by the two that are closest; the rows are as wide as a token."""
    apart, first, second = nearest_rows(table)
    own = "No two positions share a row" if apart > ROUNDING else "Two positions share a row"
    return (
        f"{own}: the closest are {first} and {second}, {number(apart, 3)} apart, where a row is "
        f"{number(float(np.linalg.norm(table, axis=1).mean()), 3)} long. A row has {table.shape[1]} numbers, as many "
        "as a token, for it is added to one."
    )


def longer(kind: str, count: int, width: int) -> str:
    """What a text that is longer than `count` meets at its next place."""
    if kind == "learned":
        return (
            f"The table has {count} rows, for positions 0 to {count - 1}. There is none for position {count}: a longer "
            "text cannot be read at all."
        )
    if kind == "alibi":
        return (
            f"A distance of {count} can be computed, and takes {number(slopes(HEADS)[0] * count)} from a score of the "
            "first head: a longer text shows larger distances, whose tokens weigh less and less, but no new kind of "
            "number."
        )
    if kind == "relative bias":
        new = int(bucket(np.array([count]))[0])
        known = new in bucket(np.arange(count))
        return f"A distance of {count} falls into bucket {new}, which a text of {count} positions " + (
            "has already." if known else "never used: its number is as it was before training."
        )
    if kind == "none":
        return (
            "There is nothing that could run out. What a longer text changes is over how many tokens a head spreads "
            "its weights."
        )
    gone = turns(width, count)
    new = int((gone < 1).sum())
    what = "its row comes" if kind == "sinusoidal" else "its angles come"
    return (
        f"Position {count} can be computed: {what} from the formula. That does not make it known: within {count} "
        f"positions {len(gone) - new} of the {len(gone)} pairs of features have gone round, and the slowest has made "
        f"{number(gone[-1], 2)} of a turn. The other {new} show a longer text angles that no training text had."
    )
