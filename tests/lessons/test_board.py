"""The class board: one guess per member, only counts come out, and nothing of it grows or stays for ever."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.lessons import board as module
from models.lessons.board import (
    AGE_SECONDS,
    AWAY_SECONDS,
    CLASSES,
    GONE,
    MEMBERS,
    OF_ADDRESS,
    TAKEN,
    UNUSED_SECONDS,
    Board,
    valid,
)
from models.lessons.lessons import LESSONS

LESSON = "vanishing"
FIRST, SECOND, *_ = LESSONS[LESSON].options


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def empty(clock: Clock) -> Board:
    return Board(clock)


@pytest.fixture
def key(empty: Board) -> str:
    """Of the class physics-1, which is open."""
    return opened(empty, "physics-1")


@pytest.fixture
def board(empty: Board, key: str) -> Board:
    return empty


def opened(board: Board, code: str, address: str = "") -> str:
    """Opens a class; its key."""
    key, refusal = board.open(code, address)
    assert (bool(key), refusal) == (True, "")
    return key


def total(board: Board, code: str = "physics-1", lesson: str = LESSON) -> int:
    counts = board.counts(code, lesson)
    return -1 if counts is None else sum(counts.values())


def test_guesses_are_counted_by_option_in_the_lessons_order(board: Board) -> None:
    assert board.guess("physics-1", LESSON, "one", SECOND) == ""
    assert board.guess("physics-1", LESSON, "two", SECOND) == ""
    assert board.guess("physics-1", LESSON, "three", FIRST) == ""
    counts = board.counts("physics-1", LESSON)
    assert counts is not None
    assert tuple(counts) == LESSONS[LESSON].options
    assert (counts[FIRST], counts[SECOND], sum(counts.values())) == (1, 2, 3)


def test_the_first_guess_counts(board: Board) -> None:
    board.guess("physics-1", LESSON, "one", FIRST)
    board.guess("physics-1", LESSON, "one", SECOND)
    counts = board.counts("physics-1", LESSON)
    assert counts is not None
    assert (counts[FIRST], counts[SECOND]) == (1, 0)


def test_classes_and_lessons_are_counted_apart(board: Board) -> None:
    opened(board, "physics-2")
    board.guess("physics-1", LESSON, "one", FIRST)
    assert total(board, "physics-2") == 0
    assert total(board, lesson="exploding") == 0
    assert total(board) == 1


def test_a_guess_for_a_class_that_nobody_opened_is_refused_and_makes_none(board: Board) -> None:
    assert "No class with this code is open" in board.guess("physics-9", LESSON, "one", FIRST)
    assert board.counts("physics-9", LESSON) is None


@pytest.mark.parametrize(("lesson", "option"), [("no-lesson", FIRST), (LESSON, "no option"), (LESSON, "")])
def test_a_forged_guess_is_no_guess(board: Board, lesson: str, option: str) -> None:
    with pytest.raises(ValueError, match="is no option of a lesson"):
        board.guess("physics-1", lesson, "one", option)
    assert total(board) == 0


def test_only_who_opened_a_class_may_clear_or_close_it(board: Board, key: str) -> None:
    board.guess("physics-1", LESSON, "one", FIRST)
    board.clear("physics-1", "wrong", LESSON)
    board.close("physics-1", "wrong")
    assert board.open("physics-1") == ("", TAKEN)
    assert total(board) == 1
    board.clear("physics-1", key, LESSON)
    assert total(board) == 0
    board.close("physics-1", key)
    assert total(board) == -1


@pytest.mark.parametrize(("guessed", "seconds"), [(True, AGE_SECONDS), (False, UNUSED_SECONDS)])
def test_looking_after_a_class_keeps_it_and_opens_none(
    board: Board, key: str, clock: Clock, guessed: bool, seconds: float
) -> None:
    """A class is kept for hours from its first guess on, before that as long as somebody may be on the way to it."""
    if guessed:
        board.guess("physics-1", LESSON, "one", FIRST)
        board.clear("physics-1", key, LESSON)
    assert board.look_after("physics-9", key) == GONE
    assert board.look_after("physics-1", "wrong") == TAKEN
    clock.now += seconds - 1
    assert board.look_after("physics-1", "wrong") == TAKEN
    assert board.look_after("physics-1", key) == ""
    clock.now += seconds - 1
    assert total(board) == 0
    clock.now += 1
    assert board.look_after("physics-1", key) == GONE
    assert total(board) == total(board, "physics-9") == -1


def test_a_class_has_a_new_key_each_time_it_is_opened(board: Board, key: str, clock: Clock) -> None:
    clock.now += UNUSED_SECONDS
    assert opened(board, "physics-1") != key
    assert board.look_after("physics-1", key) == TAKEN
    board.close("physics-1", key)
    assert total(board) == 0


def test_clearing_a_lesson_leaves_the_others(board: Board, key: str) -> None:
    board.guess("physics-1", LESSON, "one", FIRST)
    board.guess("physics-1", "skip", "one", LESSONS["skip"].options[0])
    board.clear("physics-1", key, LESSON)
    assert (total(board), total(board, lesson="skip")) == (0, 1)


def test_a_guess_too_many_is_refused_but_one_that_counts_may_still_be_changed(board: Board) -> None:
    for member in range(MEMBERS):
        assert board.guess("physics-1", LESSON, str(member), FIRST) == ""
    assert "is full" in board.guess("physics-1", LESSON, "late", FIRST)
    assert board.guess("physics-1", LESSON, "0", SECOND) == ""
    assert total(board) == MEMBERS


def test_the_members_of_a_class_may_all_come_from_one_address(board: Board) -> None:
    for member in range(MEMBERS):
        assert board.guess("physics-1", LESSON, str(member), FIRST, "school") == ""
    assert total(board) == MEMBERS


def test_one_clients_many_sessions_do_not_keep_a_class_off_its_board(board: Board) -> None:
    for session in range(2 * MEMBERS):
        board.guess("physics-1", LESSON, f"session {session}", FIRST, "stranger")
    assert total(board) == MEMBERS
    for student in range(MEMBERS // 2):
        assert board.guess("physics-1", LESSON, f"student {student}", SECOND, "school") == ""
    counts = board.counts("physics-1", LESSON)
    assert counts is not None
    assert (counts[FIRST], counts[SECOND]) == (MEMBERS // 2, MEMBERS // 2)
    assert "is full" in board.guess("physics-1", LESSON, "session 0 again", FIRST, "stranger")
    assert board.guess("physics-1", LESSON, "session 0", SECOND, "stranger") == "", "the first ones stay"


def test_a_class_too_many_is_refused_until_one_is_closed_or_forgotten(board: Board, key: str, clock: Clock) -> None:
    keys = [opened(board, f"class-{number}", str(number)) for number in range(CLASSES - 1)]
    assert f"holds at most {CLASSES} classes" in board.open("late")[1]
    assert board.look_after("physics-1", key) == "", "one that is open can still be looked after"
    board.close("class-0", keys[0])
    opened(board, "late")
    clock.now += UNUSED_SECONDS
    opened(board, "next-day")
    assert total(board) == -1


def test_where_all_classes_are_taken_one_without_a_guess_and_a_page_goes_first(board: Board, clock: Clock) -> None:
    keys = {f"class-{number}": opened(board, f"class-{number}", str(number)) for number in range(CLASSES - 1)}
    board.guess("physics-1", LESSON, "one", FIRST)
    board.guess("class-0", LESSON, "one", FIRST)
    clock.now += AWAY_SECONDS + 1
    for code, key in keys.items():
        if code not in ("class-0", "class-7"):
            assert board.look_after(code, key) == ""
    opened(board, "late")
    gone = [code for code in ("physics-1", *keys) if board.counts(code, LESSON) is None]
    assert gone == ["class-7"]
    assert "all are taken" in board.open("too-late")[1]


def test_one_address_does_not_take_all_classes_and_its_own_make_room_for_it(board: Board, clock: Clock) -> None:
    keys = [opened(board, f"mine-{number}", "stranger") for number in range(OF_ADDRESS)]
    assert "From your network" in board.open("one-more", "stranger")[1]
    opened(board, "other", "school")
    clock.now += AWAY_SECONDS + 1
    assert board.look_after("mine-1", keys[1]) == ""
    opened(board, "one-more", "stranger")
    assert [total(board, code) for code in ("mine-0", "mine-1", "other", "physics-1")] == [-1, 0, 0, 0]


def test_the_board_holds_no_address(board: Board) -> None:
    opened(board, "physics-2", "203.0.113.7")
    board.guess("physics-2", LESSON, "one", FIRST, "203.0.113.7")
    assert "203.0.113.7" not in str(board._classes)


def test_old_guesses_go_even_while_the_teachers_tab_stays_open(board: Board, key: str, clock: Clock) -> None:
    board.guess("physics-1", LESSON, "one", FIRST)
    clock.now += AGE_SECONDS - 1
    board.look_after("physics-1", key)
    assert total(board) == 1
    clock.now += 1
    assert total(board) == 0


@given(st.text(max_size=40))
def test_a_code_is_letters_digits_and_hyphens_or_it_is_refused(code: str) -> None:
    plain = 1 <= len(code) <= 24 and all(c.isascii() and (c.isalnum() or c == "-") for c in code)
    assert valid(code) == plain
    assert [bool(one) for one in Board().open(code)] == [plain, not plain]


@given(st.from_regex(r"[A-Za-z0-9-]{1,24}", fullmatch=True))
def test_every_plain_code_opens_a_class(code: str) -> None:
    made = Board()
    opened(made, code)
    assert total(made, code) == 0


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("open"), st.sampled_from("abcd"), st.sampled_from("xy")),
            st.tuples(st.just("look after"), st.sampled_from("abcd"), st.sampled_from("xy")),
            st.tuples(st.just("guess"), st.sampled_from("abcd"), st.sampled_from("12345")),
            st.tuples(st.just("wait"), st.floats(0, AGE_SECONDS), st.none()),
        ),
        max_size=60,
    )
)
def test_whatever_happens_the_board_keeps_its_bounds(events: list) -> None:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CLASSES", 2)
        patch.setattr(module, "MEMBERS", 3)
        made, keys = Board(clock), {}
        for kind, first, second in events:
            if kind == "open":
                keys[first] = made.open(first, second)[0] or keys.get(first, "")
            elif kind == "look after":
                made.look_after(first, keys.get(first, second))
            elif kind == "guess":
                made.guess(first, LESSON, second, FIRST, "school" if second < "3" else second)
            else:
                clock.now += first
            there = [total(made, code) for code in "abcd"]
            assert sum(count >= 0 for count in there) <= 2
            assert max(there) <= 3
        clock.now += AGE_SECONDS
        assert [total(made, code) for code in "abcd"] == [-1] * 4


def test_thirty_guesses_at_once_are_all_counted(board: Board) -> None:
    start = threading.Barrier(30)

    def guess(member: int) -> None:
        start.wait()
        for option in (FIRST, SECOND):
            board.guess("physics-1", LESSON, str(member), option)

    members = [threading.Thread(target=guess, args=(member,)) for member in range(30)]
    for member in members:
        member.start()
    for member in members:
        member.join()
    counts = board.counts("physics-1", LESSON)
    assert counts is not None
    assert (counts[FIRST], counts[SECOND]) == (30, 0)
