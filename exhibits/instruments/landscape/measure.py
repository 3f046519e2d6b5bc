"""The loss on a plane of weights (Li 2018, 1712.09913), its sharpness at steps of a run, and the stack's Jacobian.

Sharpness (Cohen 2021, 2103.00065) and Jacobian in float64 on the CPU, in train mode.
"""

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from exhibits.instruments.landscape.answer import (
    LANDSCAPE,
    SHARPNESS,
    STREAM_JACOBIAN,
    Landscape,
    Sharpness,
    StreamJacobian,
)
from models.instruments import on_snapshot
from models.instruments.curvature import Eigenvalue, sharpness_of
from models.instruments.landscape import direction, matrices
from models.nets.build import matrix_size
from models.spec import RunConfig
from models.spec.plan import uses_batch_statistics
from models.spec.schedule import learning_rates
from models.training import Replays, Snapshot, Work, cross_entropy
from models.training.replay import evenly_spaced_steps, rescale_progress

CELLS = (15, 21, 25)  # along each side; odd, so that the net itself is the middle cell
MIN_REACH, MAX_REACH = 0.01, 2.0  # in filter lengths
MEASURED_STEPS = 8  # at which the sharpness is measured; the last one is the requested step
MAX_WIDTH = 64  # up to which the Jacobian is computed
MAX_SLICE_WORK = 2e8  # multiplications of one slice of the Jacobian's rows


def landscape(snapshot: Snapshot, *, cells: int = 21, reach: float = 1.0) -> Work[Landscape]:
    """Loss of the step's batch at theta + a d + b e in train mode, with a by column and b by row, -reach to reach.

    The directions d and e move matrices, not biases, gains or gates. ValueError for `cells` not in CELLS and for a
    reach outside MIN_REACH to MAX_REACH.
    """
    if cells not in CELLS:
        raise ValueError(f"cells is {cells!r}; legal is one of {', '.join(map(str, CELLS))}")
    if not MIN_REACH <= reach <= MAX_REACH:
        raise ValueError(f"reach is {reach!r}; legal is {MIN_REACH:g} to {MAX_REACH:g}")
    model, (x, y) = snapshot.model, snapshot.batch()
    moved = [p for _, p in matrices(model)]
    start = [p.detach().clone() for p in moved]
    d, e = (direction(model, snapshot.cfg.seed, name) for name in ("d", "e"))
    half = cells // 2
    axis = (np.arange(cells) - half) * reach / half
    loss = np.empty((cells, cells))
    for row, b in enumerate(axis):
        for column, a in enumerate(axis):
            with torch.no_grad():
                for p, origin, d_p, e_p in zip(moved, start, d, e, strict=True):
                    p.copy_(origin).add_(d_p, alpha=float(a)).add_(e_p, alpha=float(b))
                loss[row, column] = cross_entropy(model(x), y).item()
            yield (row * cells + column + 1) / cells**2
    return Landscape(axis, loss, sum(p.numel() for p in moved), sum(p.numel() for p in model.parameters()))


def sharpness(replays: Replays, cfg: RunConfig, *, step: int) -> Work[Sharpness]:
    """Largest eigenvalue of the loss's Hessian at MEASURED_STEPS even steps up to `step`, each on its own batch.

    There are fewer steps if the run diverges earlier.
    """
    steps = evenly_spaced_steps(min(max(0, int(step)), cfg.steps), MEASURED_STEPS)
    rates = learning_rates(cfg)
    measured: dict[int, Eigenvalue] = {}
    start, samples = None, 0
    for at, step_to_measure in enumerate(steps):
        low, middle, high = ((at + part) / len(steps) for part in (0, 0.3, 1))
        snapshot = yield from rescale_progress(replays.snapshot(cfg, step_to_measure), low, middle)
        if snapshot.step < step_to_measure:
            break
        eigenvalue, samples = yield from rescale_progress(sharpness_of(snapshot, start), middle, high)
        start = eigenvalue.finite_vector
        measured[step_to_measure] = eigenvalue
    return Sharpness(
        samples,
        steps=np.array([*measured]),
        rate=np.array([rates[min(step, cfg.steps - 1)] for step in measured]),
        sharpness=np.array([eigenvalue.value for eigenvalue in measured.values()]),
        residual=np.array([eigenvalue.residual for eigenvalue in measured.values()]),
        products=np.array([eigenvalue.products for eigenvalue in measured.values()]),
    )


def stream_jacobian(snapshot: Snapshot) -> Work[StreamJacobian]:
    """Singular values of d x_end / d x0 of the last token, before the final norm. ValueError beyond MAX_WIDTH."""
    width = snapshot.cfg.width
    if width > MAX_WIDTH:
        raise ValueError(f"width is {width}; the Jacobian is taken up to {MAX_WIDTH}")
    model, x, _ = snapshot.exact()
    x = x if uses_batch_statistics(snapshot.cfg) else x[:1]  # without batch norm no other sample matters
    model.requires_grad_(False)
    x0 = model.position(model.embed(x)).requires_grad_()
    with sdpa_kernel(SDPBackend.MATH):  # the only attention kernel whose backward takes several gradients at once
        end = model.stream(x0)[0, -1]
    rows_per_slice = max(1, int(MAX_SLICE_WORK / (matrix_size(model) * x0[..., 0].numel())))
    rows = []
    for directions in torch.eye(width, dtype=x0.dtype).split(rows_per_slice):
        (slopes,) = torch.autograd.grad(end, x0, directions, retain_graph=True, is_grads_batched=True)
        rows.append(slopes[:, 0, -1])
        yield min(1.0, sum(map(len, rows)) / width)
    jacobian = torch.cat(rows)
    finite = bool(jacobian.isfinite().all())
    values = torch.linalg.svdvals(jacobian).numpy() if finite else np.full(width, np.nan)
    return StreamJacobian(values, snapshot.cfg.tokens, len(x))


MEASURES = {LANDSCAPE: on_snapshot(landscape), SHARPNESS: sharpness, STREAM_JACOBIAN: on_snapshot(stream_jacobian)}
EXAMPLES = {LANDSCAPE: {"cells": 15}}  # arguments of a question that needs some
