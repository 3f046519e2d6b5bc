"""Several runs whose nets have one shape, trained as one batched computation."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from models.nets import build_model, stacked
from models.spec import RunConfig
from models.spec.pairings import differing
from models.tasks import open_task
from models.trace import frame_steps
from models.training.batched_frames import BatchedFrameTaker
from models.training.batched_rows import BatchedRowWriter
from models.training.loop import Loop
from models.training.loss import cross_entropies
from models.training.optimizers import build_optimizer
from models.training.schedule import learning_rates

# Fields that change neither the shape of a net nor what a step computes.
MAY_DIFFER = ("seed", "lr", "warmup", "schedule", "init", "init_gain")


class Batched(Loop):
    """Trains configurations that differ only in MAY_DIFFER, each with its own weights, batches and rates.

    Rows equal those of separate runs up to the order of float32 sums. A run that diverges ends its own trace and leaves
    the others alone. Frames have no picture; `frames` says at which steps they are taken, True means as in Run. Raises
    ValueError for no configurations, and for configurations that differ in another field.
    """

    def __init__(self, configs: Sequence[RunConfig], *, frames: bool | Sequence[int] = True) -> None:
        if not configs:
            raise ValueError("configs is empty; legal is one configuration or more")
        if astray := [name for name in differing(configs) if name not in MAY_DIFFER]:
            raise ValueError(f"configs differ in {', '.join(astray)}; legal are differences in {', '.join(MAY_DIFFER)}")
        cfg = configs[0]
        super().__init__(cfg, len(configs))
        self.seeds = tuple(config.seed for config in configs)
        nets = [build_model(config) for config in configs]
        self.model = stacked(nets, cfg.tokens).to(self._device)
        self.tasks = [open_task(config, self._device) for config in configs]
        parameters = dict(self.model.named_parameters())
        # A stacked net no longer tells its matrices by their dimensions.
        matrix_ids = {id(parameters[name]) for name, p in nets[0].named_parameters() if p.ndim > 1}
        matrices: list[list[Tensor]] = [
            [p for p in block.parameters() if id(p) in matrix_ids] for block in self.model.stream.blocks.values()
        ]
        self.optimizer = build_optimizer(
            cfg.optimizer,
            self.model.parameters(),
            lr=cfg.lr,
            weight_decay=cfg.weight_decay,
            is_matrix=lambda p: id(p) in matrix_ids,
        )
        self._rates = Rates([learning_rates(config) for config in configs], self.optimizer, self._device)
        self._writer = BatchedRowWriter(cfg, self.model, matrices, self._rates.table_TK)
        steps = frame_steps(cfg.steps) if frames is True else frames or ()
        self._taker = BatchedFrameTaker(cfg, self.model, self.tasks, matrices, steps)

    def _measure(self, k: int) -> None:
        batches = [task.batch(k) for task in self.tasks]
        x, y = (torch.stack(part).flatten(1, 2) for part in zip(*batches, strict=True))
        losses = cross_entropies(self.model(x), y)
        self.optimizer.zero_grad()
        losses.sum().backward()  # no seed's loss depends on another's weights, so the gradients do not mix
        grad_norm, weight_grad_rms = self._writer.gradient_norms()
        self._writer.write(k, losses.detach(), grad_norm, self._clip(grad_norm), weight_grad_rms)

    def _update(self, k: int) -> None:
        self._rates.step(k)

    def _clip(self, grad_norm: Tensor) -> Tensor:
        """Shortens each seed's gradient to `clip` where it is longer; returns the factors (K,)."""
        if not self.cfg.clip:
            return torch.ones_like(grad_norm)
        factor = (self.cfg.clip / (grad_norm + 1e-6)).clamp(max=1.0)
        grads = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(grads, [factor.to(grad.dtype).view(-1, *[1] * (grad.ndim - 1)) for grad in grads])
        return factor


class SeedRuns(Batched):
    """One configuration under each of `seeds`. ValueError for no seeds."""

    def __init__(self, cfg: RunConfig, seeds: Sequence[int], *, frames: bool = True) -> None:
        if not seeds:
            raise ValueError("seeds is empty; legal is one seed or more")
        super().__init__([replace(cfg, seed=seed) for seed in seeds], frames=frames)


class Rates:
    """The learning rates of K runs, table_TK (steps, K), and the steps of the optimiser that they share.

    A torch optimiser knows one rate. Its step is linear in the rate, so where the runs have different rates it steps
    at a rate of 1, and each run keeps its own share of that step.
    """

    def __init__(
        self, rates: Sequence[Sequence[float]], optimizer: torch.optim.Optimizer, device: torch.device
    ) -> None:
        self.table_TK = torch.tensor(rates, device=device).T
        self.optimizer = optimizer
        self._shared = list(rates[0]) if all(list(own) == list(rates[0]) for own in rates) else None
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def step(self, k: int) -> None:
        """Takes update k."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._shared[k] if self._shared else 1.0
        if self._shared:
            self.optimizer.step()
            return
        before = [p.detach().clone() for p in self._parameters]
        self.optimizer.step()
        with torch.no_grad():
            for p, old in zip(self._parameters, before, strict=True):
                p.copy_(torch.lerp(old, p, self.table_TK[k].view(-1, *[1] * (p.ndim - 1))))
