"""The panels of a player that show nets of the app: their blocks, their samples, their text."""

from typing import Any

from addnorm.player.declare import COLUMNS, BlockPicture, SamplePaths, Text
from components.charts.diagram import NUMBERED, small_diagram
from models.insight.lens import SHOWN
from models.spec import TASKS, RunConfig, plan
from models.spec.plan import SublayerPlan

TEXT_NOTE = (
    "Shade: how probable the net found each character. They are drawn at temperature 0.5, with the same random numbers "
    "at every step. Bars: the likeliest characters after the prompt."
)


def ten_samples(height: int, span: int = COLUMNS) -> SamplePaths:
    """The way of ten held-out samples through the net of a page with one run."""
    title = "Ten unseen samples on their way through the blocks"
    return SamplePaths(title, span=span, labels=["Ten unseen samples"], height=height)


def writes(cfg: RunConfig) -> bool:
    """Whether a net is a language model, whose frames hold a text."""
    return TASKS[cfg.task].kind == "text"


def text_of(
    title: str = "What the net writes", run: int = 0, span: int = COLUMNS, note: str = TEXT_NOTE, **more: Any
) -> Text:
    """The text of a language model; `more`: as `Text` has it."""
    return Text(title, run, span, note=note, signs=SHOWN, **more)


def blocks_of(cfg: RunConfig) -> list[dict[str, Any]]:
    """The blocks of a net for the stack: name, the site after each, the weight of its skip, the slots with a norm."""
    sublayers = plan(cfg).sublayers
    blocks: list[dict[str, Any]] = []
    for block in range(1, cfg.depth + 1):
        own = [(at + 1, one) for at, one in enumerate(sublayers) if one.block == block]
        last = own[-1][0]
        norms = sorted({slot for _, one in own for slot in _norms(one)})
        skip = min(1.0 if one.identity else one.skip for _, one in own)
        blocks.append({"block": block, "name": f"block {block}", "site": last, "skip": skip, "norms": norms})
    return blocks


def opened(cfg: RunConfig) -> dict[str, Any]:
    """The blocks of a net and their diagrams, each once, for a stack in which blocks are opened."""
    drawn = [small_diagram(cfg, block) for block in range(1, cfg.depth + 1)]
    diagrams = list(dict.fromkeys(drawn))
    blocks = [one | {"diagram": diagrams.index(svg)} for one, svg in zip(blocks_of(cfg), drawn, strict=True)]
    return {"blocks": blocks, "diagrams": diagrams}


def block_of(cfg: RunConfig, title: str, run: int, span: int, block: int = 1) -> BlockPicture:
    """The picture of a block of an MLP."""
    return BlockPicture(title, run, span, 0, small_diagram(cfg, block, NUMBERED), block, cfg.depth)


def _norms(one: SublayerPlan) -> list[str]:
    slots = {"in": one.norm_in, "mid": one.norm_mid, "out": one.norm_out, "add": one.norm_add}
    return [] if one.identity else [slot for slot, norm in slots.items() if norm != "none"]
