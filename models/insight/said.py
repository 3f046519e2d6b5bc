"""The sentences of the charts along a run, which its log holds where they change.

A sentence that changes at every step, but only in its numbers, is a template.
"""

from collections.abc import Mapping

from addnorm.sentences import update_sentences
from addnorm.words import LOSS, STEP
from models.insight.starts import became
from models.insight.verdict import (
    activation_sentence,
    clip_sentence,
    cosine_sentence,
    gradient_sentence,
    loss_sentence,
    modes_sentence,
    verdicts,
    weight_sentence,
)
from models.insight.words import number
from models.spec import RunConfig
from models.trace import Frame, Trace

KINDS = ("activation", "gradient", "loss", "weight", "cosine", "answers", "verdict", "kind")


def said_at(cfg: RunConfig, trace: Trace, row: int) -> dict[str, str]:
    """The sentences of a row by kind; "kind" is the kind of the verdict."""
    frame, outcome = trace.frame_at(row), trace.divergence
    first, *others = verdicts(cfg, trace, row)
    ended = outcome is not None and row >= outcome.step
    return {
        "activation": activation_sentence(trace.sites, trace.act_rms[row]),
        "gradient": gradient_sentence(trace.sites, trace.grad_rms[row]) + clip_sentence(trace, row),
        "loss": _template(loss_sentence(trace, row, cfg.task), trace, row)
        + (modes_sentence(frame, row) if row else _others(cfg, first.kind)),
        "weight": weight_sentence(trace.weight_grad_rms[row]),
        "cosine": cosine_sentence(cfg, frame.sample_cosine) if frame else "",
        "answers": _answers(frame) if frame and row else "",
        # An outcome says its own step.
        "verdict": outcome.sentence()
        if outcome and ended
        else f"Step {STEP} · {' '.join(one.sentence for one in (first, *others))}",
        "kind": "diverged" if ended else first.kind,
    }


def _others(cfg: RunConfig, start: str) -> str:
    """What became of other nets that started like this one, where that was counted."""
    start_sentences = became(cfg, start)
    return f" {start_sentences}" if start_sentences else ""


def _answers(frame: Frame) -> str:
    """How good the net's answers were at a frame."""
    scores = f"held-out accuracy {frame.held_out_accuracy:.1%}, held-out loss {number(frame.held_out_loss)}"
    return f"At step {frame.step}: {scores}."


def _template(sentence: str, trace: Trace, row: int) -> str:
    """A sentence about the loss with STEP and LOSS in place of the numbers of its row."""
    numbers, lost = f"Step {row}: loss {number(float(trace.loss[row]))}", f"not finite at step {row}."
    return sentence.replace(numbers, f"Step {STEP}: loss {LOSS}").replace(lost, f"not finite at step {STEP}.")


def changes(cfg: RunConfig, trace: Trace, rows: range, last: Mapping[str, str]) -> dict[str, list[tuple[int, str]]]:
    """The sentences of some rows that differ from those of the row before, by kind. `last`: those before the first."""
    found: dict[str, list[tuple[int, str]]] = {}
    previous = dict(last)
    for row in rows:
        for kind, new in update_sentences(previous, said_at(cfg, trace, row), row).items():
            found.setdefault(kind, []).extend(new)
    return found
