"""The classes of a server: led by who has the key, guesses that count once and only until the answer is out, undo,
a file that outlives a restart, and nothing that grows or stays for ever.
"""

import json
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.start.cells import CELLS, GUESSED_CELLS
from components.story.page import PLAYBACK
from models.insight.path_outcome import FLY, MERGE, PATH_OUTCOMES
from models.lessons import board as module
from models.lessons.board import (
    AGE_SECONDS,
    ANSWER_IS_REVEALED,
    AWAY_SECONDS,
    NO_SUCH_CLASS,
    TOO_MANY_WRONG_CODES,
    UNDO_SECONDS,
    UNUSED_SECONDS,
    Board,
    ClassState,
    code_from,
    is_valid_code,
)
from models.lessons.lessons import LESSONS
from models.lessons.plan import DEFAULT_PLAN, plan_from
from models.lessons.stops import (
    NETS,
    START,
    START_POLLS,
    STORY_SCENES,
    page_of,
    playground_stop,
    questions_of,
    stop_from,
)
from models.lessons.trials import MAX_MEMBERS
from models.spec import RunConfig
from models.spec.bounds import (
    MAX_CLASSES,
    MAX_CLASSES_PER_ADDRESS,
    MAX_CLASSES_PER_PERSON,
    MAX_GUESSES,
    MAX_QUESTIONS,
    MAX_STOPS,
    MAX_WEBSOCKETS,
    MAX_WRONG_CODES,
    WRONG_CODE_SECONDS,
)
from tests.waiting import until

LESSON, CODE = "vanishing", "ABCD"
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
    return Board(clock)


@pytest.fixture
def key(board: Board) -> str:
    """Of the class CODE, which is open and shown LESSON."""
    return opened(board, CODE)


def opened(board: Board, code: str, address: str = "") -> str:
    """Opens a class that is shown LESSON; its key."""
    got, key, refusal = board.open(address, code, in_browsers=True)
    assert (got, bool(key), refusal) == (code, True, "")
    board.show(code, key, LESSON)
    return key


def shown(board: Board) -> ClassState:
    now = board.state_of(CODE)
    assert now is not None
    return now


def codes(number: int) -> list[str]:
    letters = module.CODE_LETTERS
    return [f"Z{letters[at // 400]}{letters[at // 20 % 20]}{letters[at % 20]}" for at in range(number)]


def total(board: Board, code: str = CODE, question: str = LESSON) -> int:
    counts = board.counts(code, question)
    return -1 if counts is None else sum(counts.values())


def of(board: Board, *options: str, question: str = LESSON) -> list[int]:
    counts = board.counts(CODE, question)
    assert counts is not None
    return [counts[option] for option in options]


# --- what is shown ---


def test_a_class_is_led_through_its_plan_by_its_key_and_not_beyond_the_ends(board: Board) -> None:
    _, key, _ = board.open("", CODE)
    board.set_plan(CODE, key, "skip,story-2,nonsense,skip,playground?depth=4&norm=none")
    plan = ("skip", "story-2", "playground?depth=4&norm=none")
    seen = []
    for by in (0, -1, 1, 1, 1):
        board.move(CODE, key, by)
        board.move(CODE, "another key", 1)
        now = shown(board)
        assert now.plan == plan
        seen.append((now.at, now.stop))
    assert seen == [(0, "skip"), (0, "skip"), (1, "story-2"), (2, plan[2]), (2, plan[2])]
    board.show(CODE, key, "gates")
    board.move(CODE, key, -1)
    assert shown(board).stop == "story-2", "what was shown in between does not move the plan"


def test_who_is_let_go_is_called_back_and_going_on_calls_back_too(board: Board, key: str) -> None:
    led = shown(board).led
    for change, loose, again in (
        (lambda: board.set_loose(CODE, key, True), True, led),
        (lambda: board.set_loose(CODE, key, False), False, led + 1),
        (lambda: board.set_loose(CODE, key, True), True, led + 1),
        (lambda: board.show(CODE, key, START), False, led + 2),
    ):
        change()
        assert (shown(board).loose, shown(board).led) == (loose, again)


