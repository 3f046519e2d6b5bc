"""The playground's charts: figures of its stage, its panels and its report."""

import math

import numpy as np

from components.charts.colour import GRADIENT, SIGNAL
from components.charts.depth import Series, depth_profile
from components.charts.parts import Figure, enlarged
from components.charts.steps import loss_chart, step_map
from components.shell import projector
from components.shell.hide import hidden
from components.shell.naming import chance
from components.stage import figures
from components.stage.panels import COLUMNS, Chart, Panel, Text
from components.stage.profiles import Profile
from components.stage.view import View
from models.insight.words import vectors
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import block_name

TITLE = 30  # pixels above a plot without a legend
HEIGHT, PLAYER = 270, 80  # of a chart, and of the loss in the player, in pixels
PROFILES = {"Signal by depth": "act_rms", "Gradient by depth": "grad_rms"}
MAPS = {"Signal by layer and step": "act_rms", "Gradient by layer and step": "grad_rms"}
PANELS = ("Weights and samples", "What the net says")
ANSWERS = {
    "points": ("Decision regions", 380),
    "image": ("Digit mistakes", 380),
    "sequence": ("Input, target and answer", 300),
}


def player(cfg: RunConfig, fit: int, *, large: bool) -> Panel:
    """The loss, which the slider over the steps covers. `large`: for a projector."""
    figure = figures.in_player(cfg)
    says = "" if large or hidden("verdict") else "loss"
    return Chart(
        "Loss", figure=_type(figure, large), says=says, height=projector.LOSS if large else PLAYER, fit=fit, scrubs=True
    )


def charts(cfg: RunConfig, others: list[tuple[str, Profile]], fit: int, *, large: bool) -> list[Panel]:
    """Signal and gradient by depth side by side, below each the same at every step. `others`: (role, profile).

    They have no sentences: the verdict describes them. `large`: the profiles only, enlarged for a projector.
    """
    height = projector.BELOW_STACK if large else HEIGHT
    profiles = {title: _type(_profile(cfg, title, track, others), large) for title, track in PROFILES.items()}
    found: list[Panel] = [
        Chart(title, span=6, figure=figure, height=height, fit=fit) for title, figure in profiles.items()
    ]
    for figure in profiles.values():
        figure["layout"]["showlegend"] = bool(others)  # a single line is the step in the player
        if not others:
            figure["layout"]["margin"]["t"] = round(TITLE * (projector.FACTOR if large else 1))
    if large:
        return found
    sites = plan(cfg).sites
    return [
        *found,
        *(
            Chart(title, span=6, figure=figures.step_map(title, track, sites, cfg.steps), height=220, fit=fit)
            for title, track in MAPS.items()
        ),
    ]


def panel(cfg: RunConfig, others: list[tuple[str, Profile]], fit: int, chosen: str) -> list[Panel]:
    """The figures of one of PANELS."""
    if chosen == PANELS[0]:
        return _weights_and_samples(cfg, others, fit)
    return _what_it_says(cfg)


def report_figures(view: View) -> list[Figure]:
    """The figures of a report: profiles of the shown row, the whole loss, maps of all steps. Needs no session."""
    maps = [
        step_map(
            title=f"{word} by layer and step",
            unit="RMS",
            hue=hue,
            sites=view.trace.sites,
            step=view.trace.step,
            values=values,
        )
        for word, hue, values in (
            ("Signal", SIGNAL, view.trace.act_rms),
            ("Gradient", GRADIENT, view.trace.grad_rms),
        )
    ]
    return [*_profiles(view), _loss(view), *maps]


def _type(figure: Figure, large: bool) -> Figure:
    return enlarged(figure, projector.FACTOR) if large else figure


def _profile(cfg: RunConfig, title: str, track: str, others: list[tuple[str, Profile]]) -> Figure:
    return figures.profile(title, track, plan(cfg).sites, others=_series(others, track))


def _series(others: list[tuple[str, Profile]], key: str) -> list[Series]:
    return [Series(profile.label, getattr(profile, key), role) for role, profile in others]


def _weights_and_samples(cfg: RunConfig, others: list[tuple[str, Profile]], fit: int) -> list[Panel]:
    blocks = [block_name(block) for block in range(1, cfg.depth + 1)]
    title, besides = "Weight gradient by depth", f"{vectors(cfg).removesuffix('s').capitalize()} cosine by depth"
    weights = figures.profile(title, "weight_grad_rms", blocks, others=_series(others, "weight_grad_rms"))
    samples = figures.cosine(plan(cfg).sites, others=_series(others, "sample_cosine"), title=besides)
    spoken = not hidden("verdict")
    return [
        Chart(title, span=6, figure=weights, says="weight" if spoken else "", fit=fit),
        Chart(besides, span=6, figure=samples, says="cosine" if spoken else "", fit=fit),
    ]


def _what_it_says(cfg: RunConfig) -> list[Panel]:
    kind = TASKS[cfg.task].kind
    if kind == "text":
        return [Text("The prompt from the held-out chapters, and how the net goes on", says="answers")]
    title, height = ANSWERS[kind]
    return [Chart(title, span=COLUMNS, says="answers", height=height)]


def _profiles(view: View) -> list[Figure]:
    trace, name = view.trace, f"step {view.row}"
    series = {title: [Series(name, getattr(trace, track)[view.row])] for title, track in PROFILES.items()}
    hues = (figures.HUES[track] for track in PROFILES.values())
    return [
        depth_profile(title=title, unit="RMS", hue=hue, sites=trace.sites, series=one)
        for hue, (title, one) in zip(hues, series.items(), strict=True)
    ]


def _loss(view: View) -> Figure:
    """The whole loss."""
    trace = view.trace
    frames = [frame for frame in trace.frames if math.isfinite(frame.held_out_loss)]
    return loss_chart(
        step=trace.step,
        loss=trace.loss,
        shown_step=view.row,
        held_out_step=np.array([frame.step for frame in frames]),
        held_out_loss=np.array([frame.held_out_loss for frame in frames]),
        chance=chance(view.cfg),
        total_steps=view.cfg.steps,
        divergence=trace.divergence,
    )
