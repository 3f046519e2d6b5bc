"""What a server may spend is set in its environment, written down, kept to, and said where something does not fit."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models import answers
from models.answers import Question
from models.service import engine
from models.service.demand import Requester
from models.service.engine import Engine
from models.service.messages import key_of
from models.service.result_cache import ResultCache, question_message
from models.service.runs import open_folder
from models.service.sharing import Client, QuestionQueue, Turns, admission_order
from models.service.wire import Message
from models.service.worker_process import ROOT
from models.spec import RunConfig
from models.spec.bounds import FULL_SHARES_PER_ADDRESS
from models.spec.budget import resident_bytes
from models.spec.limits import VARIABLES, Limits, limits_from
from models.training import Work
from tests.service.test_service import SLOW, bent, finished, pieces
from tests.waiting import until

DOCUMENT = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")


def small(seed: int, steps: int = 40) -> RunConfig:
    return RunConfig(depth=2, width=16, batch=16, steps=steps, seed=seed, device="cpu")


# --- the variables ---


def test_every_variable_is_documented_as_it_works_and_no_other() -> None:
    rows = [
        f"| `{name}` | {variable.default:g} {variable.unit} | {variable.low:g} to {variable.high:g} | {variable.meaning} |"
        for name, variable in VARIABLES.items()
    ]
    assert [line for line in DOCUMENT.splitlines() if line.startswith("| `PLAYGROUND_")] == rows
    assert {variable.field for variable in VARIABLES.values()} == set(Limits.__annotations__)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_is_heard(name: str) -> None:
    variable = VARIABLES[name]
    value = variable.high if variable.default != variable.high else variable.low
    assert getattr(limits_from({}), variable.field) == variable.default
    assert getattr(limits_from({name: f" {value:.15g} "}), variable.field) == value
    assert limits_from({name: ""}) == limits_from({})


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("text", ["many", "-1", "1e99", "nan", "0x10"])
def test_a_variable_that_is_no_legal_number_stops_the_server_with_the_range(name: str, text: str) -> None:
    variable = VARIABLES[name]
    with pytest.raises(ValueError, match=rf"{name} is {text}; legal is .* from {variable.low:g} to .*{variable.unit}"):
        limits_from({name: text})


def in_a_server(code: str, **environment: str) -> str:
    """What Python prints in a process whose environment sets limits."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="looks into /proc")
@pytest.mark.full
def test_what_exceeds_the_workers_address_space_is_said_and_the_worker_lives_on() -> None:
    code = """
import time
from models.service.client import Trainer
from models.spec import RunConfig
trainer = Trainer()
wide = RunConfig(depth=128, width=512, batch=512, layers_per_branch=1, device="cpu")
while trainer.status().state not in ("ready", "failed"): time.sleep(0.01)
pid = trainer.status().pid
print([line.split()[3] for line in open(f"/proc/{pid}/limits") if line.startswith("Max address space")][0])
log = trainer.request_rows(wide, 5)
while not (log.error or log.done or log.length >= 5): time.sleep(0.01)
print(log.error)
small = trainer.request_rows(RunConfig(depth=2, width=16, batch=16, steps=5, device="cpu"), 5)
while not (small.done or small.error): time.sleep(0.01)
print(small.length, trainer.status().pid == pid)
trainer.close()
"""
    roomy = {"PLAYGROUND_STEP_SECONDS": "12", "PLAYGROUND_RUN_SECONDS": "1e6", "PLAYGROUND_MEMORY": "100000"}
    limit, refusal, lived = in_a_server(code, PLAYGROUND_ADDRESS_SPACE="1300", **roomy).splitlines()
    assert int(limit) == 1300 * 10**6
    assert refusal == "out of memory on the processor; a smaller width, batch or depth needs less"
    assert lived == "6 True"


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="a limit of Linux")
@pytest.mark.full
def test_a_machine_that_bounds_processes_below_our_default_gets_a_trainer_all_the_same() -> None:
    code = """
import resource, time
resource.setrlimit(resource.RLIMIT_AS, (6 * 10**9, 6 * 10**9))
from models.service.client import Trainer
trainer = Trainer(back_off=[0.0])
while trainer.status().state not in ("ready", "failed"): time.sleep(0.01)
print(trainer.status().state)
trainer.close()
"""
    assert in_a_server(code) == "ready\n"


