"""An encoder and a decoder, trained on a task with a question and an answer, and where their cross-attention looks.

Legend: N steps, F looks, L blocks, H heads, T tokens written, S tokens of the source.
"""

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from models.answers import Translation
from models.nets.translator import Translator, shifted
from models.spec import TASKS, RunConfig
from models.spec.schedule import learning_rates
from models.spec.tasks import SYMBOLS
from models.tasks import TaskData, open_task
from models.training import Replays, Work, build_optimizer, cross_entropy, resolve_device
from models.training.replay import SLICE_SECONDS, even_steps

TRANSLATED = ("copy", "reverse", "sort")
MEASURED_STEPS = 13  # steps at which the net is measured, including 0 and the last


def translation(_replays: Replays, cfg: RunConfig, *, step: int = 0) -> Work[Translation]:
    """The training of an encoder and a decoder of `depth` blocks each, for all steps of a configuration.

    `step` is not used. ValueError for a task without question and answer.
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
    look_steps = even_steps(cfg.steps, MEASURED_STEPS)
    losses: list[float] = []
    looks: list[dict[str, Any]] = []
    began = time.monotonic()
    for at in range(cfg.steps + 1):
        if at in look_steps:
            looks.append(look(net, task))
        if at == cfg.steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = rates[at]
        source, answer = parts(task.batch(at)[0])
        loss = cross_entropy(net(source, shifted(answer, net.start)), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if time.monotonic() - began > SLICE_SECONDS:
            yield (at + 1) / cfg.steps
            began = time.monotonic()
    source, answer = parts(task.held_out[0])
    return Translation(
        loss=np.array(losses),
        steps=np.array(look_steps),
        **{name: np.array([numbers[name] for numbers in looks]) for name in looks[0]},
        even=(source[:, None] == answer[:, :, None]).double().mean().item(),
        source=source[0].cpu().numpy(),
        target=answer[0].cpu().numpy(),
        parameters=sum(p.numel() for p in net.parameters()),
    )


@torch.no_grad()
def look(net: Translator, task: TaskData) -> dict[str, Any]:
    """Held-out loss, accuracy and cross-attention, with the correct symbols written before each place."""
    source, answer = parts(task.held_out[0])
    written = shifted(answer, net.start)
    logits, looks = net(source, written), net.looks()
    right = (source[:, None] == answer[:, :, None])[None, :, None]
    return {
        "held_out": cross_entropy(logits, answer).item(),
        "accuracy": (logits.argmax(-1) == answer).float().mean().item(),
        "aim": (looks * right).sum(-1).mean((1, 3)).cpu().numpy(),
        "looks": looks[:, 0].cpu().numpy(),
        "said": logits[0].argmax(-1).cpu().numpy(),
    }


def parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """The questions and answers of a batch (B, 32), each (B, 16)."""
    source, answer = x.split(SYMBOLS, dim=1)
    return source, answer
