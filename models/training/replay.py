"""Replays: the net of any step of a run. A log is deterministic, so the net is trained again instead of stored."""

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
MAX_CACHED_RUNS = 4

Result = TypeVar("Result")
Work = Generator[float, None, Result]  # yields the share of the work that is done, returns the result


@dataclass(frozen=True)
class Snapshot:
    """The net of one step, before that step's update: a copy in train mode that an instrument may change at will.

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

    def exact(self) -> tuple[Net, Tensor, Tensor]:
        """The net and its batch (x, y) in float64 on the CPU, gone from where they were."""
        x, y = (part.cpu() for part in self.batch())
        return self.model.cpu().double(), x.double() if x.is_floating_point() else x, y

    def copy(self) -> Net:
        """Another copy of the net, for an instrument that changes it."""
        return _copy(self.cfg, self.model)


class Replays:
    """Runs that were taken to a step recently, from which a question about a later step continues.

    `live` finds the run in training, if there is one: where it is at the wanted step, its net is copied.
    """

    def __init__(self, live: Callable[[RunConfig], Run | None] = lambda cfg: None, kept: int = MAX_CACHED_RUNS) -> None:
        self.live, self.kept = live, kept
        self._runs: OrderedDict[RunConfig, Run] = OrderedDict()

    def snapshot(self, cfg: RunConfig, step: int) -> Work[Snapshot]:
        """The net of `step`, or of the last step where the run diverges earlier."""
        live = self.live(cfg)
        if live is not None and live.step == step:
            return snapshot_of(live)
        run = self._runs.pop(cfg, None)
        if run is None or run.step > step:
            run = Run(cfg, probe=False, frames=False)
        yield from train_to(run, step)
        self._runs[cfg] = run
        while len(self._runs) > self.kept:
            self._runs.popitem(last=False)
        return snapshot_of(run)

    def map_steps(self, cfg: RunConfig, steps: list[int], look: Callable[[Snapshot], Result]) -> Work[list[Result]]:
        """What `look` returns at each of `steps`, in ascending order; fewer where the run diverges earlier."""
        results: list[Result] = []
        for at, step in enumerate(steps):
            snapshot = yield from rescale_progress(self.snapshot(cfg, step), at / len(steps), (at + 1) / len(steps))
            if snapshot.step < step:
                break
            results.append(look(snapshot))
            yield (at + 1) / len(steps)
        return results


def snapshot_of(run: Run) -> Snapshot:
    """The net of a run as it is now."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in run.model.named_parameters()}
    state = {
        names[parameter]: {key: value.detach().clone() for key, value in kept.items() if isinstance(value, Tensor)}
        for parameter, kept in run.optimizer.state.items()
    }
    return Snapshot(run.cfg, run.step, _copy(run.cfg, run.model).to(run.device), run.task, state)


def train_to(run: Run, step: int) -> Work[None]:
    """Trains a run to `step` in slices, or to where it diverges."""
    start = run.step
    while run.step < step and not run.done:
        run.advance(step - run.step, SLICE_SECONDS)
        yield (run.step - start) / (step - start)


def result_of(work: Work[Result]) -> Result:
    """The result of some work, done at once."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


def rescale_progress(work: Work[Result], low: float, high: float) -> Work[Result]:
    """Does a part of some larger work, whose progress it takes from `low` to `high`."""
    return (yield from _rescaled(work, lambda done: low + done * (high - low)))


def chain(first: Work[Snapshot], second: Callable[[Snapshot], Work[Result]]) -> Work[Result]:
    """Two pieces of work whose progress is one: half each, or all the second's where the first has nothing to do."""
    low = 0.0

    def half(done: float) -> float:
        nonlocal low
        low = 0.5
        return low * done

    snapshot = yield from _rescaled(first, half)
    return (yield from rescale_progress(second(snapshot), low, 1.0))


def _rescaled(work: Work[Result], share: Callable[[float], float]) -> Work[Result]:
    while True:
        try:
            done = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        yield share(done)


def evenly_spaced_steps(last: int, count: int) -> list[int]:
    """Up to `count` steps from 0 to `last`, evenly spaced, each once."""
    return sorted({round(last * at / (count - 1)) for at in range(count)})


def _copy(cfg: RunConfig, model: Net) -> Net:
    copy = build_model(cfg)
    copy.load_state_dict({name: value.detach() for name, value in model.state_dict().items()})
    return copy.to(next(model.parameters()).device)
