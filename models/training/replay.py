"""A run taken back to any of its steps. A tape is deterministic, so the net of step k is trained again, not stored."""

from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from models.nets import Net, build_model
from models.spec import RunConfig
from models.tasks import TaskData
from models.training.run import Run

SLICE_SECONDS = 0.05
KEPT_RUNS = 4

Seen = TypeVar("Seen")
Work = Generator[float, None, Seen]  # yields the share that is done, returns what was asked for


@dataclass(frozen=True)
class Still:
    """The net of one step, before that step's update: a copy in train mode that an instrument may do anything to.

    `optimizer` is a copy of the optimiser's state by parameter name.
    """

    cfg: RunConfig
    step: int
    model: Net
    task: TaskData
    optimizer: dict[str, dict[str, Tensor]]

    def batch(self) -> tuple[Tensor, Tensor]:
        """The batch (x, y) that this step trains on."""
        return self.task.batch(self.step)

    def copy(self) -> Net:
        """Another copy of the net, for an instrument that spoils one."""
        return _copy(self.cfg, self.model)


class Replays:
    """Runs that were taken to a step lately: the next question about a later step goes on from there.

    `live` finds the run that is being trained for everybody, which is only looked at, where it stands at that step.
    """

    def __init__(self, live: Callable[[RunConfig], Run | None] = lambda cfg: None, kept: int = KEPT_RUNS) -> None:
        self.live, self.kept = live, kept
        self._runs: OrderedDict[RunConfig, Run] = OrderedDict()

    def still(self, cfg: RunConfig, step: int) -> Work[Still]:
        """The net of `step`, or of the last step that a run which diverged has."""
        live = self.live(cfg)
        if live is not None and live.step == step:
            return still_of(live)
        run = self._runs.pop(cfg, None)
        if run is None or run.step > step:
            run = Run(cfg, probe=False, frames=False)
        begin = run.step
        while run.step < step and not run.done:
            run.advance(step - run.step, SLICE_SECONDS)
            yield (run.step - begin) / (step - begin)
        self._runs[cfg] = run
        while len(self._runs) > self.kept:
            self._runs.popitem(last=False)
        return still_of(run)

    def film(self, cfg: RunConfig, steps: list[int], look: Callable[[Still], Seen]) -> Work[list[Seen]]:
        """What `look` sees at each of some steps in ascending order; fewer where the run diverges before."""
        seen: list[Seen] = []
        for at, step in enumerate(steps):
            still = yield from within(self.still(cfg, step), at / len(steps), (at + 1) / len(steps))
            if still.step < step:
                break
            seen.append(look(still))
            yield (at + 1) / len(steps)
        return seen


def still_of(run: Run) -> Still:
    """The net of a run as it is now."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in run.model.named_parameters()}
    state = {
        names[parameter]: {key: value.detach().clone() for key, value in kept.items() if isinstance(value, Tensor)}
        for parameter, kept in run.optimizer.state.items()
    }
    return Still(run.cfg, run.step, _copy(run.cfg, run.model).to(run.device), run.task, state)


def finished(work: Work[Seen]) -> Seen:
    """Does all of some work at once: what it returns."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Seen = end.value
            return result


def _copy(cfg: RunConfig, model: Net) -> Net:
    copy = build_model(cfg)
    copy.load_state_dict({name: value.detach() for name, value in model.state_dict().items()})
    return copy.to(next(model.parameters()).device)


def within(work: Work[Seen], low: float, high: float) -> Work[Seen]:
    """A part of some other work, whose progress it takes from low to high."""
    while True:
        try:
            done = next(work)
        except StopIteration as end:
            result: Seen = end.value
            return result
        yield low + done * (high - low)


def even_steps(last: int, count: int) -> list[int]:
    """Up to `count` steps from 0 to `last`, evenly spaced, each once."""
    return sorted({round(last * at / (count - 1)) for at in range(count)})
