"""The playground's panels: stack, answers, loss, and charts."""

from typing import Any

from addnorm.player.declare import COLUMNS, Chart, Digit, Headline, Panel, StackPanel
from components.charts import figures
from components.charts.parts import Figure, scaled_figure
from components.player.panels import (
    blocks_with_diagrams,
    is_language_model,
    sample_paths_panel,
    stack_blocks,
    text_panel,
)
from components.playground.tried import Beside
from components.shell import projector
from components.shell.hidden_parts import is_hidden
from models.insight.verdict import thresholds
from models.insight.words import vectors
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import block_name

# Heights in pixels.
TITLE_MARGIN = 30  # above a plot without a legend
STACK_HEIGHT = 190
LOSS_HEIGHT = 158
CHART_HEIGHT = 276
PATHS_HEIGHT = 230
MAP_HEIGHT = 220
ANSWERS_HEIGHT = 270
MISTAKES_HEIGHT = 380
# Track by title.
PROFILES = {"Signal by depth": "act_rms", "Gradient by depth": "grad_rms"}
MAPS = {"Signal by layer and step": "act_rms", "Gradient by layer and step": "grad_rms"}
WEIGHTS_AND_SAMPLES = "Weights and samples"
LAYER_AND_STEP = "Layer and step"
PANELS = (WEIGHTS_AND_SAMPLES, LAYER_AND_STEP, "What the net says")
ANSWERS = {"points": "Decision regions", "sequence": "Input, target and answer"}  # a chart's title by kind of task


def stack_panel(cfg: RunConfig, fit: int = 0, *, height: int = STACK_HEIGHT, **touch: Any) -> StackPanel:
    """The stack; its blocks open unless a link hides theory. `touch`: what makes it a control, as in StackPanel."""
    blocks: dict[str, Any] = {"blocks": stack_blocks(cfg)} if is_hidden("theory") else blocks_with_diagrams(cfg)
    return StackPanel(fit=fit, height=height, **blocks, **touch)


def loss_chart(cfg: RunConfig, fit: int, others: list[Beside], *, large: bool) -> Panel:
    """The loss in the player, which the slider over the steps covers; `large` for a projector."""
    return Chart(
        "Loss",
        figure=_sized(figures.player_loss(cfg, [(other.role, other.style) for other in others]), large),
        sentence="" if large or is_hidden("verdict") else "loss",
        height=projector.LOSS_HEIGHT if large else LOSS_HEIGHT,
        fit=fit,
        scrubs=True,
    )


def charts(cfg: RunConfig, others: list[Beside], fit: int, *, large: bool) -> list[Panel]:
    """Signal and gradient by depth, and sample paths; on a projector a language model's text instead of these.

    The charts have no sentences, because the verdict describes them. `others` lie over them. `large` is for a
    projector: enlarged, without sample paths.
    """
    height = projector.CHART_HEIGHT_BELOW_STACK if large else CHART_HEIGHT
    span = 6 if large else 4
    drawn: list[Panel] = []
    for title, track in PROFILES.items():
        figure = figures.profile(title, track, plan(_deepest(cfg, others)).sites, beside=_lines(others))
        figure = _sized(figure, large)
        figure["layout"]["showlegend"] = bool(others)  # a single line is the step in the player
        if not others:
            figure["layout"]["margin"]["t"] = TITLE_MARGIN
        drawn.append(Chart(title, span=span, figure=figure, height=height, fit=fit))
    if not large:
        return [*drawn, sample_paths_panel(PATHS_HEIGHT, span)]
    return [text_panel(), *drawn] if is_language_model(cfg) else drawn


def answers_panel(cfg: RunConfig) -> Panel:
    """What the net answers, as a picture: decision regions, digits as it reads them, sequences, or a text."""
    kind = TASKS[cfg.task].kind
    if kind == "text":
        return text_panel()
    if kind == "image":
        return Digit("Ten unseen digits", which=list(range(10)))
    return Chart(ANSWERS[kind], span=COLUMNS, sentence="answers", height=ANSWERS_HEIGHT)


def panel_names(cfg: RunConfig) -> tuple[str, ...]:
    """The panels of a net that open on demand; images alone have one of mistakes."""
    return PANELS if TASKS[cfg.task].kind == "image" else (WEIGHTS_AND_SAMPLES, LAYER_AND_STEP)


def panel_charts(cfg: RunConfig, others: list[Beside], fit: int, name: str) -> list[Panel]:
    """The charts of the panel with this name, one of PANELS; `others` lie over them."""
    if name == WEIGHTS_AND_SAMPLES:
        return _weights_and_samples(cfg, others, fit)
    if name == LAYER_AND_STEP:
        return _maps(cfg, fit)
    return [Chart("Digit mistakes", span=COLUMNS, sentence="answers", height=MISTAKES_HEIGHT)]


def file_panels(cfg: RunConfig) -> tuple[list[Panel], ...]:
    """The panels over, in and under the player of a file: those of the page, with every panel open."""
    verdict: list[Panel] = [] if is_hidden("verdict") else [Headline(help=thresholds())]
    below = [answers_panel(cfg), *charts(cfg, [], 0, large=False)]
    for name in panel_names(cfg):
        below += panel_charts(cfg, [], 0, name)
    return [stack_panel(cfg), *verdict], [loss_chart(cfg, 0, [], large=False)], below


def _sized(figure: Figure, large: bool) -> Figure:
    return scaled_figure(figure, projector.CHART_SCALE) if large else figure


def _lines(others: list[Beside]) -> figures.Beside:
    return [(other.name, other.style) for other in others]


def _deepest(cfg: RunConfig, others: list[Beside]) -> RunConfig:
    return max([cfg, *(other.cfg for other in others)], key=lambda net: net.depth)


def _weights_and_samples(cfg: RunConfig, others: list[Beside], fit: int) -> list[Panel]:
    deepest = _deepest(cfg, others)
    blocks = [block_name(block) for block in range(1, deepest.depth + 1)]
    title = "Weight gradient by depth"
    cosine_title = f"{vectors(cfg).removesuffix('s').capitalize()} cosine by depth"
    weights = figures.profile(title, "weight_grad_rms", blocks, beside=_lines(others))
    samples = figures.cosine(plan(deepest).sites, beside=_lines(others), title=cosine_title)
    has_sentences = not is_hidden("verdict")
    return [
        Chart(title, span=6, figure=weights, sentence="weight" if has_sentences else "", fit=fit),
        Chart(cosine_title, span=6, figure=samples, sentence="cosine" if has_sentences else "", fit=fit),
    ]


def _maps(cfg: RunConfig, fit: int) -> list[Panel]:
    sites = plan(cfg).sites
    return [
        Chart(title, span=6, figure=figures.step_map(title, track, sites, cfg.steps), height=MAP_HEIGHT, fit=fit)
        for title, track in MAPS.items()
    ]
