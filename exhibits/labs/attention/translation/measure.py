"""Training of an encoder and a decoder on a task with questions and answers, and their cross-attention."""

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from exhibits.labs.attention.translation.answer import TRANSLATION, Translation
from models.nets.translator import Translator, shift_right
from models.spec import TASKS, RunConfig
from models.spec.schedule import learning_rates
from models.spec.tasks import SYMBOLS
from models.tasks import TaskData, open_task
from models.training import Replays, Work, build_optimizer, cross_entropy, resolve_device
from models.training.replay import SLICE_SECONDS, evenly_spaced_steps

TRANSLATED = ("copy", "reverse", "sort")
MEASURED_STEPS = 13  # steps at which the net is measured, including 0 and the last


def translation(_replays: Replays, cfg: RunConfig, *, step: int = 0) -> Work[Translation]:
    """Trains an encoder and a decoder of `depth` blocks each for all steps of a configuration, and measures both.

    `step` is not used. ValueError for a task without questions and answers.
    """
    if cfg.task not in TRANSLATED or cfg.net != "transformer":
        raise ValueError(
            f"task is {cfg.task!r} of a net {cfg.net!r}; legal is a transformer with one of {', '.join(TRANSLATED)}"
        )
    device = resolve_device(cfg.device)
    net = Translator(cfg, TASKS[cfg.task].vocabulary, SYMBOLS).to(device)
    task, rates = open_task(cfg, device), learning_rates(cfg)
    optimizer = build_optimizer(
        cfg.optimizer, net.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay, decay_all=cfg.decayed == "all"
    )
    measured_steps = evenly_spaced_steps(cfg.steps, MEASURED_STEPS)
    losses: list[float] = []
    measurements: list[dict[str, Any]] = []
    began = time.monotonic()
    for current_step in range(cfg.steps + 1):
        if current_step in measured_steps:
            measurements.append(measure_translation(net, task))
        if current_step == cfg.steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = rates[current_step]
        source, answer = question_and_answer(task.batch(current_step)[0])
        loss = cross_entropy(net(source, shift_right(answer, net.start)), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if time.monotonic() - began > SLICE_SECONDS:
            yield (current_step + 1) / cfg.steps
            began = time.monotonic()
    source, answer = question_and_answer(task.held_out[0])
    return Translation(
        loss=np.array(losses),
        steps=np.array(measured_steps),
        **{name: np.array([numbers[name] for numbers in measurements]) for name in measurements[0]},
        even=(source[:, None] == answer[:, :, None]).double().mean().item(),
        source=source[0].cpu().numpy(),
        target=answer[0].cpu().numpy(),
        parameters=sum(p.numel() for p in net.parameters()),
    )


@torch.no_grad()
def measure_translation(net: Translator, task: TaskData) -> dict[str, Any]:
    """Fields of `Translation` on the held-out split; the decoder reads the correct symbols before each position."""
    source, answer = question_and_answer(task.held_out[0])
    logits = net(source, shift_right(answer, net.start))
    attention = net.cross_attention_weights()
    is_aligned = (source[:, None] == answer[:, :, None])[None, :, None]
    return {
        "held_out": cross_entropy(logits, answer).item(),
        "accuracy": (logits.argmax(-1) == answer).float().mean().item(),
        "alignment": (attention * is_aligned).sum(-1).mean((1, 3)).cpu().numpy(),
        "attention": attention[:, 0].cpu().numpy(),
        "written": logits[0].argmax(-1).cpu().numpy(),
    }


def question_and_answer(x: Tensor) -> tuple[Tensor, Tensor]:
    """Questions and answers of a batch (B, 32), each (B, 16)."""
    source, answer = x.split(SYMBOLS, dim=1)
    return source, answer


MEASURES = {TRANSLATION: translation}
NETS = ()  # it trains a net of its own, on another task
