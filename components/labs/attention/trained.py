"""Positions inside trained nets: how well they can be read after each sublayer, with and without residuals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import SHARE, Series, by_name, linear_profile
from components.charts.parts import Figure, level, site_word
from components.controls import form
from components.instruments.panel import InstrumentPanel, Measured
from components.labs import several
from components.labs.attention.positions import claim, distance_chart
from components.labs.maps import signed_map
from components.labs.parts import charts, say
from components.shell.text import badge, named_table, number
from components.shell.ways_on import to_playground
from models import answers
from models.answers import PositionProbe
from models.content import Texts
from models.labs.positions import by_distance
from models.spec import POSITIONS, RunConfig, plan
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention")
NAME = "attention_trained"
NETS = {"with residuals": True, "without residuals": False}
SIZE: dict[str, object] = {
    "net": "transformer", "task": "book", "width": 64, "heads": 4, "batch": 16, "lr": 0.003, "warmup": 50, "seed": 0
}  # fmt: skip
LEARNED = "learned"
CLEAR = 0.05  # difference in accuracy from which two nets count as different
WORSE_NATS = 0.05  # from which the longer half of a text counts as better or worse


@dataclass(frozen=True)
class TrainedPair(Settings):
    columns = (3,)

    position: Annotated[str, Knob("Position of both nets", choices=dict.fromkeys(POSITIONS))] = next(iter(POSITIONS))
    depth: Annotated[int, Knob("Blocks", low=1, high=8, control="slider")] = 6
    steps: Annotated[int, Knob("Training steps", low=20, high=1000, step=20)] = 300


def draw() -> None:
    st.markdown(TEXTS("trained pair"))
    pair = form.draw(TrainedPair, NAME)
    cfgs = {net: configuration(kept, pair.position, pair.depth, pair.steps) for net, kept in NETS.items()}
    several.compared(NAME, cfgs, " both", _show)


def configuration(residual: bool, position: str, depth: int, steps: int) -> RunConfig:
    cfg = RunConfig.arranged("pre-norm", **SIZE | {"position": position, "depth": depth, "steps": steps})
    return replace(cfg, residual=residual)


def _show(panels: dict[str, InstrumentPanel]) -> bool:
    """All measurements. Returns whether any are still to come."""
    views = {name: panel.view for name, panel in panels.items()}
    losses = [f"{number(float(view.trace.loss[view.row]), 3)} {name}" for name, view in views.items()]
    st.caption(f"At step {max(view.row for view in views.values())} the loss is {' and '.join(losses)}.")
    asked = {name: panel.ask(answers.PLACE) for name, panel in panels.items()}
    both = {name: answer for name, answer in asked.items() if answer is not None}
    if len(both) == len(NETS):
        _places(both)
    _beyond(panels["with residuals"])
    with st.container(horizontal=True):
        for name, view in views.items():
            to_playground(view.cfg, f"The net {name} in the playground")
    return any(panel.waiting for panel in panels.values())


def _places(both: dict[str, Measured[PositionProbe]]) -> None:
    """The position read from both nets' streams, and a learned table."""
    residual = both["with residuals"]
    probe, chance, sites = residual.value, float(residual.value.chance), plan(residual.cfg).sites
    accuracy = {name: answer.value.accuracy for name, answer in both.items()}
    say(place_sentence(accuracy, chance, residual.step), "measured")
    charts(NAME, place_chart(sites, accuracy, chance))
    right = {f"right, {name}": [f"{share:.1%}" for share in values] for name, values in accuracy.items()}
    r2 = {f"R², {name}": [number(float(r2), 3) for r2 in answer.value.r2] for name, answer in both.items()}
    named_table("Position read after every sublayer", {"site": list(map(site_word, sites)), **right, **r2}, 240)
    st.caption(TEXTS("how a place is read", learned_from=probe.learned_from, tested=probe.tested))
    table = np.asarray(probe.table, float)
    if residual.cfg.position == LEARNED and len(table):
        dots = table @ table.T
        shown = f"**The learned table of the net with residuals.** {claim(LEARNED, by_distance(dots))}"
        st.markdown(f"{shown} {badge('measured')}")
        places, features = ([str(at + first) for at in range(size)] for first, size in enumerate(table.shape))
        names: dict[str, Any] = {"rows": places, "columns": features, "x": "feature", "y": "position"}
        charts(NAME, signed_map("Learned table", values=table, unit="added", **names), distance_chart(dots), height=320)