def test_silence_is_longer_than_an_honest_step() -> None:
    with pytest.raises(
        ValueError, match=r"PLAYGROUND_SILENCE is 30; legal is 50 or more .* where PLAYGROUND_STEP_SECONDS is 10"
    ):
        limits_from({"PLAYGROUND_SILENCE": "30", "PLAYGROUND_STEP_SECONDS": "10"})


@pytest.mark.full
def test_a_server_below_the_default_network_opens_with_a_smaller_one() -> None:
    code = """
from models.spec import RunConfig
from models.spec.budget import fit_to_budget, budget_refusal
assert budget_refusal(RunConfig())
print(budget_refusal(fit_to_budget(RunConfig())), fit_to_budget(RunConfig()).steps)
from models.service import client
from tests.app_page import playground, charts
from tests.inprocess import InProcessTrainer
client.Trainer = InProcessTrainer
page = playground()
print([error.value for error in page.error], "Signal by depth" in charts(page))
"""
    low = {"PLAYGROUND_STEPS": "100", "PLAYGROUND_MEMORY": "16"}
    fits, shown = in_a_server(code, **low).splitlines()
    assert fits == "None 100"
    refusal, drawn = shown.rsplit("] ", 1)
    assert refusal.count("over budget") == 1
    assert drawn == "True"


@pytest.mark.parametrize("name", sorted(engine.QUESTIONS))
def test_a_question_that_builds_no_net_is_not_refused_for_what_the_net_would_cost(name: str, monkeypatch) -> None:
    monkeypatch.setattr(engine, "budget_refusal", lambda *_: "This is over budget.")
    monkeypatch.setitem(engine.QUESTIONS, name, lambda _cfg, _args: {"there": True})
    readers = Readers()
    readers.engine.answer(question_message(Question(name, dict), small(0), {}))
    assert readers.heard[-1]["value"] == {"there": True}
    readers.engine.answer(question_message(answers.OPENED, small(0), {"seeds": 1}))
    assert readers.heard[-1]["error"] == "This is over budget."


# --- the queue ---


class Readers:
    """An engine and the results that its messages are filed in, as in the two processes."""

    def __init__(self) -> None:
        self.heard: list[Message] = []
        runs = open_folder(0)
        self.engine = Engine(self.hear, runs)
        self.results = ResultCache(runs, self.engine.set_requests)

    def hear(self, message: Message) -> None:
        self.heard.append(message)
        self.results.handle_message(message)

    def want(self, cfg: RunConfig, seconds: float = 60.0, session: str = "", until: int = 0, address: str = "") -> None:
        who = Requester(session, "", key_of(cfg), address=address)
        self.results.request_rows(self.results.add_log(cfg), who, until or cfg.steps, seconds)

    def places(self, *runs: RunConfig) -> list[int]:
        return [self.results.queue_position(self.results.log(cfg)) for cfg in runs]

    def lengths(self, *runs: RunConfig) -> list[int]:
        return [self.results.log(cfg).length for cfg in runs]


def test_unknown_questions_and_runs_over_budget_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers()
    readers.engine.answer(question_message(Question("meaning", dict), small(0), {}))
    assert "no question 'meaning'" in readers.heard[-1]["error"]
    monkeypatch.setattr(engine, "budget_refusal", lambda *_: "This is over budget.")
    readers.want(small(0))
    assert readers.results.log(small(0)).error == "This is over budget."


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> Readers:
    """An engine that trains two runs by turns, one step a turn, and takes ten rows for few."""
    monkeypatch.setattr(engine, "SHORT_REQUEST_ROWS", 10)
    monkeypatch.setattr(engine, "MAX_TRAINED_RUNS", 2)
    monkeypatch.setattr(engine, "SLICE_SECONDS", 0.0)
    return Readers()


