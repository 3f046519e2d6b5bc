"""Several runs of nets of one shape, trained in one batched computation."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from models.nets import build_model, stack_nets
from models.spec import RunConfig
from models.spec.pairings import differing_fields
from models.spec.schedule import learning_rates
from models.tasks import open_task
from models.trace import frame_steps
from models.training.batched_frames import BatchedFrameTaker
from models.training.batched_rows import BatchedRowWriter
from models.training.loop import Loop
from models.training.loss import cross_entropies
from models.training.modes import dropout_masks
from models.training.optimizers import Rates, build_optimizer, parameter_scalings
from models.training.rows import block_matrices

# Fields in which the runs may differ: they change neither the shape of a net nor what a step computes.
DIFFERING_FIELDS = ("seed", "lr", "warmup", "schedule", "init", "init_gain")


class Batched(Loop):
    """Trains configurations that differ only in DIFFERING_FIELDS, each with its own weights, batches and rates.

    Rows equal those of separate runs up to the order of float32 sums. A run that diverges ends its own trace and no
    other. Frames have no picture; `frames` lists their steps, True means those of Run. Raises ValueError for no
    configurations, and for configurations that differ in another field.
    """

    def __init__(self, configs: Sequence[RunConfig], *, frames: bool | Sequence[int] = True) -> None:
        if not configs:
            raise ValueError("configs is empty; legal is one configuration or more")
        conflicts = [name for name in differing_fields(configs) if name not in DIFFERING_FIELDS]
        if conflicts:
            legal = ", ".join(DIFFERING_FIELDS)
            raise ValueError(f"configs differ in {', '.join(conflicts)}; legal are differences in {legal}")
        cfg = configs[0]
        super().__init__(cfg, len(configs))
        self.seeds = tuple(config.seed for config in configs)
        nets = [build_model(config) for config in configs]
        self.model = stack_nets(nets, cfg.tokens).to(self._device)
        self.tasks = [open_task(config, self._device) for config in configs]
        parameters = dict(self.model.named_parameters())
        # In a stacked net biases have several axes too, so matrices are told apart by a single net.
        matrix_ids = {id(parameters[name]) for name, p in nets[0].named_parameters() if p.ndim > 1}
        matrices = block_matrices(self.model, lambda p: id(p) in matrix_ids)
        self.optimizer = build_optimizer(
            cfg.optimizer,
            self.model.parameters(),
            lr=cfg.lr,
            weight_decay=cfg.weight_decay,
            decay_all=cfg.decayed == "all",
            is_matrix=lambda p: id(p) in matrix_ids,
            scaling=parameter_scalings(cfg, nets[0], self.model),
            hidden=[p for block in matrices for p in block],
        )
        self._rates = Rates([learning_rates(config) for config in configs], self.optimizer, self._device)
        self._writer = BatchedRowWriter(cfg, self.model, matrices, self._rates.table_TK)
        steps = frame_steps(cfg.steps) if frames is True else frames or ()
        self._taker = BatchedFrameTaker(cfg, self.model, self.tasks, matrices, steps)

    def _measure(self, k: int) -> None:
        batches = [task.batch(k) for task in self.tasks]
        x, y = (torch.stack(tensors).flatten(1, 2) for tensors in zip(*batches, strict=True))
        with dropout_masks(self._dropouts, k, self.seeds):
            losses = cross_entropies(self.model(x), y)
        self.optimizer.zero_grad()
        losses.sum().backward()  # no seed's loss depends on another's weights, so the gradients do not mix
        grad_norm, weight_grad_rms = self._writer.gradient_norms()
        self._writer.write(k, losses.detach(), grad_norm, self._adjust_gradients(grad_norm), weight_grad_rms)


class SeedRuns(Batched):
    """Trains one configuration under each of `seeds`. Raises ValueError for no seeds."""

    def __init__(self, cfg: RunConfig, seeds: Sequence[int], *, frames: bool = True) -> None:
        if not seeds:
            raise ValueError("seeds is empty; legal is one seed or more")
        super().__init__([replace(cfg, seed=seed) for seed in seeds], frames=frames)