def test_a_plan_as_a_link_holds_it_and_the_pages_of_its_stops() -> None:
    cfg = RunConfig(depth=48, norm="none")
    plan = (*DEFAULT_PLAN, "story-5", playground_stop(cfg), playground_stop(RunConfig()))
    assert plan_from(",".join(plan)).stops == plan
    assert page_of("story-5") == ("story", {"scene": "5"})
    assert page_of(LESSON) == ("lessons", {"lesson": LESSON})
    assert page_of(playground_stop(cfg)) == ("playground", cfg.to_query())
    assert len(plan_from(",".join(f"playground?seed={seed}" for seed in range(50))).stops) == MAX_STOPS


def test_start_asks_about_the_nets_that_its_picture_asks_about() -> None:
    assert tuple(CELLS[at].title for at in GUESSED_CELLS) == tuple(NETS)
    assert [CELLS[at].cfg for at in GUESSED_CELLS] == list(NETS.values())
    assert questions_of(START) == tuple(START_POLLS)


def test_every_scene_of_the_story_can_be_shown() -> None:
    assert len(PLAYBACK) == STORY_SCENES
    assert (stop_from(f"story-{STORY_SCENES}"), stop_from(f"story-{STORY_SCENES + 1}")) == (f"story-{STORY_SCENES}", "")
    assert stop_from("story?scene=2&depth=7&norm=false") == "story-2", "a net of an older link would lead to Start"


# --- guesses ---


def test_guesses_are_counted_by_option_and_may_be_changed_until_the_answer_is_out(board: Board, key: str) -> None:
    for member, option in (("one", SECOND), ("two", SECOND), ("three", FIRST), ("one", FIRST)):
        assert board.guess(CODE, LESSON, member, option) == ""
    assert of(board, FIRST, SECOND) == [2, 1]
    assert tuple(board.counts(CODE, LESSON) or {}) == LESSONS[LESSON].options
    assert board.guess_of(CODE, LESSON, "one") == FIRST
    board.reveal(CODE, key)
    assert board.guess(CODE, LESSON, "one", SECOND) == ANSWER_IS_REVEALED
    assert of(board, FIRST, SECOND) == [2, 1]
    assert shown(board).open_questions == ()


def test_only_what_the_class_is_shown_can_be_guessed(board: Board, key: str) -> None:
    assert board.guess(CODE, "skip", "one", LESSONS["skip"].options[0]) == ANSWER_IS_REVEALED
    assert board.guess("WXYZ", LESSON, "one", FIRST) == NO_SUCH_CLASS
    for question, option in (("no-lesson", FIRST), (LESSON, "no option"), (LESSON, "")):
        assert board.guess(CODE, question, "one", option)
    assert total(board) == total(board, question="skip") == 0
    board.show(CODE, key, START)
    board.guess(CODE, "start-0", "one", MERGE)
    board.guess(CODE, "start-1", "one", FLY)
    assert (total(board, question="start-0"), total(board, question="start-1")) == (1, 1)


def test_only_who_opened_a_class_leads_clears_or_closes_it(board: Board, key: str) -> None:
    board.guess(CODE, LESSON, "one", FIRST)
    before = board.state_of(CODE)
    for change in (board.reveal, board.clear, board.close, board.undo):
        change(CODE, "wrong")
    board.show(CODE, "wrong", START)
    board.set_loose(CODE, "wrong", True)
    board.set_plan(CODE, "wrong", "skip")
    assert board.state_of(CODE) == before
    assert not board.keep_alive(CODE, "wrong")
    assert board.keep_alive(CODE, key)