def test_more_runs_than_are_trained_by_turns_wait_in_the_order_in_which_they_came(readers: Readers) -> None:
    runs = [small(seed) for seed in range(5)]
    for cfg in runs:
        readers.want(cfg)
    for _ in range(6):
        assert readers.engine.work()
    assert readers.places(*runs) == [0, 0, 1, 2, 3]
    assert readers.lengths(*runs)[2:] == [0, 0, 0]
    assert all(readers.lengths(*runs)[:2])


def test_everybody_who_waits_gets_a_turn_and_the_queue_is_empty_in_the_end(readers: Readers) -> None:
    runs = [small(seed) for seed in range(5)]
    for cfg in runs:
        readers.want(cfg)
    while readers.engine.work():
        trained = [cfg for cfg in runs if 0 < readers.results.log(cfg).length < 40]
        assert len(trained) <= 2
    assert readers.lengths(*runs) == [41] * 5
    assert readers.places(*runs) == [0] * 5
    assert readers.heard[-1]["kind"] != "queue" or readers.heard[-1]["keys"] == []


def test_a_run_that_nobody_wants_any_more_leaves_the_queue(readers: Readers) -> None:
    runs = [small(seed) for seed in range(4)]
    for cfg in runs:
        readers.want(cfg, session=f"session {cfg.seed}")
    while not all(readers.lengths(*runs[2:])) or readers.places(*runs) != [0, 0, 1, 2]:
        assert readers.engine.work(), "newcomers get their first rows and then wait"
    for cfg in (runs[2], runs[0]):
        readers.results.log(cfg).demand.end(Requester(f"session {cfg.seed}", "", key_of(cfg)))
    readers.results.sync_requests()
    readers.engine.work()
    assert readers.places(*runs) == [0, 0, 0, 0]
    while readers.engine.work():
        pass
    assert readers.lengths(runs[1], runs[3]) == [41, 41]
    assert readers.lengths(runs[2]) == [10]


