"""Positions: what is added or rotated, scores by distance, longer texts, and shuffled tokens."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import by_name, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.attention import placed_words
from components.labs.attention.head import MAX_TERMS
from components.labs.examples import choose
from components.labs.maps import signed_map
from components.labs.parts import charts, say
from components.shell.text import badge, named_table, number, vector
from models.content import Texts
from models.labs import positions as encodings
from models.labs.attention_examples import PRINTED_POSITION
from models.spec import POSITIONS
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
KEY = "attention_positions"
SINES = "sinusoidal"
MAX_POSITIONS = 1024
MAX_DRAWN = 128  # positions along an axis of the table
# Positions and features.
EXAMPLES = {
    "32 positions, 16 features": (32, 16),
    "Four features": (8, 4),
    "128 positions, 64 features": (128, 64),
    "1,024 positions, 64 features": (MAX_POSITIONS, 64),
}
TOKENS, FEATURES = 6, 8  # of the shuffling test
ROUNDING = 1e-9  # share of the largest score below which a difference is rounding
TABLES = {
    SINES: "Table that is added",
    "learned": "Table that is added",
    "rotary": "Rotation angles",
    "relative bias": "Added to the scores",
    "alibi": "Added to the scores",
    "none": "Nothing is added",
}
SCORED = {  # what the chart by distance shows
    SINES: "rows of the table",
    "learned": "random rows of the table",
    "rotary": "query and key",
    "relative bias": "query and key with random numbers",
    "alibi": "query and key with a bias",
    "none": "query and key",
}


@dataclass(frozen=True)
class ShownPositions(Settings):
    columns = (3,)

    kind: Annotated[str, Knob("Position", choices=dict.fromkeys(POSITIONS), link="encoding", control="segments")] = (
        SINES
    )
    count: Annotated[int, Knob("Positions", low=2, high=MAX_POSITIONS, link="positions", control="slider")] = 32
    width: Annotated[int, Knob("Features", 2, 64, 2, link="features", control="slider")] = 16
    seed: Annotated[int, Knob("Seed", high=999)] = 0
    place: Annotated[int, Knob("Position written out", high=MAX_POSITIONS - 1)] = 1
    projected: Annotated[bool, Knob("Through random W_Q and W_K")] = False


def draw() -> None:
    def load(example: tuple[int, int]) -> None:
        form.put(KEY, count=example[0], width=example[1], kind=SINES)

    kind = form.draw(ShownPositions, KEY, only=["kind"]).kind
    st.markdown(f"**{kind.capitalize()}**: {POSITIONS[kind].reading}.")
    placed_words.draw(kind, form.keep(ShownPositions, KEY, only=["seed"]).seed)
    st.subheader("Many positions", anchor=False)
    example = choose(KEY, EXAMPLES, load, name="table")
    if example == "Four features":
        st.info(slip())
    usual = ShownPositions(SINES, *EXAMPLES[example])
    at = form.draw(ShownPositions, KEY, usual, only=["count", "width", "seed"])
    count, width, seed = at.count, at.width, at.seed
    if kind == SINES:
        place = form.draw(ShownPositions, KEY, only=["place"], legal={"place": range(count)}).place
        st.latex(r"p_{t,2i}=\sin\frac{t}{10000^{2i/D}},\qquad p_{t,2i+1}=\cos\frac{t}{10000^{2i/D}}")
        st.markdown(f"{row(place, width)} {badge('formula')}")
    if len(encodings.bias(kind, count)):
        st.latex(rf"s_{{ij}}={POSITIONS[kind].formula}")
        st.markdown(f"{of_scores(kind, count)} {badge('formula')}")
    left, right = st.columns(2)
    with left:
        charts(KEY, table_map(kind, count, width, seed), height=340)
        if (every := _every(count)) > 1 and kind != "none":
            st.caption(TEXTS("positions left out", every=every))
        if len(table := encodings.added(kind, count, width, seed)):
            st.caption(closest_rows(table))
    with right:
        _distance(kind, count, width, seed)
    st.markdown(f"**A longer text.** {longer(kind, count, width)} {badge('formula')}")
    st.caption(TEXTS("see trained nets"))
    st.markdown(f"**Shuffled tokens** {badge('formula')}")
    rows = order_rows(seed)
    st.markdown(order_sentence(rows))
    cells = {
        f"largest difference, {mask}": [number(differences[mask], 3) for differences in rows.values()]
        for mask in ("no mask", "causal mask")
    }
    named_table("Shuffled tokens", {"position": list(rows)} | cells)
    st.caption(TEXTS("shuffled tokens", tokens=TOKENS, features=FEATURES))


def slip() -> str:
    """A widely copied row for position 1, and the right values."""
    printed = np.array(PRINTED_POSITION)
    right = encodings.sinusoids(np.arange(2), len(printed))[1].round(3)
    return TEXTS("slip of a position", printed=printed, features=len(printed), right=right)


def row(place: int, width: int) -> str:
    """The sinusoidal row of one position, its first pairs written out."""
    values = encodings.sinusoids(np.array([place]), width)[0]
    pairs = []
    for pair in range(min(width // 2, MAX_TERMS // 2)):
        angle = f"{place}/{number(encodings.BASE ** (2 * pair / width))}"
        pairs.append(f"sin({angle}) = {number(values[2 * pair])}, cos({angle}) = {number(values[2 * pair + 1])}")
    whole = vector(values[:MAX_TERMS].round(3))[:-1] + ", ...]"
    whole = vector(values.round(3)) if width <= 2 * MAX_TERMS else whole
    return f"Position {place}: {'; '.join(pairs)}{' ...' if width > MAX_TERMS else ''}  \nrow: **{whole}**"


def of_scores(kind: str, count: int) -> str:
    """What is added to scores over this many positions: buckets used, or the weight left to a distant token."""
    if kind == "alibi":
        first, last = encodings.slopes(encodings.HEADS)[0], encodings.slopes(encodings.HEADS)[-1]
        powers = -first * (count - 2), -last * (count - 2)
        kept = {"first_share": np.exp(powers[0]), "last_share": np.exp(powers[1])}
        return TEXTS("slopes", heads=encodings.HEADS, first=first, last=last, far=count - 1, power=powers[0], **kept)
    begins = np.flatnonzero(np.diff(encodings.bucket(np.arange(encodings.FURTHEST + 1)))) + 1
    wide = begins[encodings.BUCKETS // 4 - 1 :].tolist()
    return TEXTS(
        "buckets",
        count=count,
        used=len(np.unique(encodings.bucket(np.arange(1 - count, count)))),
        buckets=encodings.BUCKETS,
        near=wide[0] - 1,
        wide=", ".join(map(str, wide)),
        own=encodings.BUCKETS // 2 - 1,
    )


def claim(kind: str, dots: encodings.ByDistance) -> str:
    """Whether only the distance of two positions determines their score, and whether the score shows their order."""
    if kind == "none":
        return TEXTS("distance does not matter")
    size, spread = float(np.abs(dots.mean).max()) or 1.0, dots.spread
    if spread > ROUNDING * size:
        return TEXTS("distance is not enough", spread=spread, size=size)
    sided = float(np.abs(dots.mean - dots.mean[::-1]).max())
    if sided > ROUNDING * size:
        return TEXTS("distance shows the order", spread=spread, sided=sided)
    return TEXTS("distance hides the order", spread=spread)


def closest_rows(table: np.ndarray) -> str:
    """Whether every position has a row of its own, judged by the two closest rows."""
    apart, first, second = encodings.nearest_rows(table)
    verdict = "No two positions share a row." if apart > ROUNDING else "Two positions share a row."
    measured = {"apart": apart, "length": np.linalg.norm(table, axis=1).mean()}
    return TEXTS("closest rows", verdict=verdict, first=first, second=second, features=table.shape[1], **measured)


def longer(kind: str, count: int, width: int) -> str:
    """What happens at position `count` of a longer text."""
    if kind == "learned":
        return TEXTS("longer with a learned table", count=count, last=count - 1)
    if kind == "alibi":
        return TEXTS("longer with slopes", count=count, subtracted=encodings.slopes(encodings.HEADS)[0] * count)
    if kind == "relative bias":
        new, *known = encodings.bucket(np.arange(count, -1, -1))
        heading = "longer with a known bucket" if new in known else "longer with a new bucket"
        return TEXTS(heading, count=count, bucket=new)
    if kind == "none":
        return TEXTS("longer without positions")
    gone = encodings.turns(width, count)
    new, what = int((gone < 1).sum()), "row" if kind == SINES else "angles"
    pairs = {"full": len(gone) - new, "pairs": len(gone), "new": new}
    return TEXTS("longer with angles", count=count, what=what, slowest=gone[-1], **pairs)


def table_map(kind: str, count: int, width: int, seed: int) -> Figure:
    """The table as a map; for rotary the cosines and sines of its angles; for a bias what is added to scores."""
    every = _every(count)
    places = [str(at) for at in range(0, count, every)]
    how: dict[str, Any] = {"unit": "added", "x": "feature", "y": "position"}
    values, columns = encodings.added(kind, count, width, seed), [str(at + 1) for at in range(width)]
    if kind == "rotary":
        turned, pairs = encodings.angles(np.arange(count), width), range(1, width // 2 + 1)
        values = np.concatenate((np.cos(turned), np.sin(turned)), axis=1)
        columns = [f"{name} {at}" for name in ("cos", "sin") for at in pairs]
        how |= {"unit": "cosine, sine", "x": "angle"}
    elif len(by_pair := encodings.bias(kind, count, seed)):
        values, columns = by_pair, places
        how |= {"x": "position of the key", "y": "of the query"}
        values = values[:, ::every]
    values = values[::every]
    return signed_map(TABLES[kind], rows=places[: len(values)], columns=columns, values=values, **how)


def _every(count: int) -> int:
    """Which of so many positions are drawn: every one, second, third, ..."""
    return -(-count // MAX_DRAWN)


def distance_chart(table: np.ndarray) -> Figure:
    dots = encodings.by_distance(table)
    lines = {"mean": dots.mean, "minimum": dots.least, "maximum": dots.greatest}
    how: dict[str, Any] = {"sites": dots.distance.tolist(), "series": by_name(lines, ("now", "previous", "pinned"))}
    x = "distance: position of the key minus that of the query"
    return linear_profile(title="Score by distance", x=x, unit="dot product", hue=SIGNAL, **how)


def order_rows(seed: int) -> dict[str, dict[str, float]]:
    """How far a head's output changes, beyond the shuffling itself, when tokens are shuffled: by kind and mask."""
    source = np.random.default_rng([seed, 3])
    x, order = source.standard_normal((TOKENS, FEATURES)), source.permutation(TOKENS)
    if (order == np.arange(TOKENS)).all():
        order = order[::-1]
    return {
        kind: {
            name: encodings.order_difference(
                encodings.one_head(kind, TOKENS, FEATURES, causal=causal, seed=seed), x, order
            )
            for name, causal in (("no mask", False), ("causal mask", True))
        }
        for kind in POSITIONS
    }


def order_sentence(rows: dict[str, dict[str, float]]) -> str:
    blind = [f"“{kind}” with {mask}" for kind, by_mask in rows.items() for mask in by_mask if by_mask[mask] < ROUNDING]
    return TEXTS("blind to the order", blind="; ".join(blind) or "none of them")


def _distance(kind: str, count: int, width: int, seed: int) -> None:
    projected = False
    if kind in (SINES, "learned"):
        projected = form.draw(ShownPositions, KEY, only=["projected"]).projected
    table = encodings.scores(kind, count, width, seed=seed, projected=projected)
    say(claim(kind, encodings.by_distance(table)))
    charts(KEY, distance_chart(table))
    st.caption(TEXTS(SCORED[kind]))
