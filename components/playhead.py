"""A viewer's place on a tape. The run itself belongs to nobody: play, pause, step, scrub and speed move this only.

Position p shows row p: the net after p updates. Position 0 is the net before training.
"""

from dataclasses import dataclass, field

import numpy as np

WHOLE_SECONDS = 8.0  # from one end of a tape to the other at full speed, if the trainer is not slower
SHORT = 300  # steps up to which a tape is played at one rate: a short one does not crawl
SPEEDS: dict[str, float | None] = {"1 step/s": 1.0, "5 steps/s": 5.0, "25 steps/s": 25.0, "full speed": None}
AHEAD_SECONDS = 6.0  # how far past a slow playhead its tape is asked for


@dataclass
class Playhead:
    """Where a viewer is on the tape of `steps` updates, rows 0 to `steps`; `furthest` is the last row this viewer has seen.

    `reached`: the loss target that it stopped at, 0 where it did not.
    """

    steps: int
    position: float = 0.0
    furthest: int = 0
    playing: bool = False
    speed: str = "full speed"
    stop_loss: float = 0.0
    reached: float = 0.0
    ticked: float = field(default=0.0, repr=False)
    pressed: bool = field(default=False, repr=False)

    @property
    def last(self) -> int:
        """The last row of the tape: the net after all updates."""
        return self.steps

    @property
    def shown(self) -> int:
        """The row that is shown."""
        return int(self.position)

    @property
    def seen(self) -> int:
        """How many rows this viewer has seen; none before the first move, whoever else has trained this tape."""
        return self.furthest + 1 if self.furthest else 0

    @property
    def rate(self) -> float:
        """Rows per second."""
        return SPEEDS[self.speed] or max(self.steps, SHORT) / WHOLE_SECONDS

    def play(self, now: float) -> None:
        """Starts moving; from the end, from the beginning again, as the first `tick` finds."""
        self.playing, self.pressed, self.ticked, self.reached = True, True, now, 0.0

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
        self.seek(0)
        self.furthest = 0

    def seek(self, row: int) -> None:
        """To a row, wherever it is."""
        self.reached = 0.0
        self.position = float(min(max(row, 0), self.last))
        self.furthest = max(self.furthest, self.shown)

    def stop_at_loss(self, before: int, loss: np.ndarray) -> None:
        """Stops at the first row after `before` whose loss is at most `stop_loss`. 0 never stops."""
        passed = np.flatnonzero(loss[before + 1 : self.shown + 1] <= self.stop_loss)
        if self.stop_loss > 0 and len(passed):
            self.pause()
            self.position, self.reached = float(before + 1 + passed[0]), self.stop_loss

    def tick(self, now: float, length: int, done: bool) -> int:
        """Moves on by the time that has passed, as far as `length` rows go; stops at the end of tapes that are done.

        Returns the row that it moves on from: where it was, or 0 where it begins again. It never moves back for want of rows.
        """
        if not self.playing:
            return self.shown
        there = max(length - 1, 0)
        if self.pressed and (self.shown >= self.last or (done and self.shown >= there)):
            self.position = 0.0
        before = self.shown
        self.position = max(self.position, min(self.position + self.rate * (now - self.ticked), float(there)))
        self.ticked, self.pressed = now, False
        self.furthest = max(self.furthest, self.shown)
        self.playing = not (done and self.shown >= there)
        return before

    def wanted(self) -> int:
        """How many rows this viewer needs now or soon; 0 for none."""
        if not self.playing:
            return self.shown + 1 if self.shown else 0
        rate = SPEEDS[self.speed]
        return self.last + 1 if rate is None else min(self.last, int(self.position + rate * AHEAD_SECONDS) + 1) + 1