def _beyond(panel: InstrumentPanel) -> None:
    """The net with residuals on texts twice as long as in training."""
    st.markdown("**Longer than in training**")
    if panel.cfg.position == LEARNED:
        st.info(TEXTS("no row for a longer text", tokens=panel.cfg.tokens, beyond=panel.cfg.tokens + 1))
    elif (answer := panel.ask(answers.BEYOND)) is not None:
        loss, tokens = np.asarray(answer.value.loss, float), int(answer.value.tokens)
        say(beyond_sentence(loss, tokens, answer.step), "measured")
        charts(NAME, beyond_chart(loss, tokens))
        st.caption(TEXTS("texts beyond", windows=answer.value.windows, count=len(loss), tokens=tokens))


def place_sentence(accuracy: Mapping[str, np.ndarray], chance: float, step: int) -> str:
    """How well the position can be read at both ends of the stream, and what the residual does."""
    kept, lost = (np.asarray(accuracy[name], float) for name in NETS)
    if not (np.isfinite(kept).all() and np.isfinite(lost).all()):
        return TEXTS("place not finite", step=step)
    verdict = "here the residual makes no clear difference"
    if kept[-1] - lost[-1] > CLEAR:
        verdict = "the residual keeps the position"
    elif lost[-1] - kept[-1] > CLEAR:
        verdict = TEXTS("no residual is better")
    begins = TEXTS("place at the beginning", kept=kept[0], lost=lost[0], verdict=verdict)
    if kept[0] < 3 * chance:
        begins = TEXTS("place inferred", kept=kept[0])
    return TEXTS("place at the end", step=step, kept=kept[-1], lost=lost[-1], chance=chance, begins=begins)


def place_chart(sites: Sequence[str], accuracy: Mapping[str, np.ndarray], chance: float) -> Figure:
    """Share of positions read correctly, by site, beside that of guessing."""
    title, unit = "Position read from the stream", "share read correctly"
    how: dict[str, Any] = {"guides": (chance,), "levels": [{"name": "chance", "at": chance}], "bounds": SHARE}
    return linear_profile(title=title, unit=unit, hue=SIGNAL, sites=sites, series=by_name(accuracy), **how)


def beyond_sentence(loss: np.ndarray, tokens: int, step: int) -> str:
    """The loss at positions beyond training, compared with the later half of those in training."""
    inside, outside = float(np.mean(loss[tokens // 2 : tokens])), float(np.mean(loss[tokens:]))
    if not np.isfinite(inside + outside):
        return TEXTS("loss not finite", step=step)
    verdict = ": it generalises."
    if step == 0:
        verdict = ". The net has learned nothing yet."
    elif outside - inside > WORSE_NATS:
        verdict = TEXTS("does not generalise")
    elif inside - outside > WORSE_NATS:
        verdict = ": it even gets better."
    places = {"first": tokens // 2 + 1, "tokens": tokens, "beyond": tokens + 1, "last": len(loss)}
    return TEXTS("loss beyond", step=step, inside=inside, outside=outside, verdict=verdict, **places)


def beyond_chart(loss: np.ndarray, tokens: int) -> Figure:
    """Loss by position, with a vertical line at the training length."""
    how: dict[str, Any] = {"x": "token; vertical line: training length", "unit": "cross-entropy, nats", "hue": LOSS}
    sites = range(1, len(loss) + 1)
    figure = linear_profile(title="Loss by position", sites=sites, series=[Series("loss", loss)], **how)
    figure["layout"]["shapes"] = [level(tokens - 0.5, dash="dot")]  # the axis counts from 0
    return figure
