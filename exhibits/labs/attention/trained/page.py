"""Positions inside trained nets: how well they can be read after each sublayer, with and without residuals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import streamlit as st

from components.charts.colour import LOSS, SIGNAL
from components.charts.depth import SHARE_BOUNDS
from components.charts.parts import Figure, site_word, vertical_guide
from components.controls import form
from components.instruments.panel import InstrumentPanel, Measured
from components.labs.distances import distance_chart, distance_sentence
from components.labs.maps import signed_map
from components.labs.parts import draw_charts, draw_finding, draw_sentence, line_chart, number_cells
from components.labs.several import TRANSFORMER, ask_all, compare_nets
from components.shell.page_links import link_to_playground
from components.shell.text import named_table, number
from exhibits.labs.attention.trained.answer import BEYOND, PLACE, PositionProbe
from models.content import Texts
from models.labs.positions import by_distance
from models.spec import POSITIONS, RunConfig, plan
from models.spec.knob import Knob
from models.spec.settings import Settings

TEXTS = Texts("labs/attention/trained")
KEY = "attention_trained"
WITH_RESIDUALS = "with residuals"
NETS = {WITH_RESIDUALS: True, "without residuals": False}  # whether the net has residuals, by name
LEARNED = "learned"
CLEAR_DIFFERENCE = 0.05  # a smaller difference of two accuracies is not called one
CLEAR_NATS = 0.05  # a smaller difference of two losses is not called one


@dataclass(frozen=True)
class TrainedPair(Settings):
    columns = (3,)

    position: Annotated[str, Knob("Position of both nets", choices=dict.fromkeys(POSITIONS))] = next(iter(POSITIONS))
    depth: Annotated[int, Knob("Blocks", low=1, high=8, control="slider")] = 6
    steps: Annotated[int, Knob("Training steps", low=20, high=1000, step=20)] = 300


def draw() -> None:
    st.markdown(TEXTS("trained pair"))
    pair = form.draw(TrainedPair, KEY)
    cfgs = {name: configuration(residual, pair.position, pair.depth, pair.steps) for name, residual in NETS.items()}
    compare_nets(KEY, cfgs, " both", _draw_results)


def _draw_results(panels: dict[str, InstrumentPanel]) -> None:
    views = {name: panel.view for name, panel in panels.items()}
    losses = [f"{number(float(view.trace.loss[view.row]), 3)} {name}" for name, view in views.items()]
    st.caption(f"At step {max(view.row for view in views.values())} the loss is {' and '.join(losses)}.")
    if nets := ask_all(panels, PLACE):
        _draw_positions(nets)
    _draw_longer_texts(panels[WITH_RESIDUALS])
    with st.container(horizontal=True):
        for name, view in views.items():
            link_to_playground(view.cfg, f"The net {name} in the playground")


def _draw_positions(nets: dict[str, Measured[PositionProbe]]) -> None:
    """Draws how well positions can be read from the streams of both nets, and the learned table."""
    residual = nets[WITH_RESIDUALS]
    probe = residual.value
    chance = float(probe.chance)
    sites = plan(residual.cfg).sites
    accuracy = {name: answer.value.accuracy for name, answer in nets.items()}
    draw_finding(position_sentence(accuracy, chance, residual.step), "measured")
    draw_charts(KEY, position_chart(sites, accuracy, chance))
    columns = {"site": list(map(site_word, sites))}
    columns |= {f"right, {name}": [f"{share:.1%}" for share in values] for name, values in accuracy.items()}
    columns |= {f"R², {name}": number_cells(answer.value.r2, 3) for name, answer in nets.items()}
    named_table("Position read after every sublayer", columns, 240)
    st.caption(TEXTS("how a place is read", learned_from=probe.learned_from, tested=probe.tested))
    table = np.asarray(probe.table, float)
    if residual.cfg.position == LEARNED and len(table):
        products = table @ table.T
        sentence = distance_sentence(LEARNED, by_distance(products))
        draw_sentence(f"**The learned table of the net with residuals.** {sentence}", "measured")
        draw_charts(KEY, table_map(table), distance_chart(products), height=320)


def _draw_longer_texts(panel: InstrumentPanel) -> None:
    """Draws the loss of the net with residuals on texts twice as long as in training."""
    st.markdown("**Longer than in training**")
    if panel.cfg.position == LEARNED:
        st.info(TEXTS("no row for a longer text", tokens=panel.cfg.tokens, beyond=panel.cfg.tokens + 1))
        return
    answer = panel.ask(BEYOND)
    if answer is None:
        return
    loss, tokens = np.asarray(answer.value.loss, float), int(answer.value.tokens)
    draw_finding(beyond_sentence(loss, tokens, answer.step), "measured")
    draw_charts(KEY, beyond_chart(loss, tokens))
    st.caption(TEXTS("texts beyond", windows=answer.value.windows, count=len(loss), tokens=tokens))


def configuration(residual: bool, position: str, depth: int, steps: int) -> RunConfig:
    fields = {"task": "book", "batch": 16, "position": position, "depth": depth, "steps": steps}
    cfg = RunConfig.arranged("pre-norm", **TRANSFORMER | fields)
    return replace(cfg, residual=residual)


def position_sentence(accuracy: Mapping[str, np.ndarray], chance: float, step: int) -> str:
    """How well the position can be read at both ends of the stream, and the residual's part in it."""
    residual, plain = (np.asarray(accuracy[name], float) for name in NETS)
    if not np.isfinite([residual, plain]).all():
        return TEXTS("place not finite", step=step)
    verdict = "here the residual makes no clear difference"
    if residual[-1] - plain[-1] > CLEAR_DIFFERENCE:
        verdict = "the residual keeps the position"
    elif plain[-1] - residual[-1] > CLEAR_DIFFERENCE:
        verdict = TEXTS("no residual is better")
    beginning = TEXTS("place at the beginning", kept=residual[0], lost=plain[0], verdict=verdict)
    if residual[0] < 3 * chance:
        beginning = TEXTS("place inferred", kept=residual[0])
    return TEXTS("place at the end", step=step, kept=residual[-1], lost=plain[-1], chance=chance, begins=beginning)