def test_runs_that_do_not_fit_into_memory_together_wait_and_one_is_always_trained(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [small(seed) for seed in range(3)]
    monkeypatch.setattr(engine, "MAX_RUN_BYTES", 0.5 * resident_bytes(runs[0]))
    for cfg in runs:
        readers.want(cfg)
    for _ in range(3):
        readers.engine.work()
    assert readers.places(*runs) == [0, 1, 2]
    while readers.engine.work():
        pass
    assert readers.lengths(*runs) == [41] * 3


def test_a_single_step_does_not_wait_behind_whole_runs(readers: Readers) -> None:
    slow, *long = [small(seed, steps=400) for seed in range(5)]
    readers.want(slow, until=3)
    while readers.engine.work():
        pass
    for cfg in long:
        readers.want(cfg)
    for _ in range(10):
        readers.engine.work()
    assert readers.places(*long) == [0, 0, 1, 2]
    readers.want(slow, until=4)
    for _ in range(5):
        readers.engine.work()
    assert readers.lengths(slow) == [4]
    assert max(readers.lengths(*long)) < 20


def test_who_steps_and_then_trains_on_does_not_pass_the_queue(readers: Readers) -> None:
    sly, *long = [small(seed, steps=400) for seed in range(5)]
    for cfg in long:
        readers.want(cfg)
    for _ in range(6):
        readers.engine.work()
    readers.want(sly, until=5)
    readers.engine.work()
    readers.want(sly)
    for _ in range(20):
        readers.engine.work()
    assert readers.places(*long, sly) == [0, 0, 1, 2, 3]


def test_more_measurements_than_are_worked_on_by_turns_are_all_answered(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def slow(_replays: object, _cfg: RunConfig, at: int) -> Work[dict[str, Any]]:
        begun.append(at)
        for done in range(5):
            yield done / 5
        return {"at": at}

    monkeypatch.setattr(engine, "MAX_JOBS", 2)
    monkeypatch.setitem(engine.INSTRUMENTS, "slow", slow)
    for at in range(5):
        readers.engine.answer(question_message(Question("slow", dict), small(0), {"at": at}))
    readers.engine.work()
    readers.engine.work()
    readers.engine.work()
    assert begun == [0, 1], "the others wait"
    while readers.engine.work():
        pass
    answers = [message["value"] for message in readers.heard if message["kind"] == "answer"]
    assert [answer["at"] for answer in answers] == [0, 1, 2, 3, 4]


# --- one thing at a time per session ---


def wanted(*wants: tuple[Requester, str]) -> tuple[ResultCache, str]:
    """What is wanted after some requesters have asked for runs a, b and c."""
    runs, results = {name: small(seed) for seed, name in enumerate("abc")}, ResultCache(open_folder(0))
    for who, name in wants:
        shown = frozenset(key_of(runs[one]) for one in who.runs)
        results.request_rows(results.add_log(runs[name]), who._replace(runs=shown), 40, 60.0)
    return results, "".join(name for name, cfg in runs.items() if results.log(cfg).is_requested)


def test_a_session_that_wants_for_another_screen_gives_up_the_one_before() -> None:
    left, right, ben = (
        Requester("anna", "one", "left"),
        Requester("anna", "one", "right"),
        Requester("ben", "one", "left"),
    )
    before = (left, "a"), (right, "b"), (ben, "a")
    assert wanted(*before)[1] == "ab"
    results, after = wanted(*before, (Requester("anna", "two"), "c"))
    assert after == "ac"
    assert [request.session for request in results.add_log(small(0)).demand.requests] == ["ben"]


def test_a_part_of_a_screen_that_wants_something_else_gives_up_what_no_other_part_wants() -> None:
    left, right = (Requester("anna", "one", part, frozenset("ab")) for part in ("left", "right"))
    before = (left, "a"), (left, "b"), (right, "b")
    assert wanted(*before)[1] == "ab"
    assert wanted(*before, (left._replace(runs=frozenset("c")), "c"))[1] == "bc"


def test_a_connection_that_wants_no_rows_ends_no_wish_of_another_with_the_same_ticket() -> None:
    log, who = ResultCache(open_folder(0)).add_log(small(0)), Requester("anna", "one", "player")
    log.demand.add(who._replace(connection=1), 40, 60.0)
    log.demand.end(who._replace(connection=2))
    assert log.is_requested
    log.demand.end(who._replace(connection=1))
    assert not log.is_requested


def test_the_worker_is_told_goals_when_they_change_and_nothing_is_kept_of_what_has_expired() -> None:
    told: list[Message] = []
    results = ResultCache(open_folder(0), told.append)
    log = results.add_log(small(0))
    for _ in range(3):
        results.request_rows(log, Requester("anna", "one"), 20, 0.0)
    results.request_rows(log, Requester("ben", "one"), 10, 60.0)
    results.expire()
    assert [[request.until for request in message["requests"]] for message in told] == [[20], [20, 10], [10]]
    results.request_rows(log, Requester("ben", "one"), 10, 0.0)
    results.expire()
    assert (told[-1]["requests"], results.requested) == ((), {})


@pytest.mark.full
def test_the_trainer_trains_and_measures_for_one_screen_of_a_session_at_a_time(tmp_path: Path) -> None:
    long = [replace(small(seed), steps=5000) for seed in (50, 51)]
    trainer, path = bent(SLOW), tmp_path / "work"
    try:
        first = trainer.request_rows(long[0], 5000, owner=Requester("anna", "first"))
        other = trainer.request_rows(small(52), 40, owner=Requester("ben", "first"))
        trainer.ask(Question("slow", dict), small(1), owner=Requester("anna", "panel"), path=str(path))
        until(lambda: first.length and pieces(path), "work on both")
        trainer.request_rows(long[1], 5000, owner=Requester("anna", "second"))
        trainer.open_log(small(1), owner=Requester("anna", "another panel"))
        assert (first.is_requested, trainer.log(long[1]).is_requested) == (False, True)
        finished(other)  # what ben wants goes on
        until(
            lambda: trainer.answer_progress(Question("slow", dict), small(1), path=str(path)) == 0,
            "the end of the measurement",
        )
        finished(trainer.request_rows(small(53), 40))
        reached, done = first.length, pieces(path)
        finished(trainer.request_rows(replace(small(54), steps=400), 400))
        assert (first.length, pieces(path)) == (reached, done)
    finally:
        trainer.close()


@pytest.mark.full
def test_what_two_sessions_want_goes_on_when_one_turns_away(tmp_path: Path) -> None:
    trainer, path = bent(SLOW), tmp_path / "work"
    try:
        log = trainer.request_rows(small(60), 40, owner=Requester("anna", "first"))
        trainer.request_rows(small(60), 40, owner=Requester("ben", "first"))
        for session in ("anna", "ben"):
            trainer.ask(Question("slow", dict), small(1), owner=Requester(session, "panel"), path=str(path))
        trainer.request_rows(small(61), 40, owner=Requester("anna", "second"))
        trainer.open_log(small(1), owner=Requester("anna", "another panel"))
        assert finished(log).length == 41
        done = pieces(path)
        until(lambda: pieces(path) > done, "further work")
    finally:
        trainer.close()


# --- sharing out ---


def test_a_newcomer_gets_rows_at_once_where_others_fill_all_places_with_many_runs_each(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAX_TRAINED_RUNS", 8)
    many = [small(seed, steps=400) for seed in range(12)]
    for at, cfg in enumerate(many):
        readers.want(cfg, session=f"session {at // 4}")
    for _ in range(40):
        readers.engine.work()
    assert sum(map(bool, readers.places(*many))) == 4
    newcomer = small(20, steps=400)
    readers.want(newcomer, session="newcomer")
    for _ in range(4):
        readers.engine.work()
    assert readers.lengths(newcomer)[0] > 0
    for _ in range(40):
        readers.engine.work()
    trained = [at for at, place in enumerate(readers.places(*many)) if not place]
    assert sorted(Counter(at // 4 for at in trained).values()) == [2, 2, 3], (
        "of three sessions, one place of eight less"
    )
    assert readers.places(newcomer) == [0]


def test_whoever_has_one_run_is_not_trained_slower_by_somebodys_four(readers: Readers) -> None:
    turns = Turns()
    one, four = Client("one", "here"), Client("four", "here")
    wanting = {"a": four, "b": four, "c": four, "d": four, "mine": one}
    had = Counter[str]()
    for _ in range(80):
        key = turns.next(wanting)
        had[key] += 1
        turns.charge(wanting[key], wanting.values())
        wanting = {key: wanting[key] for key in [*(other for other in wanting if other != key), key]}
    assert had == {"mine": 40, "a": 10, "b": 10, "c": 10, "d": 10}


@pytest.mark.full
def test_a_class_of_one_address_has_every_place_and_equal_turns_where_nobody_else_is(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAX_TRAINED_RUNS", 30)
    pupils = [small(seed) for seed in range(30)]
    for cfg in pupils:
        readers.want(cfg, session=f"pupil {cfg.seed}", address="school")
    readers.engine.work()
    assert len(readers.engine.trained) == 30
    assert readers.places(*pupils) == [0] * 30
    while readers.engine.work():
        pass
    assert readers.lengths(*pupils) == [41] * 30


def test_an_address_that_fills_all_places_gives_up_half_of_them_for_others_and_no_more() -> None:
    crowd = {f"run {at}": Client(f"session {at}", "crowd") for at in range(8)}
    guests = {f"guest {at}": Client(f"guest {at}", "home") for at in range(2)}
    assert admission_order(crowd | guests, crowd, 8)[:8] == [f"run {at}" for at in range(4)] + [
        "guest 0",
        "guest 1",
        "run 4",
        "run 5",
    ]
    assert admission_order(crowd, crowd, 8) == list(crowd)


def test_of_an_address_with_more_sessions_than_a_class_has_each_pays_more_for_its_turns() -> None:
    turns, crowd, guest = (
        Turns(),
        [Client(str(at), "crowd") for at in range(2 * FULL_SHARES_PER_ADDRESS)],
        Client("guest", "home"),
    )
    wanting = {client.session: client for client in [*crowd, guest]}
    had = Counter[str]()
    for _ in range(10 * len(wanting)):
        key = turns.next(wanting)
        had[key] += 1
        turns.charge(wanting[key], wanting.values())
    most = max(had[client.session] for client in crowd)
    assert 2 * most - 2 <= had["guest"] <= 2 * most + 2


def test_whoever_leaves_and_comes_back_has_not_had_less(readers: Readers) -> None:
    turns, stays, leaves = Turns(), Client("stays", ""), Client("leaves", "")
    had = Counter[str]()
    for _ in range(40):
        wanting = {"stays": stays, "leaves": leaves}
        key = turns.next(wanting)
        had[key] += 1
        turns.charge(wanting[key], wanting.values())
        if key == "leaves":
            assert turns.next({"stays": stays}) == "stays"
            turns.charge(stays, [stays])
            had["stays"] += 1
    assert had["leaves"] <= had["stays"]


def test_newcomers_beyond_the_places_get_a_few_rows_each_and_only_so_many_at_once(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAX_NEWCOMERS", 2)
    runs = [small(seed, steps=400) for seed in range(6)]
    for cfg in runs:
        readers.want(cfg, session=f"session {cfg.seed}")
    readers.engine.work()
    assert (len(readers.engine.trained), len(readers.engine.expedited)) == (2, 2)
    while not all(length >= 10 for length in readers.lengths(*runs)):
        assert readers.engine.work()
        assert len(readers.engine.expedited) <= 2
    readers.engine.work()
    assert (readers.places(*runs), readers.engine.expedited) == ([0, 0, 1, 2, 3, 4], set())


def test_wanted_runs_beyond_what_is_held_are_forgotten_from_the_end_of_the_queue(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAX_RUNS", 6)
    mine = small(0, steps=400)
    readers.want(mine, session="mine")
    readers.engine.work()
    for seed in range(1, 30):
        readers.want(small(seed, steps=400), session="other")
        readers.engine.work()
    assert key_of(mine) in readers.engine.trained
    assert len(readers.engine.slots) <= 7


def test_the_questions_of_one_session_do_not_take_the_turns_or_the_room_of_others() -> None:
    waiting = QuestionQueue(5)
    questions = [{"key": f"{session}{at}", "session": session} for session in "ab" for at in range(3)]
    dropped = [waiting.put(question) for question in [*questions, {"key": "c0", "session": "c"}]]
    assert [one and one["key"] for one in dropped] == [None] * 5 + ["a0", "b0"]
    waiting.cancel("b1")
    assert [waiting.pop()["key"] for _ in range(len(waiting))] == ["a2", "b2", "c0", "a1"]
    assert len(waiting) == 0


def test_a_session_s_first_measurement_begins_where_others_have_many_in_work(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def slow(_replays: object, _cfg: RunConfig, at: str) -> Work[dict[str, Any]]:
        begun.append(at)
        while True:
            yield 0.5

    monkeypatch.setattr(engine, "MAX_JOBS", 2)
    monkeypatch.setitem(engine.INSTRUMENTS, "slow", slow)
    for at in range(5):
        who = Requester("many", "")
        readers.engine.answer(question_message(Question("slow", dict), small(0), {"at": f"many {at}"}, who))
    for _ in range(4):
        readers.engine.work()
    readers.engine.answer(question_message(Question("slow", dict), small(0), {"at": "one"}, Requester("one", "")))
    for _ in range(4):
        readers.engine.work()
    assert begun == ["many 0", "many 1", "one"]
