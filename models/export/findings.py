"""Findings on a trace, in the same sentences as on the pages."""

import numpy as np

from models.insight.verdict import (
    activation_sentence,
    cosine_sentence,
    gradient_sentence,
    loss_sentence,
    verdicts,
    weight_sentence,
)
from models.spec import RunConfig
from models.trace import Trace


def progress_sentence(cfg: RunConfig, trace: Trace) -> str:
    """Last training loss against the loss of guessing, and held-out accuracy, as a sentence."""
    return loss_sentence(trace, len(trace) - 1, cfg.task)


def findings(cfg: RunConfig, trace: Trace) -> list[str]:
    """Sentences on divergence (if any), loss, verdicts, and each profile of the last row.

    An empty trace yields only the sentences on divergence and loss.
    """
    sentences = [trace.divergence.sentence()] if trace.divergence else []
    sentences.append(progress_sentence(cfg, trace))
    if len(trace) == 0:
        return sentences
    last_row = len(trace) - 1
    frame = trace.frame_at(last_row)
    cosine = frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)
    return [
        *sentences,
        *(verdict.sentence for verdict in verdicts(cfg, trace, last_row)),
        activation_sentence(trace.sites, trace.act_rms[-1]),
        gradient_sentence(trace.sites, trace.grad_rms[-1]),
        weight_sentence(trace.weight_grad_rms[-1]),
        cosine_sentence(cfg, cosine),
    ]