def test_what_is_cleared_or_closed_can_be_had_back_for_a_while(board: Board, key: str, clock: Clock) -> None:
    for member in ("one", "two"):
        board.guess(CODE, LESSON, member, FIRST)
    board.reveal(CODE, key)
    board.clear(CODE, key)
    assert (total(board), board.can_undo(CODE)) == (0, True)
    assert board.guess(CODE, LESSON, "two", SECOND) == "", "it is asked again"
    board.undo(CODE, key)
    assert (of(board, FIRST, SECOND), board.can_undo(CODE)) == ([1, 1], False)
    board.clear(CODE, key)
    clock.now += UNDO_SECONDS
    board.undo(CODE, key)
    assert total(board) == 0
    board.guess(CODE, LESSON, "one", FIRST)
    board.close(CODE, key)
    assert (total(board), board.can_reopen(CODE, key), board.can_reopen(CODE, "wrong")) == (-1, True, False)
    assert board.open("", CODE)[0] != CODE, "nobody else has its code meanwhile"
    board.reopen(CODE, "wrong")
    assert total(board) == -1
    board.reopen(CODE, key)
    assert total(board) == 1
    board.close(CODE, key)
    clock.now += UNDO_SECONDS
    board.reopen(CODE, key)
    assert (total(board), board.can_reopen(CODE, key)) == (-1, False)


def test_the_results_are_those_of_what_was_revealed(board: Board, key: str) -> None:
    board.set_plan(CODE, key, f"{START},{LESSON},skip")
    board.guess(CODE, LESSON, "one", SECOND)
    assert board.results(CODE) == []
    board.reveal(CODE, key)
    board.show(CODE, key, START)
    board.guess(CODE, "start-0", "one", PATH_OUTCOMES[0])
    board.reveal(CODE, key)
    assert [(stop, question) for stop, question, _ in board.results(CODE)] == [
        *((START, question) for question in START_POLLS),
        (LESSON, LESSON),
    ]
    others = [stop for stop in LESSONS if stop not in (LESSON, "skip")]
    for stop in others:
        board.show(CODE, key, stop)
        board.reveal(CODE, key)
    assert [stop for stop, _, _ in board.results(CODE)][len(START_POLLS) + 1 :] == others, "as they were revealed"


def test_who_is_connected_is_counted_and_how_many_of_them_answered(board: Board, key: str, clock: Clock) -> None:
    for person, member in (("1", "gone"), ("2", "gone"), ("3", "silent"), ("4", "there")):
        board.joined(CODE, person, member=member)
    for member in ("gone", "there"):
        board.guess(CODE, LESSON, member, FIRST)
    board.left(CODE, "1")
    assert (shown(board).here, shown(board).answered, shown(board).gone) == (3, (2,), 0), "one of two tabs"
    board.left(CODE, "2")
    assert (shown(board).here, shown(board).answered, shown(board).gone) == (2, (1,), 1)
    clock.now += 60
    board.reveal(CODE, key)
    ((_, _, result),) = board.results(CODE)
    assert (result.present, dict(result.answered), result.revealed - result.shown) == (2, {LESSON: 1}, 60)
    for person in ("3", "4"):
        board.left(CODE, person)
    assert (shown(board).here, shown(board).answered, shown(board).gone) == (0, (0,), 2)


# --- the file ---


def test_a_class_outlives_a_restart_with_all_but_addresses_and_its_key_in_plain(
    board: Board, key: str, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "deep" / "classes.json"
    board.persist_to(file)
    board.set_plan(CODE, key, f"{START}\n> a note\n{LESSON}\nplayground?depth=4\n? Mine?\n- a, b\n* c")
    board.guess(CODE, LESSON, "one", FIRST, "a session")
    board.reveal(CODE, key)
    until(
        lambda: (
            file.exists()
            and "true" in file.read_text()
            and LESSON in json.loads(file.read_text())["classes"][CODE]["revealed"]
        ),
        "the file",
    )
    board.save()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not any(word in file.read_text() for word in ("a session", key))
    file.write_text(file.read_text().replace('"led"', '"language": "zh", "led"'))  # as older servers wrote it
    after = Board(clock)
    after.persist_to(file)
    assert after.state_of(CODE) == board.state_of(CODE)
    assert (state := after.state_of(CODE)) is not None
    assert state.in_browsers
    assert (after.results(CODE), after.plan_text(CODE, key)) == (board.results(CODE), board.plan_text(CODE, key))
    assert after.plan_text(CODE, "wrong") == ""
    assert (after.counts(CODE, LESSON), after.guess_of(CODE, LESSON, "one")) == (board.counts(CODE, LESSON), FIRST)
    assert after.keep_alive(CODE, key)
    clock.now += AGE_SECONDS
    late = Board(clock)
    late.persist_to(file)
    assert late.state_of(CODE) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"classes": {"ABCD": {}}}', '{"classes": [1]}', "[" * 10**5])
