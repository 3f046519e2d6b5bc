"""Sample paths: the size and the direction of the stream of ten held-out samples, block by block."""

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
from models.training.modes import preserve_buffers

SAMPLES = 10
MAX_BLOCKS = 64  # measured blocks besides the input; a deeper net has evenly spaced ones


class PathSampler:
    """The first held-out samples of each class, SAMPLES in all, each at its last token with a target."""

    def __init__(self, cfg: RunConfig, task: TaskData) -> None:
        x, y = task.held_out
        last_token = (y != NO_LOSS).int().cumsum(1).argmax(1)
        classes = y.gather(1, last_token[:, None])[:, 0]
        self.samples = class_round_robin(classes.cpu().numpy(), SAMPLES)
        self.names = [task.class_name(int(classes[sample])) for sample in self.samples]
        self._token = last_token[self.samples]
        self._x = x
        # Batch norm is measured in train mode, on the whole held-out set.
        self._train_mode = uses_batch_statistics(cfg)
        last_site = {sublayer.block: site for site, sublayer in enumerate(plan(cfg).sublayers, start=1)}
        self.blocks = sorted({round(block) for block in np.linspace(0, cfg.depth, min(cfg.depth, MAX_BLOCKS) + 1)})
        self._sites = [last_site.get(block, 0) for block in self.blocks]

    def measure(self, model: Net) -> dict[str, Any]:
        """The result of `path_measures`, with `ten_names` (n,) and `ten_blocks` (S,), where block 0 is the input."""
        with torch.no_grad():
            if self._train_mode:
                with preserve_buffers(model):
                    stream = self._stream(model, self._x)[:, self.samples]
            else:
                stream = self._stream(model, self._x[self.samples])
        vectors = stream[:, torch.arange(len(self.samples)), self._token].double().cpu().numpy()
        return {"ten_names": self.names, "ten_blocks": self.blocks} | path_measures(vectors)

    def _stream(self, model: Net, x: Tensor) -> Tensor:
        """The stream at the measured blocks, (S, B, T, D)."""
        with probe_outputs(model.stream.stream_taps, gradients=False) as probe:
            model(x)
            tensors = probe.tensors()
        return torch.stack([tensors[site] for site in self._sites])


def path_measures(x: np.ndarray) -> dict[str, np.ndarray]:
    """Sizes and directions of n vectors at S sites of a net; x is (S, n, D) float64.

    `ten_size` (S, n): the RMS of each vector. `ten_at` (S, n, 2): principal coordinates of the unit vectors, from the
    two largest eigenvalues of their cosine matrix. It is not centred, so that a common direction stays visible. Each
    site is rotated or reflected onto the one before by orthogonal Procrustes (Schoenemann 1966), the first onto a
    circle. `ten_plane` (S,): the share of the unit vectors' squares in that plane. `ten_cosine` (S,): the mean cosine
    between different vectors. Zero and non-finite vectors have no direction; `ten_plane` is NaN without one, and
    `ten_cosine` with fewer than two.
    """
    is_finite = np.isfinite(x).all(-1)
    safe = np.where(is_finite[..., None], x, 0.0)
    largest = np.abs(safe).max(-1, keepdims=True)
    scaled = safe / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    size = np.where(is_finite, (largest * length)[..., 0] / np.sqrt(x.shape[-1]), np.nan)
    unit = scaled / np.where(length > 0, length, 1.0)
    cosines = unit @ unit.swapaxes(-1, -2)
    eigenvalues, eigenvectors = np.linalg.eigh(cosines)
    coordinates = eigenvectors[..., :-3:-1] * np.sqrt(np.maximum(eigenvalues[..., None, :-3:-1], 0.0))
    _align_sites(coordinates)
    count = (length[..., 0] > 0).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        plane = eigenvalues[:, -2:].sum(-1) / np.where(count > 0, count, np.nan)
        cosine = (cosines.sum((-1, -2)) - count) / np.where(count > 1, count * (count - 1), np.nan)
    return {"ten_size": size, "ten_at": coordinates, "ten_plane": plane, "ten_cosine": cosine}


def _align_sites(coordinates: np.ndarray) -> None:
    """Aligns each site's points, (S, n, 2), with those of the site before, in place; the first with a circle."""
    angle = 2 * np.pi * np.arange(coordinates.shape[1]) / coordinates.shape[1]
    previous_points = np.stack((np.cos(angle), np.sin(angle)), axis=-1)
    for site, points in enumerate(coordinates):
        u, _, vh = np.linalg.svd(points.T @ previous_points)
        coordinates[site] = points @ (u @ vh)
        previous_points = coordinates[site]
