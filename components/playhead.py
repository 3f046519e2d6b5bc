"""A viewer's place on a tape. The run itself belongs to nobody: play, pause, step, scrub and speed move this only.

Position p shows row p: the net after p updates. Position 0 is the net before training.
"""

from dataclasses import dataclass, field

import numpy as np

SPEEDS: dict[str, float | None] = {"1 step/s": 1.0, "5 steps/s": 5.0, "25 steps/s": 25.0, "full speed": None}
AHEAD_SECONDS = 6.0  # how far past a slow playhead its tape is asked for


@dataclass
class Playhead:
    """Where a viewer is on the tape of `steps` rows; `furthest` is the last row this viewer has seen."""

    steps: int
    position: float = 0.0
    furthest: int = 0
    playing: bool = False
    speed: str = "full speed"
    stop_loss: float = 0.0
    ticked: float = field(default=0.0, repr=False)

    @property
    def last(self) -> int:
        """The last row of the tape."""
        return self.steps - 1

    @property
    def shown(self) -> int:
        """The row that is shown."""
        return int(self.position)

    def play(self, now: float) -> None:
        """Starts moving; from the end, from the beginning again."""
        if self.shown >= self.last:
            self.position = 0.0
        self.playing, self.ticked = True, now

    def pause(self) -> None:
        """Stops moving. The tape is asked for no further."""
        self.playing = False

    def step(self) -> None:
        """One row on, and stays there."""
        self.playing = False
        self.seek(min(self.shown + 1, self.last))

    def reset(self) -> None:
        """Back to the net before training."""
        self.playing = False
        self.position, self.furthest = 0.0, 0

    def seek(self, row: int) -> None:
        """To a row, wherever it is."""
        self.position = float(min(max(row, 0), self.last))
        self.furthest = max(self.furthest, self.shown)

    def stop_at_loss(self, before: int, loss: np.ndarray) -> bool:
        """Stops at the first row after `before` whose loss is at most `stop_loss`; whether it did. 0 never stops."""
        passed = np.flatnonzero(loss[before + 1 : self.shown + 1] <= self.stop_loss)
        reached = self.stop_loss > 0 and len(passed) > 0
        if reached:
            self.pause()
            self.position = float(before + 1 + passed[0])
        return reached

    def tick(self, now: float, length: int, done: bool) -> None:
        """Moves on by the time that has passed, as far as `length` rows go; stops at the end of a tape that is done."""
        if not self.playing:
            return
        there = max(length - 1, 0)
        rate = SPEEDS[self.speed]
        self.position = float(there) if rate is None else min(self.position + rate * (now - self.ticked), float(there))
        self.ticked = now
        self.furthest = max(self.furthest, self.shown)
        if done and self.shown >= there:
            self.playing = False

    def wanted(self) -> int:
        """How many rows this viewer needs now or soon; 0 for none."""
        if not self.playing:
            return self.shown + 1 if self.shown else 0
        rate = SPEEDS[self.speed]
        return self.steps if rate is None else min(self.steps, int(self.position + rate * AHEAD_SECONDS) + 2)
