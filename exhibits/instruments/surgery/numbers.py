"""The parts that can be cut out of a net, and sentences on one cut and on the whole lesion curve."""

import math
from collections.abc import Sequence

import numpy as np

from models.content import Texts
from models.insight.baseline import LEARNED_BELOW, MAX_SLIGHT_COST
from models.insight.words import signed_number
from models.spec import RunConfig, plan
from models.spec.plan import block_name
from models.trace import site_in_words

TEXTS = Texts("instruments/surgery")
SKIP = "skip a block"
ZERO = "zero its branches"
UNNORM = "remove a norm"
SWAP = "swap two blocks"
OPERATIONS = (SKIP, ZERO, UNNORM, SWAP)

MIN_FATAL_COST = 0.9  # share of the decrease of the loss below guessing; a cut that loses more costs everything


def norm_slots(cfg: RunConfig, block: int) -> dict[str, str]:
    """Module path in the stack of every norm of a block, by the norm's name in the equation.

    They include the norm of a DLCL block's output, which the stack holds. Norms that belong to no block are left out.
    """
    paths: dict[str, str] = {}
    sublayers = [sublayer for sublayer in plan(cfg).block_sublayers(block) if not sublayer.identity]
    for sublayer in sublayers:
        sublayer_path = f"blocks.{block_name(block)}.{sublayer.kind}"
        prefix = f"{sublayer.kind} " if len(sublayers) > 1 else ""
        slots = {"N_in": "norm_in", "N_mid": "function.norm_mid", "N_out": "norm_out", "N_add": "norm_add"}
        for (name, module), norm in zip(slots.items(), sublayer.norms, strict=True):
            if norm != "none":
                paths[f"{prefix}{name}"] = f"{sublayer_path}.{module}"
        if sublayer.repeats > 1 and sublayer.norm_add != "none":
            paths[f"{prefix}N_add of the second add"] = f"{sublayer_path}.norm_again"
        if sublayer.kind == "attn" and cfg.qk_norm:
            paths[f"{prefix}N of queries"] = f"{sublayer_path}.function.norm_q"
            paths[f"{prefix}N of keys"] = f"{sublayer_path}.function.norm_k"
    if cfg.stack == "dlcl" and cfg.norm != "none":
        paths["N of its output, before the sums"] = f"norms.{block}"
    return paths


def swappable_blocks(cfg: RunConfig, block: int) -> list[int]:
    """The other blocks with the same parts, whose weights therefore fit this block."""
    parts = _parts(cfg, block)
    return [other for other in range(1, cfg.depth + 1) if other != block and _parts(cfg, other) == parts]


def cut_sentence(operation: str, loss: Sequence[float], accuracy: Sequence[float], changed: float) -> str:
    """Effect of an operation on held-out loss and accuracy, each (before, after), and the share of changed answers."""
    before, after = loss
    if not math.isfinite(before):
        return TEXTS("not finite before the cut", cut=operation)
    if not math.isfinite(after):
        return TEXTS("not finite after the cut", cut=operation, before=before, changed=changed)
    return TEXTS("the cut", cut=operation, before=before, after=after, accuracy=accuracy, changed=changed)


def lesion_sentence(names: Sequence[str], intact: float, skipped: np.ndarray, guessing: float) -> str:
    """How much the net depends on single blocks.

    `intact`: loss of the whole net. `skipped`: losses without each block, (depth,). `guessing`: loss of guessing.
    """
    if not math.isfinite(intact):
        return TEXTS("no lesion")
    cost = np.where(np.isfinite(skipped), skipped - intact, np.inf)
    worst, median = int(np.argmax(cost)), float(np.median(cost))
    highest = signed_number(cost[worst]) if np.isfinite(cost[worst]) else "no finite loss at all"
    figures = TEXTS("lesion figures", block=site_in_words(names[worst]), most=highest, median=signed_number(median))
    if intact > LEARNED_BELOW * guessing:
        return TEXTS("lesion of an untrained net", figures=figures)
    share = cost / (guessing - intact)
    fatal, slight = int((share > MIN_FATAL_COST).sum()), int((share < MAX_SLIGHT_COST).sum())
    if fatal == 0 and slight == len(cost):
        outcome = TEXTS("no block missed")
    elif fatal == len(cost):
        outcome = TEXTS("every block fatal", lost=MIN_FATAL_COST)
    else:
        outcome = TEXTS("some blocks missed", slight=slight, blocks=len(cost))
        outcome += TEXTS("some blocks fatal", fatal=fatal, lost=MIN_FATAL_COST) if fatal else ""
    return TEXTS("lesion", figures=figures, outcome=outcome)


def _parts(cfg: RunConfig, block: int) -> list[tuple[object, ...]]:
    """The fields that decide which weights each sublayer of a block has."""
    return [(sublayer.identity, *sublayer.norms, sublayer.gate) for sublayer in plan(cfg).block_sublayers(block)]
