"""The playground's charts: what a configuration's stage shows, and the profiles that are kept to compare with."""

import math

import numpy as np

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

HEIGHT = 262  # of a chart, in pixels
PROFILES = {"Activation by depth": ("activation", "act_rms"), "Gradient by depth": ("gradient", "grad_rms")}
PANELS = ("Weights and samples", "Layer by step", "What the net says")
ANSWERS = {"points": ("Decision regions", 380), "image": ("Digit mistakes", 380), "sequence": ("Input, target and answer", 300)}


def three(cfg: RunConfig, others: list[tuple[str, Profile]], fit: int, *, large: bool) -> list[Panel]:
    """Activation and gradient by depth and the loss, side by side. `others`: (role, profile) to compare with.

    `large`: in type and lines for a projector, and without sentences.
    """
    charts = {"Loss": ("loss", figures.loss(cfg))}
    charts = {title: (kind, _profile(cfg, title, track, others)) for title, (kind, track) in PROFILES.items()} | charts
    spoken = not large and not hidden("verdict")
    return [
        Chart(
            title,
            figure=enlarged(figure, projector.FACTOR) if large else figure,
            says=kind if spoken else "",
            height=projector.BELOW_STACK if large else HEIGHT,
            fit=fit,
        )
        for title, (kind, figure) in charts.items()
    ]


def panel(cfg: RunConfig, others: list[tuple[str, Profile]], fit: int, chosen: str) -> list[Panel]:
    """One of the panels below; the others are not declared."""
    if chosen == PANELS[0]:
        return _weights_and_samples(cfg, others, fit)
    if chosen == PANELS[1]:
        return _layer_by_step(cfg)
    return _what_it_says(cfg)


def report_figures(view: View) -> list[Figure]:
    """The figures of a report: the profiles of the shown row, the whole loss, the maps of all steps. Needs no session."""
    maps = [
        step_map(title=f"{word} by layer and step", unit="RMS", sites=view.trace.sites, step=view.trace.step, values=values)
        for word, values in (("Activation", view.trace.act_rms), ("Gradient", view.trace.grad_rms))
    ]
    return [*_profiles(view), _loss(view), *maps]


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


def _layer_by_step(cfg: RunConfig) -> list[Panel]:
    sites = plan(cfg).sites
    titles = {"Activation by layer and step": "act_rms", "Gradient by layer and step": "grad_rms"}
    return [Chart(title, span=6, figure=figures.step_map(title, track, sites)) for title, track in titles.items()]


def _what_it_says(cfg: RunConfig) -> list[Panel]:
    kind = TASKS[cfg.task].kind
    if kind == "text":
        return [Text("The prompt from the held-out chapters, and how the net goes on", says="answers")]
    title, height = ANSWERS[kind]
    return [Chart(title, span=COLUMNS, says="answers", height=height)]


def _profiles(view: View) -> list[Figure]:
    trace, name = view.trace, f"step {view.row}"
    series = {title: [Series(name, getattr(trace, track)[view.row])] for title, (_, track) in PROFILES.items()}
    return [depth_profile(title=title, unit="RMS", sites=trace.sites, series=one) for title, one in series.items()]


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
