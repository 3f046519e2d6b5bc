"""What a trace says, in the sentences that the pages show beside their charts."""

import math

import numpy as np

from models.insight.verdict import (
    activation_sentence,
    cosine_sentence,
    gradient_sentence,
    loss_sentence,
    verdicts,
    weight_sentence,
)
from models.spec import TASKS, RunConfig
from models.trace import Frame, Trace


def last_frame(cfg: RunConfig, trace: Trace) -> Frame | None:
    """The frame that goes with the last row; the one after the last update where the run is over."""
    return trace.frame_at(len(trace) - (len(trace) < cfg.steps))


def progress_sentence(cfg: RunConfig, trace: Trace) -> str:
    """Where the training loss stands against a guess at random, with the held-out accuracy."""
    frame = last_frame(cfg, trace)
    accuracy = frame.held_out_accuracy if frame else math.nan
    return loss_sentence(trace.loss, accuracy, math.log(TASKS[cfg.task].classes))


def findings(cfg: RunConfig, trace: Trace) -> list[str]:
    """Divergence (if any), loss and verdict, then what each profile of the last row says; for an empty trace the loss alone."""
    sentences = [trace.divergence.sentence()] if trace.divergence else []
    sentences.append(progress_sentence(cfg, trace))
    if len(trace) == 0:
        return sentences
    return [
        *sentences,
        *(found.sentence for found in verdicts(cfg, trace, len(trace) - 1)),
        activation_sentence(trace.sites, trace.act_rms[-1]),
        gradient_sentence(trace.sites, trace.grad_rms[-1]),
        weight_sentence(trace.weight_grad_rms[-1]),
        cosine_sentence(_cosine(cfg, trace)),
    ]


def _cosine(cfg: RunConfig, trace: Trace) -> np.ndarray:
    frame = last_frame(cfg, trace)
    return frame.sample_cosine if frame else np.full(len(trace.sites), np.nan)
