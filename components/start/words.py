"""What Start says of its four runs, and of what became of the net to break."""

from dataclasses import dataclass
from functools import cached_property

from components.shell.naming import guessing_loss
from models.content import Texts
from models.insight.outcome import BLOWS_UP, LEARNS, final_loss, outcome
from models.insight.words import number
from models.spec import RunConfig
from models.trace import Trace

TEXTS = Texts("start")


@dataclass(frozen=True)
class FinishedRun:
    """A finished run of one of the four nets."""

    title: str
    cfg: RunConfig
    trace: Trace

    @cached_property
    def outcome(self) -> str:
        """One of OUTCOMES."""
        return outcome(self.trace, guessing_loss(self.cfg))


def conclusion(neither: FinishedRun, residual: FinishedRun, norm: FinishedRun, both: FinishedRun) -> str:
    """Which of the four nets have learned."""
    runs = (neither, residual, norm, both)
    learned = [run.title for run in runs if run.outcome == LEARNS]
    if learned == [both.title]:
        return TEXTS("only both", share=both.trace.frames[-1].held_out_accuracy)
    if learned:
        return TEXTS("some learn", count=len(learned), nets=len(runs), titles="; ".join(learned))
    return TEXTS("none learns", count=0, nets=len(runs))


def after_training(cfg: RunConfig, trace: Trace) -> str:
    """What became of a finished run."""
    if trace.divergence:
        return trace.divergence.brief()
    chance = guessing_loss(cfg)
    result = outcome(trace, chance)
    if result == BLOWS_UP:
        return TEXTS("lost", loss=number(final_loss(trace), 2), chance=number(chance, 2))
    share = trace.frames[-1].held_out_accuracy
    return TEXTS("learned" if result == LEARNS else "stuck", steps=cfg.steps, share=share)
