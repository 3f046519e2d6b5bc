"""Positions: what is added or rotated, scores by distance, longer texts, and shuffled tokens."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.parts import Figure
from components.controls import form
from components.labs.distances import distance_chart, distance_sentence
from components.labs.examples import choose_example, numbered_names
from components.labs.maps import signed_map
from components.labs.page import parts_of
from components.labs.parts import draw_charts, draw_finding, draw_sentence, number_cells
from components.shell.text import named_table, number, vector
from exhibits.labs.attention.positions.numbers import full_turns, nearest_rows, order_difference, random_head
from models.content import Texts
from models.labs import positions as encodings
from models.labs.attention_examples import PRINTED_POSITION
from models.spec import POSITIONS
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/positions")
KEY = "attention_positions"
SINUSOIDAL = "sinusoidal"
MAX_POSITIONS = 1024
MAX_WRITTEN_TERMS = 6  # of a sum; a longer one is abbreviated
MAX_DRAWN_POSITIONS = 128  # along an axis of the table
EXAMPLES = {  # number of positions, number of features
    "32 positions, 16 features": (32, 16),
    "Four features": (8, 4),
    "128 positions, 64 features": (128, 64),
    "1,024 positions, 64 features": (MAX_POSITIONS, 64),
}
SHUFFLED_TOKENS, SHUFFLED_FEATURES = 6, 8
ROUNDING = 1e-9  # a smaller difference, as a share of the largest score, is rounding
MAP_TITLES = {
    SINUSOIDAL: "Table that is added",
    "learned": "Table that is added",
    "rotary": "Rotation angles",
    "relative bias": "Added to the scores",
    "alibi": "Added to the scores",
    "none": "Nothing is added",
}
SCORES_BY_DISTANCE = {
    SINUSOIDAL: "rows of the table",
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
        SINUSOIDAL
    )
    count: Annotated[int, Knob("Positions", low=2, high=MAX_POSITIONS, link="positions", control="slider")] = 32
    width: Annotated[int, Knob("Features", 2, 64, 2, link="features", control="slider")] = 16
    seed: Annotated[int, Knob("Seed", high=999)] = 0
    place: Annotated[int, Knob("Position written out", high=MAX_POSITIONS - 1)] = 1
    projected: Annotated[bool, Knob("Through random W_Q and W_K")] = False


def draw() -> None:
    kind = form.draw(ShownPositions, KEY, only=["kind"]).kind
    st.markdown(f"**{kind.capitalize()}**: {POSITIONS[kind].description}.")
    seed = form.keep(ShownPositions, KEY, only=["seed"]).seed
    for part in [part for parts in parts_of("attention", "positions").values() for part in parts]:
        part.page.draw(kind, seed)
    st.subheader("Many positions", anchor=False)
    example = _choose_example()
    if example == "Four features":
        st.info(slip_sentence())
    defaults = ShownPositions(SINUSOIDAL, *EXAMPLES[example])
    settings = form.draw(ShownPositions, KEY, defaults, only=["count", "width", "seed"])
    count, width, seed = settings.count, settings.width, settings.seed
    if kind == SINUSOIDAL:
        position = form.draw(ShownPositions, KEY, only=["place"], legal={"place": range(count)}).place
        st.latex(r"p_{t,2i}=\sin\frac{t}{10000^{2i/D}},\qquad p_{t,2i+1}=\cos\frac{t}{10000^{2i/D}}")
        draw_sentence(row_text(position, width))
        period = count / full_turns(width, count)
        st.caption(TEXTS("periodic", first=period[0], last=period[-1]))
    if len(encodings.score_bias(kind, count)):
        st.latex(rf"s_{{ij}}={POSITIONS[kind].formula}")
        draw_sentence(bias_sentence(kind, count))
    left, right = st.columns(2)
    with left:
        draw_charts(KEY, table_map(kind, count, width, seed), height=340)
        interval = _position_step(count)
        if interval > 1 and kind != "none":
            st.caption(TEXTS("positions left out", every=interval))
        table = encodings.position_rows(kind, count, width, seed)
        if len(table):
            st.caption(closest_rows_sentence(table))
    with right:
        _draw_scores_by_distance(kind, count, width, seed)
    draw_sentence(f"**A longer text.** {longer_text_sentence(kind, count, width)}")
    st.caption(TEXTS("see trained nets"))
    _draw_shuffling(seed)


def _choose_example() -> str:
    def load(example: tuple[int, int]) -> None:
        form.put(KEY, count=example[0], width=example[1], kind=SINUSOIDAL)

    return choose_example(KEY, EXAMPLES, load, link="table")


def _draw_scores_by_distance(kind: str, count: int, width: int, seed: int) -> None:
    projected = False
    if kind in (SINUSOIDAL, "learned"):
        projected = form.draw(ShownPositions, KEY, only=["projected"]).projected
    scores = encodings.scores(kind, count, width, seed=seed, projected=projected)
    draw_finding(distance_sentence(kind, encodings.by_distance(scores)))
    draw_charts(KEY, distance_chart(scores))
    st.caption(TEXTS(SCORES_BY_DISTANCE[kind]))


def _draw_shuffling(seed: int) -> None:
    draw_finding("Shuffled tokens")
    differences = shuffling_differences(seed)
    st.markdown(order_sentence(differences))
    columns = {
        f"largest difference, {mask}": number_cells((by_mask[mask] for by_mask in differences.values()), 3)
        for mask in ("no mask", "causal mask")
    }
    named_table("Shuffled tokens", {"position": list(differences)} | columns)
    st.caption(TEXTS("shuffled tokens", tokens=SHUFFLED_TOKENS, features=SHUFFLED_FEATURES))


def shuffling_differences(seed: int) -> dict[str, dict[str, float]]:
    """Largest difference between a head's output on shuffled tokens and its shuffled output, by encoding and mask."""
    rng = np.random.default_rng([seed, 3])
    x = rng.standard_normal((SHUFFLED_TOKENS, SHUFFLED_FEATURES))
    order = rng.permutation(SHUFFLED_TOKENS)
    if (order == np.arange(SHUFFLED_TOKENS)).all():
        order = order[::-1]

    def difference(kind: str, causal: bool) -> float:
        head = random_head(kind, SHUFFLED_TOKENS, SHUFFLED_FEATURES, causal=causal, seed=seed)
        return order_difference(head, x, order)

    return {kind: {"no mask": difference(kind, False), "causal mask": difference(kind, True)} for kind in POSITIONS}


