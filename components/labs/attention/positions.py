"""Positions: what is added or rotated, scores by distance, longer texts, and shuffled tokens."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.colour import SIGNAL
from components.charts.depth import Series, linear_profile
from components.charts.parts import Figure
from components.controls import form
from components.labs.attention import position_words as said
from components.labs.examples import choose
from components.labs.maps import signed_map
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from models.labs.position_kinds import KINDS, added, bias, one_head, scores
from models.labs.positions import angles, by_distance, order_difference
from models.spec.knob import Knob
from models.spec.settings import Settings

KEY = "attention_positions"
SINES = "sinusoidal"
# Positions and features.
EXAMPLES = {"32 positions, 16 features": (32, 16), "Four features": (8, 4), "128 positions, 64 features": (128, 64)}
TOKENS, FEATURES = 6, 8  # of the shuffling test
ROUNDING = 1e-9


@dataclass(frozen=True)
class ShownPositions(Settings):
    """The encoding, how many positions and features it has, and what is written out of it."""

    columns = (1, 3)

    kind: Annotated[str, Knob("Position", choices=dict.fromkeys(KINDS), link="encoding", control="segments")] = SINES
    count: Annotated[int, Knob("Positions", low=2, high=128, link="positions", control="slider")] = 32
    width: Annotated[int, Knob(
        "Features", "Of a token; for rotary, of a query or key. An even number, because they come in pairs.", 2, 64, 2,
        link="features", control="slider"
    )] = 16  # fmt: skip
    seed: Annotated[int, Knob(
        "Seed", "Seeds the learned table, W_Q and W_K, the query and key, and the attention head below.", high=999
    )] = 0  # fmt: skip
    place: Annotated[int, Knob("Position written out", high=127)] = 1
    projected: Annotated[bool, Knob(
        "Through random W_Q and W_K", "What a head sees: rows times W_Q against rows times W_K. Off: row against row."
    )] = False  # fmt: skip


def draw() -> None:
    """The controls, and everything about the chosen encoding."""
    at = _controls()
    kind, count, width, seed = at.kind, at.count, at.width, at.seed
    st.markdown(f"**{kind.capitalize()}**: {KINDS[kind]}.")
    if kind == SINES:
        place = form.draw(ShownPositions, KEY, only=["place"], legal={"place": range(count)}).place
        st.latex(r"p_{t,2i}=\sin\frac{t}{10000^{2i/D}},\qquad p_{t,2i+1}=\cos\frac{t}{10000^{2i/D}}")
        st.markdown(f"{said.row(place, width)} {badge('formula')}")
    if kind in said.FORMULAS:
        st.latex(said.FORMULAS[kind])
        st.markdown(f"{said.of_scores(kind, count)} {badge('formula')}")
    left, right = st.columns(2)
    with left:
        static_chart(table_map(kind, count, width, seed), TABLES[kind], f"{KEY}_table", height=340)
        if len(table := added(kind, count, width, seed)):
            st.caption(said.unique(table))
    with right:
        _distance(kind, count, width, seed)
    st.markdown(f"**A longer text.** {said.longer(kind, count, width)} {badge('formula')}")
    st.caption(
        "How trained nets handle longer texts, and how well a position can be read inside them: see “Inside trained "
        "nets”."
    )
    _order(seed)


TABLES = {
    SINES: "Table that is added",
    "learned": "Table that is added",
    "rotary": "Rotation angles",
    "relative bias": "Added to the scores",
    "alibi": "Added to the scores",
    "none": "Nothing is added",
}


def table_map(kind: str, count: int, width: int, seed: int) -> Figure:
    """The table as a map; for rotary the cosines and sines of its angles; for a bias what is added to scores."""
    if len(scored := bias(kind, count, seed)):
        places = [str(at) for at in range(count)]
        return signed_map(
            TABLES[kind],
            rows=places,
            columns=places,
            values=scored,
            unit="added",
            x="position of the key",
            y="of the query",
        )
    values = added(kind, count, width, seed)
    columns = [str(at + 1) for at in range(width)]
    unit = "added"
    if kind == "rotary":
        turned = angles(np.arange(count), width)
        values, unit = np.concatenate((np.cos(turned), np.sin(turned)), axis=1), "cosine, sine"
        pairs = range(1, width // 2 + 1)
        columns = [f"cos {at}" for at in pairs] + [f"sin {at}" for at in pairs]
    rows = [str(at) for at in range(len(values))]
    x = "angle" if kind == "rotary" else "feature"
    return signed_map(TABLES[kind], rows=rows, columns=columns, values=values, unit=unit, x=x, y="position")


def distance_chart(table: np.ndarray) -> Figure:
    """Mean, minimum and maximum score of all pairs by distance."""
    found = by_distance(table)
    series = [
        Series("mean", found.mean),
        Series("minimum", found.least, "ghost"),
        Series("maximum", found.greatest, "pinned"),
    ]
    over, at = "distance: position of the key minus that of the query", found.distance.tolist()
    return linear_profile(title="Score by distance", x=over, sites=at, unit="dot product", hue=SIGNAL, series=series)


def order_rows(seed: int) -> dict[str, dict[str, float]]:
    """How far a head's output changes, beyond the shuffling itself, when tokens are shuffled: by kind and mask."""
    source = np.random.default_rng([seed, 3])
    x, order = source.standard_normal((TOKENS, FEATURES)), source.permutation(TOKENS)
    if (order == np.arange(TOKENS)).all():
        order = order[::-1]
    return {
        kind: {
            name: order_difference(one_head(kind, TOKENS, FEATURES, causal=causal, seed=seed), x, order)
            for name, causal in (("no mask", False), ("causal mask", True))
        }
        for kind in KINDS
    }


