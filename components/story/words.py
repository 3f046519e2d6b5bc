"""The text of the story's scenes: two sentences each, filled with the numbers of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.player.view import View
from components.shell.naming import chance
from models.content import Texts
from models.insight.baseline import LEARNT
from models.insight.outcome import BLOWS_UP, LEARNS, final_loss, outcome, share
from models.insight.path_outcome import growth
from models.insight.words import number
from models.service.client import RequestedLog
from models.spec import RunConfig
from models.trace import Frame, Trace

TEXTS = Texts("story")


@dataclass(frozen=True)
class Seen:
    """What the server has of a run: the net before training, and its log."""

    cfg: RunConfig
    view: View | None
    log: RequestedLog

    @property
    def before(self) -> Trace | None:
        """The net before training."""
        return self.view.trace if self.view else None

    @property
    def growth(self) -> float | None:
        """How much larger ten digits leave the net before training than they enter it, as their picture says."""
        return growth(self.before.frames[0].picture) if self.before and self.before.frames else None

    @property
    def cosine(self) -> str:
        """The mean cosine between ten digits after the last block before training; empty until it is known."""
        before = self.before
        return f"{before.frames[0].picture['ten_cosine'][-1]:.2f}" if before and before.frames else ""

    @property
    def whole(self) -> Trace | None:
        """The run once it is over."""
        trace = self.log.trace() if self.log.done else None
        return trace if trace is not None and len(trace) else None

    @property
    def last(self) -> Frame | None:
        """The last frame of a finished run."""
        return self.whole.frames[-1] if self.whole and self.whole.frames else None


def scenes(seen: Sequence[Seen], *, digit: int) -> list[tuple[str, str]]:
    """Title and text of each scene, in their order; a number that is still missing is left out of its sentence."""
    shallow, fades, grows, merges, levels = seen[:5]
    return [
        (TEXTS("enters: title"), _enters(shallow, digit)),
        (TEXTS("fades: title", blocks=fades.cfg.depth), f"{TEXTS('fades')} {_fades(fades)}".strip()),
        (TEXTS("grows: title"), f"{TEXTS('grows')} {_grows(grows)}".strip()),
        (TEXTS("merges: title"), f"{TEXTS('merges')} {_merges(merges)}"),
        (TEXTS("levels: title"), f"{TEXTS('levels')} {_levels(levels, merges, shallow)}"),
        (TEXTS("break: title"), TEXTS("break")),
    ]


def _enters(seen: Seen, digit: int) -> str:
    digits = _right(seen) or TEXTS("digits")
    return TEXTS("enters", digit=digit, width=seen.cfg.width, blocks=seen.cfg.depth, digits=digits)


def _fades(seen: Seen) -> str:
    if seen.growth is None:
        return ""
    depth = seen.cfg.depth
    return TEXTS("fades, measured", kept=seen.growth ** (1 / depth), blocks=depth, left=share(seen.growth))


def _grows(seen: Seen) -> str:
    if seen.growth is None:
        return ""
    blocks, grown = seen.cfg.depth, number(seen.growth, 2)
    if seen.whole and seen.whole.divergence:
        return TEXTS("grows, trained", blocks=blocks, grown=grown, step=seen.whole.divergence.step)
    return TEXTS("grows, measured", blocks=blocks, grown=grown)


def _merges(seen: Seen) -> str:
    if not seen.cosine:
        return TEXTS("merges, unmeasured")
    if not (seen.whole and seen.last):
        return TEXTS("merges, measured", cosine=seen.cosine)
    return TEXTS("merges, trained", cosine=seen.cosine, learns=_learns(seen), steps=seen.cfg.steps, digits=_right(seen))


def _levels(seen: Seen, merged: Seen, shallow: Seen) -> str:
    if seen.whole and seen.last:
        sentences = TEXTS("levels, trained", learns=_learns(seen), steps=seen.cfg.steps, digits=_right(seen))
        if shallow.last:
            sentences += " " + TEXTS("why depth", blocks=shallow.cfg.depth, share=shallow.last.held_out_accuracy)
        return sentences
    if seen.cosine and merged.cosine:
        return TEXTS("levels, measured", cosine=seen.cosine, alone=merged.cosine)
    return TEXTS("levels, unmeasured")


def after(seen: Seen) -> str:
    """What became of the reader's own net in training; empty until its run is over."""
    if not seen.whole:
        return ""
    if seen.whole.divergence:
        return TEXTS("overflows", step=seen.whole.divergence.step)
    guessing, loss, became = chance(seen.cfg), final_loss(seen.whole), outcome(seen.whole, chance(seen.cfg))
    if became == LEARNS:
        return TEXTS("has learned", loss=loss, chance=guessing)
    if became == BLOWS_UP:
        return TEXTS("is lost", loss=loss, chance=guessing)
    if loss < guessing:
        return TEXTS("is stuck", loss=loss, part=LEARNT, chance=guessing)
    return TEXTS("is stuck at chance", loss=loss, chance=guessing)


def _learns(seen: Seen) -> str:
    learns = seen.whole is not None and outcome(seen.whole, chance(seen.cfg)) == LEARNS
    return TEXTS("learns") if learns else TEXTS("does not learn")


def _right(seen: Seen) -> str:
    """What a finished run recognises, once it is known."""
    return TEXTS("unseen digits", share=seen.last.held_out_accuracy) if seen.last else ""
