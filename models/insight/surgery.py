"""What can be cut out of a net, and the sentences on a cut and on the whole lesion curve."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from models.insight.baseline import LEARNT, guess_in_words, loss_of_guessing
from models.insight.words import number, signed
from models.spec import RunConfig, plan
from models.spec.plan import block_name
from models.trace import site_in_words

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
        return f"The held-out loss is not finite before anything is cut: {what} can show nothing."
    answers = f"; {changed:.0%} of the held-out answers change"
    if not math.isfinite(after):
        return f"{what}: the held-out loss goes from {number(before)} to a number that is not finite{answers}."
    return (
        f"{what}: the held-out loss goes from {number(before)} to {number(after)}, the accuracy from "
        f"{accuracy[0]:.1%} to "
        f"{accuracy[1]:.1%}{answers}."
    )


def lesion_sentence(names: Sequence[str], intact: float, skipped: np.ndarray, guessing: float) -> str:
    """How much depends on single blocks, from the losses without each (depth,), intact, and of guessing."""
    if not math.isfinite(intact):
        return "The held-out loss of the intact net is not finite: no lesion can be compared with it."
    cost = np.where(np.isfinite(skipped), skipped - intact, np.inf)
    worst, middle = int(np.argmax(cost)), float(np.median(cost))
    most = signed(cost[worst]) if np.isfinite(cost[worst]) else "no finite loss at all"
    figures = f"most for {site_in_words(names[worst])} ({most}), {signed(middle)} for the median block"
    if intact > LEARNT * guessing:
        return (
            "A net that has not learned yet has nothing to lose; taking one block out changes the held-out loss: "
            f"{figures}."
        )
    share = cost / (guessing - intact)
    fatal, slight = int((share > FATAL).sum()), int((share < SLIGHT).sum())
    lost = f"over {FATAL:.0%} of what it has learned is lost"
    if fatal == 0 and slight == len(cost):
        outcome = "no single block is missed"
    elif fatal == len(cost):
        outcome = f"without any one of them {lost}"
    else:
        without = f", and without any one of {fatal} {lost}" if fatal else ""
        outcome = f"{slight} of {len(cost)} are hardly missed{without}"
    return f"Taking one block out changes the held-out loss, {figures}: {outcome}."


def trained_without(losses: Mapping[str, float], cuts: Mapping[str, float], task: str, step: int) -> str:
    """What the feed-forward nets of a transformer contribute, compared with attention.

    `losses`: held-out losses of the whole net (key "") and of nets trained without one kind of sublayer (a key of
    PARTS). `cuts`: those of the whole net with all sublayers of a kind skipped.
    """
    whole, guessing = losses[""], loss_of_guessing(task)
    if not all(map(math.isfinite, (*losses.values(), *cuts.values()))):
        return f"At step {step} a held-out loss is not finite: nothing can be compared."
    if whole > LEARNT * guessing:
        return (
            f"At step {step} the whole net has not learned yet: its held-out loss is {number(whole)}; "
            f"{guess_in_words(task)}."
        )
    missed = (losses["ffn"] - whole) / (guessing - whole)
    does = "no worse" if missed <= 0 else "hardly worse" if missed < SLIGHT else "worse"
    return (
        f"At step {step} a net trained without feed-forward nets does {does} than the whole one: a held-out loss of "
        f"{number(losses['ffn'])} beside {number(whole)}, and {number(losses['attn'])} without attention. Cut out of "
        "the trained "
        f"net, its feed-forward nets change the loss by {signed(cuts['ffn'] - whole, 3)}, its attention by "
        f"{signed(cuts['attn'] - whole, 3)}."
    )


def _parts(cfg: RunConfig, block: int) -> list[tuple[object, ...]]:
    """What decides which weights the sublayers of a block have."""
    return [(sublayer.identity, *sublayer.norms, sublayer.gate) for sublayer in plan(cfg).of_block(block)]
