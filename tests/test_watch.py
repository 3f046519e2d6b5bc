"""One playhead over several tapes: who sets the pace, who does not, and when it is over."""

import numpy as np
import pytest

from components.playhead import Playhead
from components.watch import all_diverged, tick
from models.service.tape import Tape
from models.spec import RunConfig
from models.trace import Divergence

STEPS = 300


def tape(length: int, *, done: bool = False, diverged: bool = False, error: str = "") -> Tape:
    """A tape of so many rows."""
    made = Tape(RunConfig(steps=STEPS), "key")
    made.length, made.done, made.error = length, done, error
    made.divergences = [Divergence(length - 1, "loss")] if diverged else [None]
    return made


GOES_ON, ENDED = tape(101), tape(STEPS + 1, done=True)
DIVERGED, FAILED = tape(4, done=True, diverged=True), tape(10, error="out of memory")


@pytest.mark.parametrize(
    ("tapes", "shown", "playing"),
    [
        ([GOES_ON, tape(51)], 50, True),
        ([GOES_ON, DIVERGED], 100, True),
        ([GOES_ON, FAILED], 100, True),
        ([GOES_ON, ENDED], 100, True),
        ([ENDED, DIVERGED, FAILED], STEPS, False),
        ([DIVERGED, tape(13, done=True, diverged=True)], 12, False),
        ([tape(0), DIVERGED], 0, True),
    ],
    ids=["the slower", "diverged", "failed", "ended", "all over", "all diverged", "not begun"],
)
def test_the_slowest_tape_that_goes_on_sets_the_pace_and_the_others_hold_nobody_back(tapes, shown, playing):
    head = Playhead(STEPS)
    head.play(now=0.0)
    tick(head, tapes, now=60.0)
    assert (head.shown, head.playing) == (shown, playing)


def test_a_playhead_stays_where_it_is_when_the_last_of_its_tapes_diverges():
    head = Playhead(STEPS)
    head.seek(12)
    head.play(now=0.0)
    tick(head, [DIVERGED, GOES_ON], now=0.0)
    assert head.shown == 12
    tick(head, [DIVERGED, tape(13, done=True, diverged=True)], now=60.0)
    assert (head.shown, head.playing) == (12, False)


def test_that_all_have_diverged_is_said_once_all_ends_are_shown_and_not_while_one_goes_on():
    head, wild = Playhead(STEPS), {"A": DIVERGED, "B": tape(13, done=True, diverged=True)}
    assert all_diverged(head, wild) == []
    head.seek(12)
    assert all_diverged(head, wild) == ["all have diverged: A at step 3, B at step 12"]
    assert all_diverged(head, wild | {"C": GOES_ON}) == []
    assert np.all([all_diverged(head, {"A": DIVERGED, "B": other}) == [] for other in (ENDED, FAILED)])
