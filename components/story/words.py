"""The texts of the story's scenes: two sentences each, filled with numbers of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.player.view import View
from components.shell.naming import guessing_loss
from models.content import Texts
from models.insight.outcome import LEARNS, outcome, share_in_words
from models.insight.path_outcome import growth
from models.insight.words import number
from models.service.client import RequestedLog
from models.spec import RunConfig
from models.trace import Frame, Trace

TEXTS = Texts("story")


@dataclass(frozen=True)
class SceneRun:
    """A scene's run: the net before training, if it is measured yet, and the log."""

    cfg: RunConfig
    view: View | None
    log: RequestedLog

    @property
    def _first_frame(self) -> Frame | None:
        """The frame of the net before training."""
        return self.view.trace.frames[0] if self.view and self.view.trace.frames else None

    @property
    def growth(self) -> float | None:
        """RMS of ten digits after the untrained net over that at its input; None until it is measured."""
        return growth(self._first_frame.picture) if self._first_frame else None

    @property
    def cosine(self) -> str:
        """Mean cosine between ten digits after the untrained net's last block; empty until it is measured."""
        return f"{self._first_frame.picture['ten_cosine'][-1]:.2f}" if self._first_frame else ""

    @property
    def finished(self) -> Trace | None:
        """The run's trace, once it is over."""
        trace = self.log.trace() if self.log.done else None
        return trace if trace is not None and len(trace) else None

    @property
    def last_frame(self) -> Frame | None:
        return self.finished.frames[-1] if self.finished and self.finished.frames else None


def scene_texts(runs: Sequence[SceneRun], *, digit: int) -> list[tuple[str, str]]:
    """Title and text of each scene, in order; a sentence leaves out numbers that are not measured yet."""
    shallow, fades, grows, merges, levels = runs
    return [
        (TEXTS("enters: title"), TEXTS("enters", digit=digit, width=shallow.cfg.width, blocks=shallow.cfg.depth)),
        (TEXTS("fades: title", blocks=fades.cfg.depth), f"{TEXTS('fades')} {_fades(fades)}".strip()),
        (TEXTS("grows: title"), f"{TEXTS('grows')} {_grows(grows)}".strip()),
        (TEXTS("merges: title"), f"{TEXTS('merges')} {_merges(merges)}"),
        (TEXTS("levels: title"), f"{TEXTS('levels')} {_levels(levels, merges, shallow)}"),
    ]


def _fades(run: SceneRun) -> str:
    if run.growth is None:
        return ""
    depth = run.cfg.depth
    share_per_block = run.growth ** (1 / depth)
    return TEXTS("fades, measured", kept=share_per_block, blocks=depth, left=share_in_words(run.growth))


def _grows(run: SceneRun) -> str:
    if run.growth is None:
        return ""
    blocks, grown = run.cfg.depth, number(run.growth, 2)
    if run.finished and run.finished.divergence:
        return TEXTS("grows, trained", blocks=blocks, grown=grown, step=run.finished.divergence.step)
    return TEXTS("grows, measured", blocks=blocks, grown=grown)


def _merges(run: SceneRun) -> str:
    if not run.cosine:
        return TEXTS("merges, unmeasured")
    if not (run.finished and run.last_frame):
        return TEXTS("merges, measured", cosine=run.cosine)
    return TEXTS("merges, trained", cosine=run.cosine, learns=_learning_text(run))


def _levels(run: SceneRun, merged: SceneRun, shallow: SceneRun) -> str:
    if run.finished and run.last_frame:
        sentences = TEXTS("levels, trained", learns=_learning_text(run))
        if shallow.last_frame:
            sentences += " " + TEXTS("why depth", blocks=shallow.cfg.depth, share=shallow.last_frame.held_out_accuracy)
        return sentences
    if run.cosine and merged.cosine:
        return TEXTS("levels, measured", cosine=run.cosine, alone=merged.cosine)
    return TEXTS("levels, unmeasured")


def _learning_text(run: SceneRun) -> str:
    learns = run.finished is not None and outcome(run.finished, guessing_loss(run.cfg)) == LEARNS
    return TEXTS("learns") if learns else TEXTS("does not learn")
