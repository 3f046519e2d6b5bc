"""Sentences under the charts of a run; its log stores a sentence at each row where it changes.

A sentence whose numbers alone change at every step is stored as a template.
"""

from collections.abc import Mapping

from addnorm.sentences import update_sentences
from addnorm.words import LOSS, STEP
from models.insight.similar_nets import similar_nets_sentence
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

KINDS = ("activation", "gradient", "loss", "weight", "cosine", "answers", "verdict", "brief", "kind")


def sentences_at(cfg: RunConfig, trace: Trace, row: int) -> dict[str, str]:
    """Sentences of a row by kind of KINDS; the entry "kind" is the kind of the verdict."""
    frame, divergence = trace.frame_at(row), trace.divergence
    row_verdicts = verdicts(cfg, trace, row)
    verdict = f"Step {STEP} · {' '.join(verdict.sentence for verdict in row_verdicts)}"
    kind, brief = row_verdicts[0].kind, row_verdicts[0].brief
    remark = modes_sentence(cfg, frame, row) if row else f" {similar_nets_sentence(cfg, kind)}".rstrip()
    if divergence is not None and row >= divergence.step:
        verdict, brief, kind = divergence.sentence(), divergence.brief(), "diverged"
    return {
        "activation": activation_sentence(trace.sites, trace.act_rms[row]),
        "gradient": gradient_sentence(trace.sites, trace.grad_rms[row]) + clip_sentence(trace, row),
        "loss": _loss_template(loss_sentence(trace, row, cfg.task), trace, row),
        "weight": weight_sentence(trace.weight_grad_rms[row]),
        "cosine": cosine_sentence(cfg, frame.sample_cosine) if frame else "",
        "answers": _accuracy_sentence(frame) if frame and row else "",
        "verdict": f"{verdict}{remark}",
        "brief": brief,
        "kind": kind,
    }


def _accuracy_sentence(frame: Frame) -> str:
    scores = f"held-out accuracy {frame.held_out_accuracy:.1%}, held-out loss {number(frame.held_out_loss)}"
    return f"At step {frame.step}: {scores}."


def _loss_template(sentence: str, trace: Trace, row: int) -> str:
    """A sentence about the loss with STEP and LOSS in place of its row's numbers."""
    numbers = f"Step {row}: loss {number(float(trace.loss[row]))}"
    template = sentence.replace(numbers, f"Step {STEP}: loss {LOSS}")
    return template.replace(f"not finite at step {row}.", f"not finite at step {STEP}.")


def sentence_changes(
    cfg: RunConfig, trace: Trace, rows: range, last: Mapping[str, str]
) -> dict[str, list[tuple[int, str]]]:
    """Rows and sentences that differ from the row before, by kind; `last` are the sentences before `rows`."""
    changes: dict[str, list[tuple[int, str]]] = {}
    previous = dict(last)
    for row in rows:
        for kind, new in update_sentences(previous, sentences_at(cfg, trace, row), row).items():
            changes.setdefault(kind, []).extend(new)
    return changes
