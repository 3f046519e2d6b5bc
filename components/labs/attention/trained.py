"""Positions inside trained nets: how well they can be read after each sublayer, with and without residuals."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import streamlit as st

from components.charts.parts import site_word
from components.controls import form
from components.instruments.panel import InstrumentPanel, Measured
from components.labs import several
from components.labs.attention.position_words import claim
from components.labs.attention.positions import distance_chart
from components.labs.attention.trained_words import beyond_chart, beyond_sentence, place_chart, place_sentence
from components.labs.maps import signed_map
from components.shell.static_chart import static_chart
from components.shell.text import badge, named_table, number
from components.shell.waiting import poll_while
from components.shell.ways_on import to_playground
from models import answers
from models.answers import PositionProbe
from models.labs.position_kinds import KINDS
from models.labs.positions import by_distance
from models.spec import RunConfig, plan
from models.spec.knob import Knob
from models.spec.settings import Settings

NAME = "attention_trained"
NETS = {"with residuals": True, "without residuals": False}
SIZE: dict[str, object] = {
    "net": "transformer", "task": "book", "width": 64, "heads": 4, "batch": 16, "lr": 0.003, "warmup": 50, "seed": 0
}  # fmt: skip
LEARNED = "learned"


@dataclass(frozen=True)
class TrainedPair(Settings):
    """What both nets have in common."""

    columns = (3,)

    position: Annotated[
        str,
        Knob("Position of both nets", "How both nets are told the positions of tokens.", choices=dict.fromkeys(KINDS)),
    ] = next(iter(KINDS))
    depth: Annotated[int, Knob("Blocks", low=1, high=8, control="slider")] = 6
    steps: Annotated[int, Knob("Training steps", low=20, high=1000, step=20)] = 300


def draw() -> None:
    """The section."""
    st.markdown(
        "Train two transformers on the characters of Moby-Dick, one with residuals and one without. After every "
        "sublayer a linear decoder reads a token's position in the text from its vector."
    )
    cfgs = controls()
    poll_while(NAME, lambda: watch(cfgs))


def controls() -> list[RunConfig]:
    """The two nets that are set."""
    pair = form.draw(TrainedPair, NAME)
    return [configuration(residual, pair.position, pair.depth, pair.steps) for residual in NETS.values()]


def configuration(residual: bool, position: str, depth: int, steps: int) -> RunConfig:
    """One of the two."""
    cfg = RunConfig.arranged("pre-norm", **SIZE | {"position": position, "depth": depth, "steps": steps})
    return replace(cfg, residual=residual)


def watch(cfgs: list[RunConfig]) -> bool:
    """The player, and measurements where the playhead rests. Returns whether any are still to come."""
    panels, waiting = several.compared(NAME, list(NETS), cfgs, " both")
    return (bool(panels) and _show(panels)) or waiting


def _show(panels: dict[str, InstrumentPanel]) -> bool:
    """All measurements. Returns whether any are still to come."""
    views = [panel.view for panel in panels.values()]
    losses = [f"{number(float(view.trace.loss[view.row]), 3)} {name}" for name, view in zip(panels, views, strict=True)]
    st.caption(f"At step {max(view.row for view in views)} the loss is {' and '.join(losses)}.")
    found = {name: panel.ask(answers.PLACE) for name, panel in panels.items()}
    both = {name: one for name, one in found.items() if one is not None}
    if len(both) == len(NETS):
        _places(both)
    _beyond(panels["with residuals"])
    with st.container(horizontal=True):
        for name, view in zip(panels, views, strict=True):
            to_playground(view.cfg, f"The net {name} in the playground")
    return any(panel.waiting for panel in panels.values())


def _places(found: dict[str, Measured[PositionProbe]]) -> None:
    """The position read from both nets' streams, and a learned table."""
    kept = found["with residuals"]
    chance = float(kept.value.chance)
    accuracy = {name: one.value.accuracy for name, one in found.items()}
    st.markdown(f"**{place_sentence(accuracy, chance, kept.step)}** {badge('measured')}")
    sites = plan(kept.cfg).sites
    static_chart(place_chart(sites, accuracy, chance), "Position read from the stream", f"{NAME}_place")
    r2 = {name: one.value.r2 for name, one in found.items()}
    named_table(
        "Position read after every sublayer",
        {
            "site": [site_word(site) for site in sites],
            **{f"right, {name}": [f"{share:.1%}" for share in values] for name, values in accuracy.items()},
            **{f"R², {name}": [number(float(value), 3) for value in values] for name, values in r2.items()},
        },
        240,
    )
    st.caption(
        f"Ridge regression fitted on {kept.value.learned_from} training texts and tested on {kept.value.tested} "
        "held-out ones, in eval mode. R² treats the position as a number, so a near miss counts for something. That "
        "a decoder can read it does not mean that the net uses it."
    )
    rows = np.asarray(kept.value.table, float)
    if kept.cfg.position == LEARNED and len(rows):
        _learned_table(rows)


def _learned_table(rows: np.ndarray) -> None:
    st.markdown(
        f"**The learned table of the net with residuals.** {claim(LEARNED, by_distance(rows @ rows.T))} "
        f"{badge('measured')}"
    )
    left, right = st.columns(2)
    places, features = [str(at) for at in range(len(rows))], [str(at + 1) for at in range(rows.shape[1])]
    with left:
        title = "Learned table"
        figure = signed_map(title, rows=places, columns=features, values=rows, unit="added", x="feature", y="position")
        static_chart(figure, title, f"{NAME}_table", height=320)
    with right:
        static_chart(
            distance_chart(rows @ rows.T), "Score by distance of the learned table", f"{NAME}_distance", height=320
        )


def _beyond(panel: InstrumentPanel) -> None:
    """The net with residuals on texts twice as long as in training."""
    st.markdown("**Longer than in training**")
    cfg = panel.cfg
    if cfg.position == LEARNED:
        st.info(
            f"A learned table has {cfg.tokens} rows and none for token {cfg.tokens + 1}, so the net cannot read it."
        )
        return
    found = panel.ask(answers.BEYOND)
    if found is None:
        return
    loss, tokens = np.asarray(found.value.loss, float), int(found.value.tokens)
    st.markdown(f"**{beyond_sentence(loss, tokens, found.step)}** {badge('measured')}")
    static_chart(beyond_chart(loss, tokens), "Loss by position", f"{NAME}_beyond")
    st.caption(
        f"The net with residuals on {found.value.windows} held-out texts of {len(loss)} characters; it was trained on "
        f"{tokens}. Later positions have more text before them, so the loss should go down unless something prevents "
        "it."
    )
