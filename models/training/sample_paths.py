"""Ten unseen samples on their way through the blocks: how large the stream of each is, and which way it points."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from addnorm.probe import probe_outputs
from models.nets import Net
from models.spec import RunConfig
from models.spec.plan import plan, uses_batch_statistics
from models.tasks import TaskData
from models.tasks.base import NO_LOSS, class_round_robin
from models.training.modes import eval_mode, preserve_buffers

COUNT = 10
STOPS = 64  # blocks after which the samples are looked at, beside the input; of a deeper net, evenly chosen ones


class SamplePaths:
    """The first held-out samples of each class, ten in all, seen where the head reads them."""

    def __init__(self, cfg: RunConfig, task: TaskData) -> None:
        x, y = task.held_out
        at = (y != NO_LOSS).int().cumsum(1).argmax(1)  # of each sample, the last token with a target
        classes = y.gather(1, at[:, None])[:, 0]
        self.chosen = class_round_robin(classes.cpu().numpy(), COUNT)
        self.names = [task.class_name(int(classes[one])) for one in self.chosen]
        self._at = at[self.chosen]
        self._x = x
        # As everywhere on the page: where a norm reads the whole batch, it is that of training.
        self._together = uses_batch_statistics(cfg)
        ends = {sublayer.block: site for site, sublayer in enumerate(plan(cfg).sublayers, start=1)}
        self.blocks = sorted({round(block) for block in np.linspace(0, cfg.depth, min(cfg.depth, STOPS) + 1)})
        self._sites = [ends.get(block, 0) for block in self.blocks]

    def measure(self, model: Net) -> dict[str, Any]:
        """What `travelled` says of the ten, `ten_names` (n,), and the `ten_blocks` (S,) after which; 0 is the input."""
        with torch.no_grad():
            if self._together:
                with preserve_buffers(model):
                    stream = self._stream(model, self._x)[:, self.chosen]
            else:
                with eval_mode(model):
                    stream = self._stream(model, self._x[self.chosen])
        vectors = stream[:, torch.arange(len(self.chosen)), self._at].double().cpu().numpy()
        return {"ten_names": self.names, "ten_blocks": self.blocks} | path_measures(vectors)

    def _stream(self, model: Net, x: Tensor) -> Tensor:
        with probe_outputs(model.stream.stream_taps, gradients=False) as probe:
            model(x)
            tensors = probe.tensors()
        return torch.stack([tensors[site] for site in self._sites])


def path_measures(x: np.ndarray) -> dict[str, np.ndarray]:
    """How n vectors move through the sites of a net; x (S, n, D) float64.

    `ten_size` (S, n): the RMS of each. `ten_at` (S, n, 2): the directions in the plane that holds most of them, from
    the two largest eigenvalues of the cosines between all pairs (not centred, so that a common direction stays
    visible), turned and mirrored onto the site before by orthogonal Procrustes (Schoenemann 1966), the first onto a
    circle. `ten_plane` (S,): the share of the directions' squares that this plane holds. `ten_cosine` (S,): the mean
    cosine between different vectors. Zero and non-finite vectors have no direction; NaN where fewer than two have one.
    """
    finite = np.isfinite(x).all(-1)
    safe = np.where(finite[..., None], x, 0.0)
    largest = np.abs(safe).max(-1, keepdims=True)
    scaled = safe / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    size = np.where(finite, (largest * length)[..., 0] / np.sqrt(x.shape[-1]), np.nan)
    unit = scaled / np.where(length > 0, length, 1.0)
    cosines = unit @ unit.swapaxes(-1, -2)
    there = (length[..., 0] > 0).sum(-1)
    value, vector = np.linalg.eigh(cosines)
    at = vector[..., :-3:-1] * np.sqrt(np.maximum(value[..., None, :-3:-1], 0.0))
    turn = 2 * np.pi * np.arange(x.shape[1]) / x.shape[1]
    before = np.stack((np.cos(turn), np.sin(turn)), axis=-1)
    for site, points in enumerate(at):
        left, _, right = np.linalg.svd(points.T @ before)
        before = at[site] = points @ (left @ right)
    with np.errstate(invalid="ignore", divide="ignore"):
        plane = value[:, -2:].sum(-1) / np.where(there > 0, there, np.nan)
        cosine = (cosines.sum((-1, -2)) - there) / np.where(there > 1, there * (there - 1), np.nan)
    return {"ten_size": size, "ten_at": at, "ten_plane": plane, "ten_cosine": cosine}
