"""The panels of a player that show nets of the app: their blocks, their samples, their text."""

from collections.abc import Hashable
from typing import Any

from addnorm.player.declare import COLUMNS, BlockPicture, SamplePaths, Text
from components.charts.diagram import NUMBERED, block_shape, small_diagram
from models.insight.lens import VISIBLE_STAND_INS
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import SublayerPlan

TEXT_NOTE = (
    "Shade: how probable the net found each character. They are drawn at temperature 0.5, with the same random numbers "
    "at every step. Bars: the likeliest characters after the prompt."
)


def sample_paths_panel(height: int, span: int = COLUMNS) -> SamplePaths:
    """The paths of ten held-out samples through the net of a page with one run."""
    title = "Ten unseen samples, block by block"
    return SamplePaths(title, span=span, labels=["Ten unseen samples"], height=height)


def is_language_model(cfg: RunConfig) -> bool:
    """Whether the frames of a net hold a text that it wrote."""
    return TASKS[cfg.task].kind == "text"


def text_panel(
    title: str = "What the net writes", run: int = 0, span: int = COLUMNS, note: str = TEXT_NOTE, **options: Any
) -> Text:
    """The text of a language model; `options` are those of `Text`."""
    return Text(title, run, span, note=note, signs=VISIBLE_STAND_INS, **options)


def stack_blocks(cfg: RunConfig) -> list[dict[str, Any]]:
    """The blocks of a net for its stack: name, index of the site after it, skip weight, norms, and if it is out."""
    net = plan(cfg)
    blocks: list[dict[str, Any]] = []
    for block in range(1, cfg.depth + 1):
        sublayers = net.block_sublayers(block)
        last_site = net.sites.index(sublayers[-1].site)
        norms = sorted({slot for sublayer in sublayers for slot in _slots_with_norm(sublayer)})
        skip = min(1.0 if sublayer.identity else sublayer.skip for sublayer in sublayers)
        out = all(sublayer.identity for sublayer in sublayers)
        entry = {"block": block, "name": f"block {block}", "site": last_site, "skip": skip, "norms": norms, "out": out}
        blocks.append(entry)
    return blocks


def blocks_with_diagrams(cfg: RunConfig) -> dict[str, Any]:
    """The blocks of a net and their distinct diagrams, for a stack whose blocks can be opened."""
    shapes = {block: block_shape(cfg, block) for block in range(1, cfg.depth + 1)}
    diagram_of_shape: dict[Hashable, str] = {}
    for block, shape in shapes.items():
        if shape not in diagram_of_shape:
            diagram_of_shape[shape] = small_diagram(cfg, block)
    diagrams = list(dict.fromkeys(diagram_of_shape.values()))
    numbers = [diagrams.index(diagram_of_shape[shape]) for shape in shapes.values()]
    blocks = [entry | {"diagram": number} for entry, number in zip(stack_blocks(cfg), numbers, strict=True)]
    return {"blocks": blocks, "diagrams": diagrams}


def block_panel(cfg: RunConfig, title: str, run: int, span: int, block: int = 1) -> BlockPicture:
    return BlockPicture(title, run, span, 0, small_diagram(cfg, block, NUMBERED), block, cfg.depth)


def _slots_with_norm(sublayer: SublayerPlan) -> list[str]:
    if sublayer.identity:
        return []
    norms = {"in": sublayer.norm_in, "mid": sublayer.norm_mid, "out": sublayer.norm_out, "add": sublayer.norm_add}
    return [slot for slot, norm in norms.items() if norm != "none"]
