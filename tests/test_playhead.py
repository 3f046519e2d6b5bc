"""A viewer's place on a tape and the pace of the page: numbers in, numbers out, no clock and no Streamlit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import viewers
from components.playhead import AHEAD_SECONDS, SPEEDS, Playhead

SLOW = [name for name, rate in SPEEDS.items() if rate is not None]


def test_a_new_playhead_rests_at_the_beginning_and_wants_nothing():
    head = Playhead(100)
    assert (head.shown, head.furthest, head.playing, head.wanted()) == (0, 0, False, 0)


def test_at_full_speed_it_follows_what_is_there_and_wants_the_whole_tape():
    head = Playhead(100)
    head.play(now=5.0)
    assert head.wanted() == 101
    head.tick(now=9.0, length=37, done=False)
    assert head.shown == 36
    assert head.playing


@pytest.mark.parametrize(("steps", "least", "most"), [(20, 0.2, 1), (40, 0.5, 2), (300, 6, 10), (5000, 6, 10)])
def test_at_full_speed_a_finished_tape_is_played_in_about_eight_seconds_a_short_one_in_less(steps, least, most):
    head, now, drawn = Playhead(steps), 0.0, []
    head.play(now)
    while head.playing:
        now += 0.1
        head.tick(now, length=steps + 1, done=True)
        drawn.append(head.shown)
    assert drawn[-1] == steps
    assert least <= now <= most
    assert max(np.diff([0, *drawn])) <= max(steps, 300) / 60


def test_a_tape_that_is_computed_again_does_not_move_it_back():
    head = Playhead(300)
    head.seek(120)
    head.play(now=0.0)
    assert head.tick(now=5.0, length=0, done=False) == 120
    head.tick(now=10.0, length=50, done=False)
    assert (head.shown, head.playing) == (120, True)


@pytest.mark.parametrize("speed", SLOW)
def test_at_a_slow_speed_it_moves_by_the_time_that_has_passed(speed):
    head, rate = Playhead(1000, speed=speed), SPEEDS[speed]
    head.play(now=10.0)
    for tick in range(1, 9):
        head.tick(now=10.0 + tick / 2, length=1000, done=True)
    assert head.shown == int(4 * rate)
    assert head.wanted() == pytest.approx(head.position + AHEAD_SECONDS * rate, abs=2)
    assert head.wanted() > head.shown + 1


@pytest.mark.parametrize("speed", SLOW)
def test_a_slow_playhead_waits_at_the_end_of_a_tape_that_is_not_done(speed):
    head = Playhead(1000, speed=speed)
    head.play(now=0.0)
    head.tick(now=1e6, length=12, done=False)
    assert head.shown == 11
    assert head.playing


def test_it_stops_at_the_end_of_a_tape_that_is_done_and_train_begins_again_from_there():
    head = Playhead(50)
    head.play(now=0.0)
    head.tick(now=9.0, length=51, done=True)
    assert (head.shown, head.playing) == (50, False)
    head.play(now=10.0)
    assert head.tick(now=10.1, length=51, done=True) == 0
    assert (head.shown, head.playing, head.furthest) == (3, True, 50)


def test_it_stops_where_a_run_diverged_and_train_begins_again_from_there():
    head = Playhead(300)
    head.play(now=0.0)
    head.tick(now=1.0, length=3, done=True)
    assert (head.shown, head.playing) == (2, False)
    head.play(now=2.0)
    head.tick(now=2.0, length=3, done=True)
    assert (head.shown, head.playing) == (0, True)


def test_from_the_end_train_begins_again_even_where_the_tape_is_gone():
    head = Playhead(50)
    head.seek(50)
    head.play(now=0.0)
    head.tick(now=0.1, length=0, done=False)
    assert (head.shown, head.playing) == (0, True)


def test_a_paused_playhead_does_not_move_and_wants_only_what_it_shows():
    head = Playhead(100)
    head.play(now=0.0)
    head.tick(now=9.0, length=41, done=False)
    head.pause()
    head.tick(now=99.0, length=101, done=True)
    assert (head.shown, head.wanted()) == (40, 41)


def test_time_spent_paused_is_not_caught_up():
    head = Playhead(1000, speed="5 steps/s")
    head.play(now=0.0)
    head.tick(now=2.0, length=1000, done=False)
    head.pause()
    head.play(now=500.0)
    head.tick(now=501.0, length=1000, done=False)
    assert head.shown == 15


def test_step_goes_one_on_and_rests_and_stays_at_the_last():
    head = Playhead(3)
    head.play(now=0.0)
    shown = []
    for _ in range(4):
        head.step()
        shown.append(head.shown)
    assert shown == [1, 2, 3, 3]
    assert not head.playing


def test_reset_forgets_what_was_seen_and_scrubbing_back_does_not():
    head = Playhead(100)
    head.seek(60)
    head.seek(10)
    assert (head.shown, head.furthest) == (10, 60)
    head.reset()
    assert (head.shown, head.furthest, head.wanted()) == (0, 0, 0)


def test_it_stops_at_the_first_step_that_reaches_the_loss_target_and_not_again_at_an_earlier_one():
    loss = np.array([2.3, 1.9, 0.9, 1.2, 0.7, 0.4], float)
    head = Playhead(6, stop_loss=1.0)
    head.play(now=0.0)
    head.stop_at_loss(head.tick(now=1.0, length=6, done=False), loss)
    assert (head.shown, head.playing) == (2, False)
    head.play(now=2.0)
    head.stop_at_loss(head.tick(now=3.0, length=6, done=False), loss)
    assert head.shown == 4


def test_it_says_at_which_loss_it_stopped_until_it_is_moved():
    head = Playhead(6, stop_loss=1.0)
    for move in (head.step, head.reset, lambda: head.seek(1), lambda: head.play(now=9.0)):
        head.reset()
        head.play(now=0.0)
        head.stop_at_loss(head.tick(now=1.0, length=6, done=False), np.array([2.3, 0.9, 1.2, 0.7, 0.4, 0.3]))
        head.stop_loss = 1.0
        assert (head.shown, head.reached) == (1, 1.0)
        move()
        assert head.reached == 0


def test_without_a_loss_target_it_never_stops_early():
    head = Playhead(4)
    head.play(now=0.0)
    head.tick(now=1.0, length=4, done=False)
    head.stop_at_loss(0, np.array([1.0, 0.0, 0.0, 0.0]))
    assert head.playing


moves = st.lists(
    st.one_of(
        st.sampled_from(["play", "pause", "step", "reset"]).map(lambda name: (name,)),
        st.tuples(st.just("seek"), st.integers(-10, 10_000)),
        st.tuples(st.just("tick"), st.floats(0, 30), st.integers(0, 200), st.booleans()),
        st.tuples(st.just("speed"), st.sampled_from(list(SPEEDS))),
    )
)


@given(st.integers(1, 200), moves)
def test_whatever_is_pressed_the_row_stays_on_the_tape_and_the_wish_within_it(steps, pressed):
    head, now = Playhead(steps), 0.0
    for name, *arguments in pressed:
        if name == "tick":
            passed, length, done = arguments
            now += passed
            head.tick(now, min(length, steps + 1), done)
        elif name == "play":
            head.play(now)
        elif name == "speed":
            head.speed = arguments[0]
        else:
            getattr(head, name)(*arguments)
        assert 0 <= head.shown <= head.last
        assert head.shown <= head.furthest <= head.last
        assert 0 <= head.wanted() <= steps + 1
        assert head.wanted() > head.shown or head.shown == 0


def test_pages_poll_more_slowly_the_more_people_watch():
    paces = [viewers.interval(people) for people in range(1, 61)]
    assert paces == sorted(paces)
    assert (paces[0], paces[29], paces[-1]) == (0.5, 2.0, 4.0)


def test_pages_poll_more_slowly_where_drawing_costs_more():
    paces = [viewers.interval(30, cost / 1000) for cost in range(200)]
    assert paces == sorted(paces)
    assert (paces[0], paces[-1]) == (2.0, 8.0)
    for cost, seconds in enumerate(paces):
        assert seconds == 8.0 or 30 * cost / 1000 <= viewers.SHARE * seconds


def test_a_single_dear_drawing_slows_nobody_and_a_slow_server_does():
    cost = viewers.Cost()
    cost.add(1.0)  # a page's first drawing imports what it needs
    assert viewers.interval(1, cost.held) == 0.5
    for _ in range(300):
        cost.add(0.06)
    assert cost.held == pytest.approx(0.06, rel=viewers.STEADY - 1)
    assert viewers.interval(30, cost.held) > 2.0
    before = cost.held
    for at in range(1000):
        cost.add(before * (1.1 if at % 2 else 0.9))
    assert cost.held == before, "a cost that wavers leaves everybody's interval alone"


def test_a_page_that_is_drawn_less_often_says_so(monkeypatch):
    monkeypatch.setattr(viewers, "_seen", {})
    monkeypatch.setattr(viewers, "_cost", viewers.Cost())
    viewers.watching("anna")
    assert viewers.slowed() == ""
    for name in range(29):
        viewers.watching(str(name))
    assert viewers.slowed() == "30 people watch: drawn every 2 s"
    monkeypatch.setattr(viewers, "_cost", viewers.Cost(held=0.05))
    assert viewers.slowed() == "30 people watch: drawn every 4 s"


def test_a_viewer_counts_once_and_one_who_left_no_longer(monkeypatch):
    clock = iter([0.0, 1.0, 2.0, 2.0 + viewers.WATCHING_SECONDS + 0.5])
    monkeypatch.setattr(viewers, "_seen", {})
    monkeypatch.setattr(viewers.time, "monotonic", lambda: next(clock))
    assert [viewers.watching(name) for name in ("anna", "anna", "ben", "ben")] == [1, 1, 2, 1]
