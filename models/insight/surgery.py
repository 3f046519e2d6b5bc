"""What can be cut out of a net, and the sentences on a cut and on the whole lesion curve."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from models.content import Texts
from models.insight.baseline import LEARNT, guess_in_words, loss_of_guessing
from models.insight.words import signed
from models.spec import RunConfig, plan
from models.spec.plan import block_name
from models.trace import site_in_words

TEXTS = Texts("instruments/surgery")
SKIP, ZERO, UNNORM, SWAP = "skip a block", "zero its branches", "remove a norm", "swap two blocks"
OPERATIONS = (SKIP, ZERO, UNNORM, SWAP)

SLIGHT = 0.1  # share of what the net has learned, below which a cut costs little
FATAL = 0.9  # of it, above which a cut costs everything


def norm_slots(cfg: RunConfig, block: int) -> dict[str, str]:
    """The norms of a block by their names in the equation, each with the path of its module in the stack.

    A DLCL block's output has one in the stack itself. Norms that belong to no block are left out.
    """
    paths: dict[str, str] = {}
    sublayers = [sublayer for sublayer in plan(cfg).of_block(block) if not sublayer.identity]
    for sublayer in sublayers:
        place = f"blocks.{block_name(block)}.{sublayer.kind}"
        prefix = f"{sublayer.kind} " if len(sublayers) > 1 else ""
        slots = {"N_in": "norm_in", "N_mid": "function.norm_mid", "N_out": "norm_out", "N_add": "norm_add"}
        paths |= {
            f"{prefix}{name}": f"{place}.{module}"
            for (name, module), norm in zip(slots.items(), sublayer.norms, strict=True)
            if norm != "none"
        }
        if sublayer.repeats > 1 and sublayer.norm_add != "none":
            paths[f"{prefix}N_add of the second add"] = f"{place}.norm_again"
        if sublayer.kind == "attn" and cfg.qk_norm:
            paths |= {f"{prefix}N of {what}": f"{place}.function.norm_{what[0]}" for what in ("queries", "keys")}
    if cfg.stack == "dlcl" and cfg.norm != "none":
        paths["N of its output, before the sums"] = f"norms.{block}"
    return paths


def partners(cfg: RunConfig, block: int) -> list[int]:
    """The blocks whose weights fit this one, because they have the same parts."""
    return [other for other in range(1, cfg.depth + 1) if other != block and _parts(cfg, other) == _parts(cfg, block)]


def cut_sentence(what: str, loss: Sequence[float], accuracy: Sequence[float], changed: float) -> str:
    """What an operation named `what` did to held-out loss and accuracy [before, after], and to the answers."""
    before, after = loss
    if not math.isfinite(before):
        return TEXTS("not finite before the cut", cut=what)
    if not math.isfinite(after):
        return TEXTS("not finite after the cut", cut=what, before=before, changed=changed)
    return TEXTS("the cut", cut=what, before=before, after=after, accuracy=accuracy, changed=changed)


def lesion_sentence(names: Sequence[str], intact: float, skipped: np.ndarray, guessing: float) -> str:
    """How much depends on single blocks, from the losses without each (depth,), intact, and of guessing."""
    if not math.isfinite(intact):
        return TEXTS("no lesion")
    cost = np.where(np.isfinite(skipped), skipped - intact, np.inf)
    worst, middle = int(np.argmax(cost)), float(np.median(cost))
    most = signed(cost[worst]) if np.isfinite(cost[worst]) else "no finite loss at all"
    figures = TEXTS("lesion figures", block=site_in_words(names[worst]), most=most, median=signed(middle))
    if intact > LEARNT * guessing:
        return TEXTS("lesion of an untrained net", figures=figures)
    share = cost / (guessing - intact)
    fatal, slight = int((share > FATAL).sum()), int((share < SLIGHT).sum())
    if fatal == 0 and slight == len(cost):
        outcome = TEXTS("no block missed")
    elif fatal == len(cost):
        outcome = TEXTS("every block fatal", lost=FATAL)
    else:
        outcome = TEXTS("some blocks missed", slight=slight, blocks=len(cost))
        outcome += TEXTS("some blocks fatal", fatal=fatal, lost=FATAL) if fatal else ""
    return TEXTS("lesion", figures=figures, outcome=outcome)


def trained_without(losses: Mapping[str, float], cuts: Mapping[str, float], task: str, step: int) -> str:
    """What the feed-forward nets of a transformer contribute, compared with attention.

    `losses`: held-out losses of the whole net (key "") and of nets trained without one kind of sublayer (a key of
    PARTS). `cuts`: those of the whole net with all sublayers of a kind skipped.
    """
    whole, guessing = losses[""], loss_of_guessing(task)
    if not all(map(math.isfinite, (*losses.values(), *cuts.values()))):
        return TEXTS("nothing to compare", step=step)
    if whole > LEARNT * guessing:
        return TEXTS("whole net untrained", step=step, loss=whole, guess=guess_in_words(task))
    missed = (losses["ffn"] - whole) / (guessing - whole)
    return TEXTS(
        "trained without",
        step=step,
        does="no worse" if missed <= 0 else "hardly worse" if missed < SLIGHT else "worse",
        losses=losses,
        whole=whole,
        slight=SLIGHT,
        changes={kind: signed(cut - whole, 3) for kind, cut in cuts.items()},
    )


def _parts(cfg: RunConfig, block: int) -> list[tuple[object, ...]]:
    """What decides which weights the sublayers of a block have."""
    return [(sublayer.identity, *sublayer.norms, sublayer.gate) for sublayer in plan(cfg).of_block(block)]