def order_sentence(rows: dict[str, dict[str, float]]) -> str:
    """Which encodings notice that tokens were shuffled."""
    blind = [f"“{kind}” with {mask}" for kind, found in rows.items() for mask, off in found.items() if off < ROUNDING]
    return (
        f"Blind to the order: {'; '.join(blind) or 'none of them'}. All others give different outputs for shuffled "
        "tokens: a causal mask alone tells a head how many tokens precede each one."
    )


def _distance(kind: str, count: int, width: int, seed: int) -> None:
    projected = False
    if kind in (SINES, "learned"):
        projected = form.draw(ShownPositions, KEY, only=["projected"]).projected
    table = scores(kind, count, width, seed=seed, projected=projected)
    st.markdown(f"**{said.claim(kind, by_distance(table))}** {badge('formula')}")
    static_chart(distance_chart(table), "Score by distance", f"{KEY}_distance")
    st.caption(f"{said.scored(kind)} {said.untrained(kind)}".strip())


def _order(seed: int) -> None:
    st.markdown(f"**Shuffled tokens** {badge('formula')}")
    rows = order_rows(seed)
    st.markdown(order_sentence(rows))
    named_table(
        "Shuffled tokens",
        {
            "position": list(rows),
            "largest difference, no mask": [number(found["no mask"], 3) for found in rows.values()],
            "largest difference, causal mask": [number(found["causal mask"], 3) for found in rows.values()],
        },
    )
    st.caption(
        f"One attention head with random weights on {TOKENS} tokens of {FEATURES} features: its output for the "
        "shuffled tokens minus its shuffled output for the tokens in order. About 1e-16 is rounding."
    )


def _controls() -> ShownPositions:
    def load(example: tuple[int, int]) -> None:
        form.put(KEY, count=example[0], width=example[1], kind=SINES)

    example = choose(KEY, EXAMPLES, load, name="table")
    if example == "Four features":
        st.info(said.slip())
    return form.draw(
        ShownPositions, KEY, ShownPositions(SINES, *EXAMPLES[example]), only=["kind", "count", "width", "seed"]
    )
