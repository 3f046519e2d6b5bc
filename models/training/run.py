"""The training of a single run."""

import numpy as np
from torch import Tensor

from models.nets import build_model
from models.spec import RunConfig
from models.spec.schedule import learning_rates
from models.tasks import open_task
from models.trace import Divergence, Frame, Trace, frame_steps
from models.training.frames import FrameTaker
from models.training.loop import Loop
from models.training.loss import cross_entropy
from models.training.modes import dropout_masks
from models.training.optimizers import Rates, build_optimizer, parameter_scalings
from models.training.rows import RowWriter, block_matrices


class Run(Loop):
    """Trains one configuration. Without `probe` only the loss is recorded; the training is the same."""

    def __init__(self, cfg: RunConfig, *, probe: bool = True, frames: bool = True) -> None:
        super().__init__(cfg, 1)
        self.model = build_model(cfg).to(self._device)
        self.task = open_task(cfg, self._device)
        matrices = block_matrices(self.model)
        self.optimizer = build_optimizer(
            cfg.optimizer,
            self.model.parameters(),
            lr=cfg.lr,
            weight_decay=cfg.weight_decay,
            decay_all=cfg.decayed == "all",
            scaling=parameter_scalings(cfg, self.model, self.model),
            hidden=[p for block in matrices for p in block],
        )
        self._rates = Rates([learning_rates(cfg)], self.optimizer, self._device)
        self._writer = RowWriter(cfg, self.model, matrices, self._rates.table_TK[:, 0])
        self._taker = FrameTaker(cfg, self.model, self.task, matrices, frame_steps(cfg.steps) if frames else ())
        self._probing = probe
        if not probe:
            self._writer.remove()

    @property
    def divergence(self) -> Divergence | None:
        return self.divergences[0]

    @property
    def frames(self) -> list[Frame]:
        return list(self.frames_by_run[0])

    def next_batch(self) -> tuple[Tensor, Tensor]:
        """The batch (x, y) of the next step. Does not advance the run."""
        return self.task.batch(self.step)

    def update(self, k: int, loss: Tensor) -> None:
        """Takes update k on any loss. Records nothing and does not advance `step`."""
        self.optimizer.zero_grad()
        loss.backward()
        if self.cfg.clip:
            self._adjust_gradients(self._writer.gradient_norms()[0])
        self._rates.step(k)

    def trace(self) -> Trace:
        return self.traces()[0]

    def _measure(self, k: int) -> None:
        x, y = self.task.batch(k)
        with dropout_masks(self._dropouts, k, self.cfg.seed):
            loss = cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        if self._probing or self.cfg.clip:
            grad_norm, weight_grad_rms = self._writer.gradient_norms()
            factor = self._adjust_gradients(grad_norm)
            if self._probing:
                self._writer.write(k, loss.detach(), grad_norm, factor, weight_grad_rms)
        if not self._probing:
            self._writer.rows[k, 0] = loss.detach()


def before_training(cfg: RunConfig) -> Run:
    """A run with row 0 and a frame 0 without held-out metrics, whose picture is the task's `first_picture`."""
    run = Run(cfg, frames=False)
    measures = run._taker.fixed_subset()
    picture = run._taker.first_picture()
    run.advance(1)
    frame = Frame(
        step=0,
        sample_cosine=measures.sample_cosine[0],
        update_to_weight=np.full(cfg.depth, np.nan, dtype=np.float32),
        held_out_loss=np.nan,
        held_out_accuracy=np.nan,
        picture=picture,
        dead_units=measures.dead_units[0],
        head_input=measures.head_input[0],
    )
    run.frames_by_run[0] = [frame]
    return run


def profile_at_init(cfg: RunConfig) -> Trace:
    """The trace of a run before training: one row."""
    return before_training(cfg).trace()