def slip_sentence() -> str:
    """Correction of a widely copied row for position 1."""
    printed = np.array(PRINTED_POSITION)
    _, correct, second = encodings.sinusoids(np.arange(3), len(printed)).round(4)
    return TEXTS("slip of a position", printed=printed, features=len(printed), right=correct, second=second)


def row_text(position: int, width: int) -> str:
    """The sinusoidal row of one position, its first pairs written out."""
    values = encodings.sinusoids(np.array([position]), width)[0]
    pairs = []
    for pair in range(min(width // 2, MAX_WRITTEN_TERMS // 2)):
        angle = f"{position}/{number(encodings.BASE ** (2 * pair / width))}"
        pairs.append(f"sin({angle}) = {number(values[2 * pair])}, cos({angle}) = {number(values[2 * pair + 1])}")
    row = vector(values.round(3))
    if width > 2 * MAX_WRITTEN_TERMS:
        row = vector(values[:MAX_WRITTEN_TERMS].round(3))[:-1] + ", ...]"
    dots = " ..." if width > MAX_WRITTEN_TERMS else ""
    return f"Position {position}: {'; '.join(pairs)}{dots}  \nrow: **{row}**"


def bias_sentence(kind: str, count: int) -> str:
    """What the bias does over `count` positions: T5's buckets in use, or the weight that ALiBi leaves a far token."""
    if kind == "alibi":
        first, *_, last = encodings.alibi_slopes(encodings.ALIBI_HEADS)
        power = -first * (count - 2)
        slopes = {"heads": encodings.ALIBI_HEADS, "first": first, "last": last}
        shares = {"first_share": np.exp(power), "last_share": np.exp(-last * (count - 2))}
        return TEXTS("slopes", far=count - 1, power=power, **slopes, **shares)
    starts = np.flatnonzero(np.diff(encodings.t5_bucket(np.arange(encodings.T5_MAX_DISTANCE + 1)))) + 1
    wide_starts = starts[encodings.T5_BUCKETS // 4 - 1 :].tolist()
    return TEXTS(
        "buckets",
        count=count,
        used=len(np.unique(encodings.t5_bucket(np.arange(1 - count, count)))),
        buckets=encodings.T5_BUCKETS,
        near=wide_starts[0] - 1,
        wide=", ".join(map(str, wide_starts)),
        own=encodings.T5_BUCKETS // 2 - 1,
    )


def closest_rows_sentence(table: np.ndarray) -> str:
    """Whether interval position has a row of its own, judged by the two closest rows."""
    distance, first, second = nearest_rows(table)
    verdict = "No two positions share a row." if distance > ROUNDING else "Two positions share a row."
    measured = {"apart": distance, "length": np.linalg.norm(table, axis=1).mean()}
    return TEXTS("closest rows", verdict=verdict, first=first, second=second, features=table.shape[1], **measured)


def longer_text_sentence(kind: str, count: int, width: int) -> str:
    """How the encoding continues at position `count` of a longer text."""
    if kind == "learned":
        return TEXTS("longer with a learned table", count=count, last=count - 1)
    if kind == "alibi":
        steepest = encodings.alibi_slopes(encodings.ALIBI_HEADS)[0]
        return TEXTS("longer with slopes", count=count, subtracted=steepest * count)
    if kind == "relative bias":
        bucket, *used = encodings.t5_bucket(np.arange(count, -1, -1))
        heading = "longer with a known bucket" if bucket in used else "longer with a new bucket"
        return TEXTS(heading, count=count, bucket=bucket)
    if kind == "none":
        return TEXTS("longer without positions")
    turns = full_turns(width, count)
    new = int((turns < 1).sum())
    pairs = {"full": len(turns) - new, "pairs": len(turns), "new": new}
    parts = "row" if kind == SINUSOIDAL else "angles"
    return TEXTS("longer with angles", count=count, what=parts, slowest=turns[-1], **pairs)


def order_sentence(differences: dict[str, dict[str, float]]) -> str:
    """The encodings, with their masks, under which a head cannot see the order of its tokens."""
    blind = [
        f"“{kind}” with {mask}"
        for kind, by_mask in differences.items()
        for mask, difference in by_mask.items()
        if difference < ROUNDING
    ]
    return TEXTS("blind to the order", blind="; ".join(blind) or "none of them")


def table_map(kind: str, count: int, width: int, seed: int) -> Figure:
    """A map of the rows that are added; of the cosines and sines for rotary; of the bias of scores for the others."""
    interval = _position_step(count)
    positions = [str(i) for i in range(0, count, interval)]
    axes: dict[str, Any] = {"unit": "added", "x": "feature", "y": "position"}
    values = encodings.position_rows(kind, count, width, seed)
    columns = [str(i + 1) for i in range(width)]
    bias = encodings.score_bias(kind, count, seed)
    if kind == "rotary":
        angles = encodings.angles(np.arange(count), width)
        values = np.concatenate((np.cos(angles), np.sin(angles)), axis=1)
        columns = numbered_names("cos", width // 2) + numbered_names("sin", width // 2)
        axes |= {"unit": "cosine, sine", "x": "angle"}
    elif len(bias):
        values, columns = bias[:, ::interval], positions
        axes |= {"x": "position of the key", "y": "of the query"}
    values = values[::interval]
    return signed_map(MAP_TITLES[kind], rows=positions[: len(values)], columns=columns, values=values, **axes)


def _position_step(count: int) -> int:
    """The interval between drawn positions, so that at most MAX_DRAWN_POSITIONS of `count` are drawn."""
    return -(-count // MAX_DRAWN_POSITIONS)
