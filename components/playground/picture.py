"""The playground's charts: figures of its player and its panels."""

from typing import Any

from addnorm.player.declare import COLUMNS, Chart, Headline, Panel, StackPanel
from components.charts import figures
from components.charts.depth import Series
from components.charts.parts import Figure, scaled_figure
from components.player.panels import (
    blocks_with_diagrams,
    is_language_model,
    sample_paths_panel,
    stack_blocks,
    text_panel,
)
from components.player.profiles import RowProfile
from components.shell import projector
from components.shell.hide import hidden
from models.insight.verdict import thresholds
from models.insight.words import vectors
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import block_name

TITLE = 30  # pixels above a plot without a legend
STACK_HEIGHT = 150
HEIGHT, PLAYER = 276, 158  # of a chart, and of the loss in the player, in pixels
PROFILES = {"Signal by depth": "act_rms", "Gradient by depth": "grad_rms"}
PATHS = 230  # pixels
MAPS = {"Signal by layer and step": "act_rms", "Gradient by layer and step": "grad_rms"}
PANELS = ("Weights and samples", "Layer and step", "What the net says")
ANSWERS = {
    "points": ("Decision regions", 380),
    "image": ("Digit mistakes", 380),
    "sequence": ("Input, target and answer", 300),
}


def stack(cfg: RunConfig, fit: int = 0, *, toggles: bool = False, height: int = STACK_HEIGHT) -> StackPanel:
    """The stack, whose blocks can be opened unless a link hides what they are made of."""
    blocks: dict[str, Any] = {"blocks": stack_blocks(cfg)} if hidden("theory") else blocks_with_diagrams(cfg)
    return StackPanel(toggles=toggles, fit=fit, height=height, **blocks)


def player(cfg: RunConfig, fit: int, *, large: bool) -> Panel:
    """The loss, which the slider over the steps covers. `large`: for a projector."""
    figure = figures.player_loss(cfg)
    says = "" if large or hidden("verdict") else "loss"
    return Chart(
        "Loss", figure=_type(figure, large), says=says, height=projector.LOSS if large else PLAYER, fit=fit, scrubs=True
    )


def charts(cfg: RunConfig, others: list[tuple[str, RowProfile]], fit: int, *, large: bool) -> list[Panel]:
    """What a language model writes, signal and gradient by depth, and the way of ten samples.

    The charts have no sentences: the verdict describes them. `others`: (role, profile). `large`: enlarged for a
    projector, without the samples.
    """
    height = projector.BELOW_STACK if large else HEIGHT
    profiles = {title: _type(_profile(cfg, title, track, others), large) for title, track in PROFILES.items()}
    for figure in profiles.values():
        figure["layout"]["showlegend"] = bool(others)  # a single line is the step in the player
        if not others:
            figure["layout"]["margin"]["t"] = TITLE
    span = 6 if large else 4
    drawn = [Chart(title, span=span, figure=figure, height=height, fit=fit) for title, figure in profiles.items()]
    texts = [text_panel()] if is_language_model(cfg) else []
    return [*texts, *drawn] if large else [*texts, *drawn, sample_paths_panel(PATHS, span)]


def panels(cfg: RunConfig) -> tuple[str, ...]:
    """Those of PANELS that a net has: what a language model says stands above."""
    return PANELS[:2] if is_language_model(cfg) else PANELS


def panel(cfg: RunConfig, others: list[tuple[str, RowProfile]], fit: int, chosen: str) -> list[Panel]:
    """The figures of one of PANELS."""
    if chosen == PANELS[0]:
        return _weights_and_samples(cfg, others, fit)
    return _maps(cfg, fit) if chosen == PANELS[1] else _what_it_says(cfg)


def in_file(cfg: RunConfig) -> tuple[list[Panel], ...]:
    """What a file shows of a run over, in and under its player: as the page, and what it lets one choose there."""
    verdict: list[Panel] = [] if hidden("verdict") else [Headline(help=thresholds())]
    chosen = [one for name in panels(cfg) for one in panel(cfg, [], 0, name)]
    return (
        [stack(cfg), *verdict],
        [player(cfg, 0, large=False)],
        [*charts(cfg, [], 0, large=False), *chosen],
    )


def _type(figure: Figure, large: bool) -> Figure:
    return scaled_figure(figure, projector.FACTOR) if large else figure


def _profile(cfg: RunConfig, title: str, track: str, others: list[tuple[str, RowProfile]]) -> Figure:
    return figures.profile(title, track, plan(cfg).sites, others=_series(others, track))


def _series(others: list[tuple[str, RowProfile]], key: str) -> list[Series]:
    return [Series(profile.label, getattr(profile, key), role) for role, profile in others]


def _weights_and_samples(cfg: RunConfig, others: list[tuple[str, RowProfile]], fit: int) -> list[Panel]:
    blocks = [block_name(block) for block in range(1, cfg.depth + 1)]
    title, besides = "Weight gradient by depth", f"{vectors(cfg).removesuffix('s').capitalize()} cosine by depth"
    weights = figures.profile(title, "weight_grad_rms", blocks, others=_series(others, "weight_grad_rms"))
    samples = figures.cosine(plan(cfg).sites, others=_series(others, "sample_cosine"), title=besides)
    spoken = not hidden("verdict")
    return [
        Chart(title, span=6, figure=weights, says="weight" if spoken else "", fit=fit),
        Chart(besides, span=6, figure=samples, says="cosine" if spoken else "", fit=fit),
    ]


def _maps(cfg: RunConfig, fit: int) -> list[Panel]:
    """Signal and gradient at every step so far."""
    sites = plan(cfg).sites
    return [
        Chart(title, span=6, figure=figures.step_map(title, track, sites, cfg.steps), height=220, fit=fit)
        for title, track in MAPS.items()
    ]


def _what_it_says(cfg: RunConfig) -> list[Panel]:
    title, height = ANSWERS[TASKS[cfg.task].kind]
    return [Chart(title, span=COLUMNS, says="answers", height=height)]
