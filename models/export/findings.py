"""Findings: what a trace says, in the sentences that pages show beside their charts."""

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
    """The last training loss compared with the loss of guessing, and the held-out accuracy."""
    return loss_sentence(trace, len(trace) - 1, cfg.task)


def findings(cfg: RunConfig, trace: Trace) -> list[str]:
    """Sentences on divergence (if any), loss, verdict and each profile of the last row; of an empty trace, the loss."""
    sentences = [trace.divergence.sentence()] if trace.divergence else []
    sentences.append(progress_sentence(cfg, trace))
    if len(trace) == 0:
        return sentences
    frame = trace.frame_at(len(trace) - 1)
    return [
        *sentences,
        *(verdict.sentence for verdict in verdicts(cfg, trace, len(trace) - 1)),
        activation_sentence(trace.sites, trace.act_rms[-1]),
        gradient_sentence(trace.sites, trace.grad_rms[-1]),
        weight_sentence(trace.weight_grad_rms[-1]),
        cosine_sentence(cfg, frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)),
    ]