def beyond_sentence(loss: np.ndarray, tokens: int, step: int) -> str:
    """The loss at positions beyond training, compared with the later half of those in training."""
    inside, outside = float(np.mean(loss[tokens // 2 : tokens])), float(np.mean(loss[tokens:]))
    if not np.isfinite(inside + outside):
        return TEXTS("loss not finite", step=step)
    verdict = ": it generalises."
    if step == 0:
        verdict = ". The net has learned nothing yet."
    elif outside - inside > CLEAR_NATS:
        verdict = TEXTS("does not generalise")
    elif inside - outside > CLEAR_NATS:
        verdict = ": it even gets better."
    places = {"first": tokens // 2 + 1, "tokens": tokens, "beyond": tokens + 1, "last": len(loss)}
    return TEXTS("loss beyond", step=step, inside=inside, outside=outside, verdict=verdict, **places)


def position_chart(sites: Sequence[str], accuracy: Mapping[str, np.ndarray], chance: float) -> Figure:
    """Share of positions read correctly, by site, beside that of guessing."""
    axes: dict[str, Any] = {"axis": "linear", "unit": "share read correctly", "hue": SIGNAL, "bounds": SHARE_BOUNDS}
    axes |= {"guides": (chance,), "levels": [{"name": "chance", "at": chance}]}
    return line_chart("Position read from the stream", sites, accuracy, **axes)


def table_map(table: np.ndarray) -> Figure:
    """A learned table (T, D) of positions."""
    rows, columns = [str(i) for i in range(table.shape[0])], [str(i + 1) for i in range(table.shape[1])]
    axes: dict[str, Any] = {"rows": rows, "columns": columns, "x": "feature", "y": "position"}
    return signed_map("Learned table", values=table, unit="added", **axes)


def beyond_chart(loss: np.ndarray, tokens: int) -> Figure:
    """Loss by position, with a vertical line at the training length."""
    axes: dict[str, Any] = {"axis": "linear", "unit": "cross-entropy, nats", "hue": LOSS}
    axes["x"] = "token; vertical line: training length"
    figure = line_chart("Loss by position", range(1, len(loss) + 1), {"loss": loss}, **axes)
    figure["layout"]["shapes"] = [vertical_guide(tokens - 0.5, dash="dot")]  # the axis counts from 0
    return figure
