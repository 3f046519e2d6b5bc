"""The playground's charts: one view in, sentences and figures out. Each opens with what it shows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from components.charts import (
    Figure,
    Series,
    cosine_chart,
    depth_profile,
    log_range,
    loss_chart,
    step_map,
    table_of,
)
from components.controls import ARRANGED
from components.figures import enlarged
from components.hide import any_hidden, hidden
from components.live_chart import live_chart
from components.playhead import Playhead
from components.task_charts import decision_map, digit_mistakes, sequence_table
from components.view import View
from models.insight.verdict import (
    activation_sentence,
    cosine_sentence,
    gradient_sentence,
    loss_sentence,
    weight_sentence,
)
from models.spec import TASKS, RunConfig, arrangement_of

PANELS = ("Weights and samples", "Layer by step", "What the net says")
SENTENCE_HEIGHT = 84  # three lines in a third of the page
VERDICT_ICONS = {
    "healthy": ":material/check_circle:",
    "inert": ":material/bedtime:",
    "collapsed": ":material/compress:",
    "vanishing": ":material/trending_down:",
    "exploding": ":material/trending_up:",
    "dead": ":material/sleep:",
    "large updates": ":material/speed:",
    "diverged": ":material/error:",
}


@dataclass(frozen=True)
class Profile:
    """One row's profiles over depth, kept to compare with: what they are of, and (S,), (S,), (depth,), (S,)."""

    cfg: RunConfig
    label: str
    act_rms: np.ndarray
    grad_rms: np.ndarray
    weight_grad_rms: np.ndarray
    sample_cosine: np.ndarray

    def beside(self, cfg: RunConfig) -> bool:
        """Whether it can be read beside a configuration: sites and loss of another net or task are other things."""
        return (self.cfg.net, self.cfg.task) == (cfg.net, cfg.task)


def name_of(cfg: RunConfig) -> str:
    """A configuration in a few words, for a legend; without what a link hides, and empty where that is all."""
    arrangement = None if any_hidden(ARRANGED) else arrangement_of(cfg)
    parts = {"residual": "skip" if cfg.residual else "no skip", "placement": cfg.placement, "norm": cfg.norm}
    words = [arrangement] if arrangement else [word for name, word in parts.items() if not hidden(name)]
    size = [str(value) for name, value in (("depth", cfg.depth), ("width", cfg.width)) if not hidden(name)]
    return ", ".join([*words, "x".join(size)] if len(size) == 2 else words)


def profile_of(view: View) -> Profile:
    """The profiles of the row that is shown."""
    trace, row, frame = view.trace, view.row, view.frame
    cosine = frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)
    label = f"{name_of(view.cfg)}, step {row}".removeprefix(", ")
    return Profile(view.cfg, label, trace.act_rms[row], trace.grad_rms[row], trace.weight_grad_rms[row], cosine)


def charts(view: View, head: Playhead, others: list[tuple[str, Profile]]) -> None:
    """Activation and gradient by depth and the loss, side by side. `others`: (role, profile) to compare with."""
    profile = profile_of(view)
    columns = st.columns(3)
    activation, gradient = _profiles(view, others, _held())
    with columns[0]:
        say(activation_sentence(view.trace.sites, profile.act_rms))
        _draw(activation, "Activation by depth")
    with columns[1]:
        say(gradient_sentence(view.trace.sites, profile.grad_rms))
        _draw(gradient, "Gradient by depth")
    with columns[2]:
        say(loss_sentence(view.trace, view.row, chance(view.cfg)))
        _draw(_loss(view, head), "Loss")


def panel(view: View, head: Playhead, others: list[tuple[str, Profile]], chosen: str) -> None:
    """One of the panels below; the others are not computed."""
    if chosen == PANELS[0]:
        _weights_and_samples(view, others)
    elif chosen == PANELS[1]:
        _layer_by_step(view, head)
    elif head.seen:
        _what_it_says(view)
    else:  # also where somebody else's training has asked it
        st.info("The net has not been asked yet: press Train or Step.")


def projected(view: View, head: Playhead, others: list[tuple[str, Profile]], *, factor: float, height: int) -> None:
    """The three charts for a projector: `factor` times as large in type and lines, and nothing above them."""
    for column, (title, figure) in zip(st.columns(3), _three(view, head, others).items(), strict=True):
        with column:
            _draw(enlarged(figure, factor), title, height)


def _three(view: View, head: Playhead, others: list[tuple[str, Profile]]) -> dict[str, Figure]:
    activation, gradient = _profiles(view, others, _held())
    return {"Activation by depth": activation, "Gradient by depth": gradient, "Loss": _loss(view, head)}


def tables(view: View, head: Playhead, others: list[tuple[str, Profile]]) -> None:
    """The numbers behind the three charts."""
    for column, (title, figure) in zip(st.columns(3), _three(view, head, others).items(), strict=True):
        column.dataframe(table_of(figure), alt=f"{title}, table", height=240)


def report_figures(view: View) -> list[Figure]:
    """The figures of a report: the profiles of the shown row, the whole loss, the maps of all steps. Needs no session."""
    whole = Playhead(view.cfg.steps, furthest=len(view.trace) - 1)
    maps = [
        step_map(title=f"{word} by layer and step", unit="RMS", sites=view.trace.sites, step=view.trace.step, values=values)
        for word, values in (("Activation", view.trace.act_rms), ("Gradient", view.trace.grad_rms))
    ]
    return [*_profiles(view, [], {}), _loss(view, whole), *maps]