def test_a_file_that_is_none_is_as_no_class_and_is_replaced(tmp_path: Path, text: str) -> None:
    file = tmp_path / "classes.json"
    file.write_text(text)
    board = Board()
    board.persist_to(file)
    code, key, _ = board.open()
    board.save()
    after = Board()
    after.persist_to(file)
    assert after.keep_alive(code, key)
    assert [one.name for one in tmp_path.iterdir()] == ["classes.json"]


DAMAGED = (
    {"seen": 1e999},
    {"seen": "soon"},
    {"guessed": {}},
    {"guesses": []},
    {"led": -1e999},
    {"at": 1e999},
    {"key": 7},
)


@pytest.mark.parametrize("damage", DAMAGED, ids=str)
def test_a_damaged_class_takes_no_other_with_it(
    board: Board, key: str, clock: Clock, tmp_path: Path, damage: dict[str, object]
) -> None:
    other = opened(board, "WXYZ")
    board.guess(CODE, LESSON, "one", FIRST)
    board.persist_to(tmp_path / "classes.json")
    board.save()
    saved = json.loads((tmp_path / "classes.json").read_text())
    saved["classes"] = {CODE: saved["classes"][CODE] | damage, "ZZZZ": None, "WXYZ": saved["classes"]["WXYZ"]}
    (tmp_path / "classes.json").write_text(json.dumps(saved))
    after = Board(clock)
    after.persist_to(tmp_path / "classes.json")
    assert (after.keep_alive(CODE, key), after.keep_alive("WXYZ", other)) == (False, True)


def test_a_class_with_a_page_does_not_age(board: Board, key: str, clock: Clock) -> None:
    board.joined(CODE, "teacher", is_student=False)
    clock.now += 4 * 3600
    assert board.state_of(CODE) is not None, "somebody has set the clock"
    board.left(CODE, "teacher")
    clock.now += UNUSED_SECONDS
    assert board.state_of(CODE) is None


def test_a_class_saved_by_a_clock_ahead_ages(board: Board, key: str, clock: Clock, tmp_path: Path) -> None:
    board.persist_to(tmp_path / "classes.json")
    board.save()
    clock.now -= 500
    after = Board(clock)
    after.persist_to(tmp_path / "classes.json")
    clock.now += UNUSED_SECONDS
    assert after.state_of(CODE) is None


def test_a_disk_that_is_full_stops_nothing(tmp_path: Path) -> None:
    board = Board()
    board.persist_to(tmp_path / "file" / "classes.json")
    (tmp_path / "file").write_text("where the folder would be")
    code, key, refusal = board.open()
    board.save()
    assert (board.keep_alive(code, key), refusal) == (True, "")


# --- bounds ---


def test_a_tended_class_stays_with_new_keys(board: Board, clock: Clock) -> None:
    for guessed, seconds in ((False, UNUSED_SECONDS), (True, AGE_SECONDS)):
        key = opened(board, CODE)
        if guessed:
            board.guess(CODE, LESSON, "one", FIRST)
        clock.now += seconds - 1
        assert not board.keep_alive(CODE, "wrong")
        assert board.keep_alive(CODE, key)
        clock.now += seconds - 1
        board.seen(CODE)
        clock.now += seconds - 1
        assert total(board) == 0
        clock.now += 1
        assert not board.keep_alive(CODE, key)
        assert opened(board, CODE) != key
        board.close(CODE, key)
        assert total(board) == 0
        clock.now += AGE_SECONDS


