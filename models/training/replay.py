"""Replays: the net of any step of a run. Training is deterministic, so a net is trained again instead of stored."""

from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from models.nets import Net, build_model
from models.spec import RunConfig
from models.tasks import TaskData
from models.training.run import Run

SLICE_SECONDS = 0.05  # of work between two yields
MAX_CACHED_RUNS = 4

Result = TypeVar("Result")
Work = Generator[float, None, Result]  # yields its progress from 0 to 1, returns the result


@dataclass(frozen=True)
class Snapshot:
    """A copy of the net before the update of `step`, in train mode; an instrument may change it.

    `optimizer` is a copy of the optimiser's state, by parameter name.
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
        """The net itself, moved to float64 on the CPU, and its batch (x, y) in the same precision."""
        x, y = (tensor.cpu() for tensor in self.batch())
        if x.is_floating_point():
            x = x.double()
        return self.model.cpu().double(), x, y

    def copy(self) -> Net:
        return _copy(self.cfg, self.model)


class Replays:
    """Recently replayed runs, which continue from their step if a later one is requested.

    `live_run` returns the run of a configuration in training, or None; its net is copied if it is at the step.
    """

    def __init__(
        self, live_run: Callable[[RunConfig], Run | None] = lambda cfg: None, capacity: int = MAX_CACHED_RUNS
    ) -> None:
        self._live_run = live_run
        self._capacity = capacity
        self._runs: OrderedDict[RunConfig, Run] = OrderedDict()

    def snapshot(self, cfg: RunConfig, step: int) -> Work[Snapshot]:
        """The net of `step`, or of the last step where the run diverges earlier."""
        live_run = self._live_run(cfg)
        if live_run is not None and live_run.step == step:
            return snapshot_of(live_run)
        run = self._runs.pop(cfg, None)
        if run is None or run.step > step:
            run = Run(cfg, probe=False, frames=False)
        yield from train_to(run, step)
        self._runs[cfg] = run
        while len(self._runs) > self._capacity:
            self._runs.popitem(last=False)
        return snapshot_of(run)

    def map_steps(self, cfg: RunConfig, steps: list[int], measure: Callable[[Snapshot], Result]) -> Work[list[Result]]:
        """`measure` of the net at each of `steps`, in ascending order; fewer if the run diverges before the last."""
        results: list[Result] = []
        for index, step in enumerate(steps):
            start, end = index / len(steps), (index + 1) / len(steps)
            snapshot = yield from rescale_progress(self.snapshot(cfg, step), start, end)
            if snapshot.step < step:
                break
            results.append(measure(snapshot))
            yield end
        return results


def snapshot_of(run: Run) -> Snapshot:
    names: dict[Tensor, str] = {parameter: name for name, parameter in run.model.named_parameters()}
    optimizer = {
        names[parameter]: {key: value.detach().clone() for key, value in state.items() if isinstance(value, Tensor)}
        for parameter, state in run.optimizer.state.items()
    }
    return Snapshot(run.cfg, run.step, _copy(run.cfg, run.model).to(run.device), run.task, optimizer)


def train_to(run: Run, step: int) -> Work[None]:
    """Trains a run up to `step` in slices; stops where it diverges."""
    start = run.step
    while run.step < step and not run.done:
        run.advance(step - run.step, SLICE_SECONDS)
        yield (run.step - start) / (step - start)


def result_of(work: Work[Result]) -> Result:
    """Does all of the work and returns its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


def rescale_progress(work: Work[Result], low: float, high: float) -> Work[Result]:
    """The same work with its progress mapped from 0 ... 1 to `low` ... `high`."""
    return (yield from _map_progress(work, lambda progress: low + progress * (high - low)))


def chain(replay: Work[Snapshot], measure: Callable[[Snapshot], Work[Result]]) -> Work[Result]:
    """Replays to a snapshot, then measures it, with half of the progress each.

    All of the progress is that of `measure` if the replay has nothing to train.
    """
    measure_start = 0.0

    def first_half(progress: float) -> float:
        nonlocal measure_start
        measure_start = 0.5
        return 0.5 * progress

    snapshot = yield from _map_progress(replay, first_half)
    return (yield from rescale_progress(measure(snapshot), measure_start, 1.0))


def _map_progress(work: Work[Result], mapping: Callable[[float], float]) -> Work[Result]:
    """The same work, which yields `mapping` of its progress."""
    while True:
        try:
            progress = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        yield mapping(progress)


def evenly_spaced_steps(last: int, count: int) -> list[int]:
    """Up to `count` distinct steps from 0 to `last`, evenly spaced and ascending."""
    return sorted({round(last * index / (count - 1)) for index in range(count)})


def _copy(cfg: RunConfig, model: Net) -> Net:
    copy = build_model(cfg)
    copy.load_state_dict({name: value.detach() for name, value in model.state_dict().items()})
    return copy.to(next(model.parameters()).device)