def chance(cfg: RunConfig) -> float:
    """The loss of a net that answers at random: ln(classes)."""
    return math.log(TASKS[cfg.task].classes)


def _profiles(view: View, others: list[tuple[str, Profile]], held: dict[str, tuple[float, float]]) -> list[Figure]:
    """Activation and gradient by depth; `held` keeps their axes from one call to the next."""
    profile, figures = profile_of(view), []
    for title, key in (("Activation by depth", "act_rms"), ("Gradient by depth", "grad_rms")):
        series = [Series(other.label, getattr(other, key), role) for role, other in others]
        series.append(Series(f"step {view.row}", getattr(profile, key), "now"))
        held[key] = log_range(held.get(key), *(s.values for s in series))
        figures.append(depth_profile(title=title, unit="RMS", sites=view.trace.sites, series=series, range_=held[key]))
    return figures


def _held() -> dict[str, tuple[float, float]]:
    """The axes of this visitor's charts, which never shrink by themselves."""
    held: dict[str, tuple[float, float]] = st.session_state.setdefault("ranges", {})
    return held


def _seen(view: View, head: Playhead) -> tuple[np.ndarray, np.ndarray]:
    """Loss and steps that this viewer has seen."""
    end = max(head.seen, view.row + 1 if view.row else 0)  # the view may still be that of the net before
    return view.trace.loss[:end], view.trace.step[:end]


def _loss(view: View, head: Playhead) -> Figure:
    loss, step = _seen(view, head)
    frames = [f for f in view.trace.frames if len(step) and f.step <= step[-1] and math.isfinite(f.held_out_loss)]
    return loss_chart(
        step=step,
        loss=loss,
        shown_step=view.row,
        held_out_step=np.array([f.step for f in frames]),
        held_out_loss=np.array([f.held_out_loss for f in frames]),
        chance=chance(view.cfg),
        total_steps=view.cfg.steps,
        divergence=view.trace.divergence,
    )


def say(sentence: str) -> None:
    """A chart's first sentence in a place of fixed height, so that the charts below never jump; none where it is hidden."""
    if hidden("verdict"):
        return
    with st.container(height=SENTENCE_HEIGHT, border=False):
        st.markdown(sentence)


def _draw(figure: Figure, title: str, height: int = 262) -> None:
    live_chart(figure, key=f"chart_{title.lower().replace(' ', '_')}", alt=f"{title}, chart", height=height)


def _weights_and_samples(view: View, others: list[tuple[str, Profile]]) -> None:
    profile = profile_of(view)
    left, right = st.columns(2)
    with left:
        say(weight_sentence(profile.weight_grad_rms))
        blocks = tuple(f"b{block:02d}" for block in range(1, view.cfg.depth + 1))
        series = [Series(other.label, other.weight_grad_rms, role) for role, other in others]
        series.append(Series(f"step {view.row}", profile.weight_grad_rms, "now"))
        held = _held()
        held["weight"] = log_range(held.get("weight"), *(s.values for s in series))
        title = "Weight gradient by depth"
        _draw(depth_profile(title=title, unit="RMS", sites=blocks, series=series, range_=held["weight"]), title)
    with right:
        say(cosine_sentence(profile.sample_cosine))
        series = [Series(other.label, other.sample_cosine, role) for role, other in others]
        series.append(Series(f"step {view.frame.step if view.frame else 0}", profile.sample_cosine, "now"))
        _draw(cosine_chart(sites=view.trace.sites, series=series), "Sample cosine by depth")


def _layer_by_step(view: View, head: Playhead) -> None:
    loss, step = _seen(view, head)
    for column, (title, key) in zip(st.columns(2), (("Activation", "act_rms"), ("Gradient", "grad_rms")), strict=True):
        with column:
            st.markdown(f"{title} at every layer and step, RMS; the line marks the step shown.")
            values: Any = getattr(view.trace, key)[: len(loss)]
            figure = step_map(
                title=f"{title} by layer and step",
                unit="RMS",
                sites=view.trace.sites,
                step=step,
                values=values,
                shown_step=view.row,
            )
            _draw(figure, f"{title} by layer and step")


def _what_it_says(view: View) -> None:
    frame = view.frame
    if frame is None or not frame.picture:
        return  # the net that is being waited for has no step yet
    st.markdown(
        f"At step {frame.step}: held-out accuracy {frame.held_out_accuracy:.1%}, held-out loss {frame.held_out_loss:.3g}."
    )
    picture, kind = frame.picture, TASKS[view.cfg.task].kind
    if kind == "text":
        st.caption("The prompt from the held-out chapters, and how the net goes on, one character at a time:")
        st.code(f"{picture['prompt']}|{picture['sample']}", language=None, wrap_lines=True)
    elif kind == "points":
        _draw(decision_map(picture), "Decision regions", 380)
    elif kind == "image":
        st.caption("Held-out digits it is most sure about and wrong:")
        _draw(digit_mistakes(picture), "Digit mistakes", 220)
    else:
        _draw(sequence_table(picture), "Input, target and answer", 300)