def test_whoever_is_present_counts_however_many_are_forged(board: Board, key: str) -> None:
    assert MAX_GUESSES > MAX_WEBSOCKETS / 2, "so that there is always one to drop whose page is gone"
    for student in range(30):
        board.joined(CODE, f"session {student}")
        assert board.guess(CODE, LESSON, f"student {student}", SECOND, f"session {student}") == ""
    for forged in range(2 * MAX_GUESSES):
        board.guess(CODE, LESSON, f"forged {forged}", FIRST, f"another {forged}")
    assert of(board, FIRST, SECOND) == [MAX_GUESSES - 30, 30]
    assert board.guess(CODE, LESSON, "late", SECOND, "late") == ""
    assert of(board, FIRST, SECOND) == [MAX_GUESSES - 31, 31]


def test_one_person_gives_way_to_many(board: Board, key: str) -> None:
    for member in range(2 * MAX_GUESSES):
        board.guess(CODE, LESSON, f"forged {member}", FIRST, "one session")
    for student in range(MAX_GUESSES // 2):
        assert board.guess(CODE, LESSON, f"student {student}", SECOND, f"session {student}") == ""
    board.guess(CODE, LESSON, "another", FIRST, "one session")
    assert of(board, FIRST, SECOND) == [MAX_GUESSES // 2, MAX_GUESSES // 2]


def test_a_class_too_many_is_refused_until_one_is_closed_or_forgotten(board: Board, key: str, clock: Clock) -> None:
    many = codes(MAX_CLASSES - 1)
    keys = [opened(board, code, code) for code in many]
    assert f"holds at most {MAX_CLASSES} classes" in board.open("late")[2]
    assert board.keep_alive(CODE, key), "one that is open can still be looked after"
    board.close(many[0], keys[0])
    board.open("late")
    board.reopen(many[0], keys[0])
    assert total(board, many[0]) == -1, "nor does one that was closed come back then"
    clock.now += UNUSED_SECONDS
    board.open("next day")
    assert total(board) == -1


def test_where_all_classes_are_taken_one_without_a_guess_and_a_page_goes_first(board: Board, clock: Clock) -> None:
    keys = {code: opened(board, code, code) for code in codes(MAX_CLASSES)}
    used, away = next(iter(keys)), list(keys)[7]
    board.guess(used, LESSON, "one", FIRST)
    clock.now += AWAY_SECONDS + 1
    for code, key in keys.items():
        if code not in (used, away):
            assert board.keep_alive(code, key)
    board.open("late")
    assert [code for code in keys if board.state_of(code) is None] == [away]
    assert "This server is full" in board.open("too late")[2]


def test_a_pupils_empty_classes_give_way_to_a_teacher(board: Board) -> None:
    mine = codes(MAX_CLASSES_PER_ADDRESS + 5)
    for at, code in enumerate(mine[:20]):
        assert board.open("school", code, f"pupil {at // 4}")[2] == ""
        board.joined(code, f"pupil {at // 4}", is_student=False)
    for code in mine[20:]:
        assert board.open("school", code, f"teacher of {code}")[2] == ""
        board.joined(code, f"student of {code}")
    assert sum(board.state_of(code) is not None for code in mine) == MAX_CLASSES_PER_ADDRESS
    assert all(board.state_of(code) is not None for code in mine[20:]), "a class with students stays"
    assert board.open("elsewhere")[2] == ""


def test_one_person_opens_a_share_of_the_classes(board: Board) -> None:
    refusals = [board.open("school", person="pupil")[2] for _ in range(MAX_CLASSES_PER_PERSON + 1)]
    assert refusals[:-1] == [""] * MAX_CLASSES_PER_PERSON
    assert "You already have" in refusals[-1]


def test_classes_at_work_of_one_address_are_bounded(board: Board) -> None:
    for code in codes(MAX_CLASSES_PER_ADDRESS):
        opened(board, code, "school")
        board.guess(code, LESSON, "one", FIRST)
    assert "Your network already has" in board.open("school")[2]
    assert board.open("elsewhere")[2] == ""


def test_a_class_that_nobody_joined_gives_its_place_as_soon_as_its_page_is_gone(board: Board) -> None:
    mine = codes(MAX_CLASSES_PER_ADDRESS)
    keys = [opened(board, code, "school") for code in mine]
    joined, reloaded, guessed, left = mine[:4]
    board.joined(joined, "one")
    board.guess(guessed, LESSON, "one", FIRST)
    for code in (joined, reloaded, guessed):
        board.left(code)
    assert board.keep_alive(reloaded, keys[1])
    board.left(left)
    assert board.open("school")[2] == ""
    assert [code for code in mine if board.state_of(code) is None] == [left]


def test_wrong_codes_bar_who_tried_them_alone(board: Board, key: str, clock: Clock) -> None:
    for _ in range(2 * MAX_WRONG_CODES):
        assert board.admit("ZZZZ", "late comer") == NO_SUCH_CLASS, "who comes after the class's end, or mistypes"
    assert board.admit(CODE, "late comer") == ""
    assert {board.admit(code, "pupil") for code in codes(MAX_WRONG_CODES)} == {NO_SUCH_CLASS}
    for code in (CODE, "AAAB"):
        assert board.admit(code, "pupil") == TOO_MANY_WRONG_CODES, "it says of no code whether it is a class's"
    assert board.admit(CODE, "classmate") == board.admit(CODE, "") == ""
    clock.now += WRONG_CODE_SECONDS
    assert board.admit(CODE, "pupil") == ""


def test_of_strangers_who_try_codes_a_bounded_number_is_remembered(board: Board) -> None:
    for at in range(2 * MAX_MEMBERS):
        board.admit("ZZZZ", str(at))
    assert len(board._wrong_codes._attempts) == MAX_MEMBERS


def test_only_what_is_asked_is_revealed_so_that_no_list_grows(board: Board, key: str) -> None:
    for depth in range(2, 6):
        board.show(CODE, key, f"playground?depth={depth}")
        board.reveal(CODE, key)
    assert board._classes[CODE].revealed == {}
    for number in range(MAX_QUESTIONS + 5):
        board.show(CODE, key, f"? Number {number}\n=")
        board.guess(CODE, f"? Number {number}\n=", "one", "3")
        board.reveal(CODE, key)
    kept = board._classes[CODE]
    assert {len(kept.revealed), len(kept.guesses), len(kept.guessed)} == {MAX_QUESTIONS}
    assert len(board.results(CODE)) == MAX_QUESTIONS


def test_old_guesses_go_even_while_the_teachers_tab_stays_open(board: Board, key: str, clock: Clock) -> None:
    board.guess(CODE, LESSON, "one", FIRST)
    clock.now += AGE_SECONDS - 1
    board.keep_alive(CODE, key)
    assert total(board) == 1
    clock.now += 1
    assert total(board) == 0


@given(st.text(max_size=60))
def test_a_code_is_four_letters_however_they_are_typed(text: str) -> None:
    assert code_from(text) == "" or is_valid_code(code_from(text))
    code, _, _ = Board().open("", text)
    assert is_valid_code(code)
    assert code_from(f" {code[:2].lower()}-{code[2:]} ") == code


def test_thirty_guesses_at_once_are_all_counted(board: Board, key: str) -> None:
    start = threading.Barrier(30)

    def guess(member: int) -> None:
        start.wait()
        for option in (SECOND, FIRST):
            board.guess(CODE, LESSON, str(member), option)

    members = [threading.Thread(target=guess, args=(member,)) for member in range(30)]
    for member in members:
        member.start()
    for member in members:
        member.join()
    assert of(board, FIRST, SECOND) == [30, 0]
