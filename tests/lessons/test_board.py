"""The class board: one guess per member, only counts come out, and nothing of it grows or stays for ever."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.lessons import board as module
from models.lessons.board import AGE_SECONDS, CLASSES, GONE, MEMBERS, MOST_KEY, TAKEN, Board, valid
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
def board(clock: Clock) -> Board:
    made = Board(clock)
    assert made.open("physics-1", "key") == ""
    return made


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
    board.open("physics-2", "other")
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


def test_only_who_opened_a_class_may_clear_or_close_it(board: Board) -> None:
    board.guess("physics-1", LESSON, "one", FIRST)
    board.clear("physics-1", "wrong", LESSON)
    board.close("physics-1", "wrong")
    assert "already opened" in board.open("physics-1", "wrong")
    assert total(board) == 1
    board.clear("physics-1", "key", LESSON)
    assert total(board) == 0
    board.close("physics-1", "key")
    assert total(board) == -1


def test_looking_after_a_class_keeps_it_and_opens_none(board: Board, clock: Clock) -> None:
    assert board.look_after("physics-9", "key") == GONE
    assert board.look_after("physics-1", "wrong") == TAKEN
    clock.now += AGE_SECONDS - 1
    assert board.look_after("physics-1", "wrong") == TAKEN
    assert board.look_after("physics-1", "key") == ""
    clock.now += AGE_SECONDS - 1
    assert total(board) == 0
    clock.now += 1
    assert board.look_after("physics-1", "key") == GONE
    assert total(board) == total(board, "physics-9") == -1


def test_a_key_has_its_bounds() -> None:
    made = Board()
    for key in ("", "x" * (MOST_KEY + 1)):
        assert "1 to 64 characters" in made.open("physics-1", key)
        assert made.counts("physics-1", LESSON) is None
    assert made.open("physics-1", "x" * MOST_KEY) == ""


def test_clearing_a_lesson_leaves_the_others(board: Board) -> None:
    board.guess("physics-1", LESSON, "one", FIRST)
    board.guess("physics-1", "skip", "one", LESSONS["skip"].options[0])
    board.clear("physics-1", "key", LESSON)
    assert (total(board), total(board, lesson="skip")) == (0, 1)


def test_a_guess_too_many_is_refused_but_one_that_counts_may_still_be_changed(board: Board) -> None:
    for member in range(MEMBERS):
        assert board.guess("physics-1", LESSON, str(member), FIRST) == ""
    assert "is full" in board.guess("physics-1", LESSON, "late", FIRST)
    assert board.guess("physics-1", LESSON, "0", SECOND) == ""
    assert total(board) == MEMBERS


def test_a_class_too_many_is_refused_until_one_is_closed_or_forgotten(board: Board, clock: Clock) -> None:
    for number in range(CLASSES - 1):
        assert board.open(f"class-{number}", "key") == ""
    assert f"holds at most {CLASSES} classes" in board.open("late", "key")
    assert board.open("physics-1", "key") == "", "one that is open can still be looked after"
    board.close("class-0", "key")
    assert board.open("late", "key") == ""
    clock.now += AGE_SECONDS
    assert board.open("next-day", "key") == ""
    assert total(board) == -1


def test_old_guesses_go_even_while_the_teachers_tab_stays_open(board: Board, clock: Clock) -> None:
    board.guess("physics-1", LESSON, "one", FIRST)
    clock.now += AGE_SECONDS - 1
    board.open("physics-1", "key")
    assert total(board) == 1
    clock.now += 1
    assert total(board) == 0


@given(st.text(max_size=40))
def test_a_code_is_letters_digits_and_hyphens_or_it_is_refused(code: str) -> None:
    plain = 1 <= len(code) <= 24 and all(c.isascii() and (c.isalnum() or c == "-") for c in code)
    assert valid(code) == plain
    assert (Board().open(code, "key") == "") == plain


@given(st.from_regex(r"[A-Za-z0-9-]{1,24}", fullmatch=True))
def test_every_plain_code_opens_a_class(code: str) -> None:
    made = Board()
    assert made.open(code, "key") == ""
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
        made = Board(clock)
        for kind, first, second in events:
            if kind == "open":
                made.open(first, second)
            elif kind == "look after":
                made.look_after(first, second)
            elif kind == "guess":
                made.guess(first, LESSON, second, FIRST)
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
