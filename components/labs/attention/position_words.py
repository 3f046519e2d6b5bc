"""Sentences about positions: whether only distance matters, longer texts, a widely copied slip."""

import numpy as np

from components.labs.attention.head_words import WRITTEN_OUT
from components.shell.text import number, vector
from models.labs.attention_examples import PRINTED_POSITION
from models.labs.position_kinds import HEADS, turns
from models.labs.positions import BASE, BUCKETS, FURTHEST, ByDistance, bucket, nearest_rows, sinusoids, slopes

ROUNDING = 1e-9  # share of the largest score below which a difference is rounding


def slip() -> str:
    """A widely copied row for position 1, and the right values."""
    right = sinusoids(np.arange(2), len(PRINTED_POSITION))[1]
    return (
        f"A widely copied worked example gives {vector(PRINTED_POSITION)} for position 1 with {len(PRINTED_POSITION)} "
        f"features; the right values, sines and cosines of 1 and 1/100, are {vector(right.round(3))}."
    )


def row(place: int, width: int) -> str:
    """The sinusoidal row of one position, its first pairs written out."""
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
    """What is added to scores over this many positions: buckets used, or the weight left to a distant token."""
    if kind == "alibi":
        first, last = slopes(HEADS)[0], slopes(HEADS)[-1]
        far = count - 1
        kept = [np.exp(-slope * (far - 1)) for slope in (first, last)]
        return (
            f"Of {HEADS} heads the first has the slope {number(first)}, the last {number(last)}. Compared with the "
            f"next token, one {far} positions away keeps {number(kept[0], 3)} of its weight in the first head (e to "
            f"the power of {number(-first * (far - 1))}) and {number(kept[1], 3)} in the last. The first is shown."
        )
    near = BUCKETS // 4
    used = np.unique(bucket(np.arange(-(count - 1), count)))
    wide = [int(at) for at in np.flatnonzero(np.diff(bucket(np.arange(FURTHEST + 1)))) + 1]
    return (
        f"Without a mask {count} positions use {len(used)} of a head's {BUCKETS} numbers, half of them for earlier "
        f"tokens and half for later ones. Each distance up to {wide[near - 1] - 1} has its own number; larger "
        f"distances share: a new one begins at {', '.join(str(at) for at in wide[near - 1 :])}. Under a causal mask "
        f"all {BUCKETS} are for earlier tokens, and distances up to {BUCKETS // 2 - 1} have their own. T5 does not "
        "divide by √d_k; its W_Q starts small instead."
    )


def scored(kind: str) -> str:
    """What the chart by distance shows."""
    if kind in ("sinusoidal", "learned"):
        return "Dot products of rows of the table."
    if kind in FORMULAS:
        return "The score of one fixed query and key over √d_k plus what is added, at all pairs of positions."
    return "Dot products of one fixed query and key at all pairs of positions."


def untrained(kind: str) -> str:
    """What here is random."""
    if kind == "learned":
        return "The table is random, as before training."
    return "T5's numbers are random here; in this app's nets they start at 0." if kind == "relative bias" else ""


def claim(kind: str, found: ByDistance) -> str:
    """Whether only the distance of two positions determines their score, and whether the score shows their order."""
    if kind == "none":
        return "Not even the distance matters: a query and a key score the same at all positions."
    size = float(np.abs(found.mean).max()) or 1.0
    if found.spread > ROUNDING * size:
        return (
            "Distance alone does not determine the score: pairs at the same distance differ by up to "
            f"{number(found.spread, 3)}, while the means by distance reach {number(size, 3)}."
        )
    sided = float(np.abs(found.mean - found.mean[::-1]).max())
    first = (
        f"an earlier and a later key differ by up to {number(sided, 3)}, so the score shows the order"
        if sided > ROUNDING * size
        else "an earlier and a later position score the same, so the score does not show the order"
    )
    return (
        "Distance alone determines the score: all pairs at the same distance agree up to rounding "
        f"({number(found.spread, 2)}); {first}."
    )


def unique(table: np.ndarray) -> str:
    """Whether every position has a row of its own, judged by the two closest rows."""
    apart, first, second = nearest_rows(table)
    own = "No two positions share a row" if apart > ROUNDING else "Two positions share a row"
    return (
        f"{own}: the closest are {first} and {second}, at a distance of {number(apart, 3)}; a row's mean length is "
        f"{number(float(np.linalg.norm(table, axis=1).mean()), 3)}. A row has {table.shape[1]} numbers, as many as a "
        "token, because it is added to one."
    )


def longer(kind: str, count: int, width: int) -> str:
    """What happens at position `count` of a longer text."""
    if kind == "learned":
        return (
            f"The table has {count} rows, for positions 0 to {count - 1}. There is none for position {count}: a longer "
            "text cannot be read at all."
        )
    if kind == "alibi":
        return (
            f"A distance of {count} can be computed: it subtracts {number(slopes(HEADS)[0] * count)} from a score of "
            "the first head. A longer text has larger distances, whose tokens get less and less weight, but no new "
            "kind of number."
        )
    if kind == "relative bias":
        new = int(bucket(np.array([count]))[0])
        known = new in bucket(np.arange(count))
        return f"A distance of {count} falls into bucket {new}, which a text of {count} positions " + (
            "already uses." if known else "never uses: its number has not been trained."
        )
    if kind == "none":
        return "Nothing can run out. In a longer text a head spreads its weights over more tokens."
    gone = turns(width, count)
    new = int((gone < 1).sum())
    what = "its row comes" if kind == "sinusoidal" else "its angles come"
    return (
        f"Position {count} can be computed: {what} from the formula. But that does not make it familiar: within "
        f"{count} positions {len(gone) - new} of the {len(gone)} pairs of features complete a full turn, and the "
        f"slowest makes {number(gone[-1], 2)} of one. At the other {new} a longer text has angles that no training "
        "text had."
    )
