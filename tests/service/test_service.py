"""The trainer, with real worker processes: what a page sees is what `Run` computes, whatever happens to the worker.

Tests wait for content, with a deadline; none of them sleeps for a fixed time or looks at a clock to judge.
"""

import errno
import io
import math
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np

from exhibits.claims.rms_norm.answer import SMALL_TOKENS
from exhibits.instruments.stream.answer import STREAM
from models import answers
from models.answers import Question
from models.runlog import ROWS_FILE, LogHead, RunLog, engine_fingerprint, sentences_event
from models.service import client, engine, result_cache, wire
from models.service.client import RequestedLog, Trainer
from models.service.demand import NOBODY
from models.service.messages import key_of
from models.service.result_cache import ResultCache
from models.service.runs import FOLDER_VARIABLE, close_folder, is_temporary, open_folder
from models.service.worker_process import ROOT
from models.spec import RunConfig
from models.trace import Columns
from models.training import Run
from tests.inprocess import InProcessTrainer
from tests.waiting import PATIENCE, until

Value = TypeVar("Value")
# Long enough that it is still under way when a test looks, short enough to be finished by one that waits.
SMALL = RunConfig(depth=2, width=16, batch=16, steps=40, seed=3, device="cpu")
LONG = RunConfig(depth=2, width=16, batch=16, steps=5000, device="cpu")

# A real worker with questions of the test's own: `setup` is Python that may change QUESTIONS.
BENT = """
import os, sys, time
from models.service import questions, worker
{setup}
worker.main()
"""


def bent(setup: str) -> Trainer:
    return Trainer([sys.executable, "-c", BENT.format(setup=setup)], back_off=[0.05])


def finished(log: RequestedLog) -> RequestedLog:
    until(lambda: log.done or log.error, "the end of the run")
    return log


def answered(answer: Value | None) -> Value:
    """What came, which is not nothing."""
    assert answer is not None
    return answer


def rows_of(log: RequestedLog) -> np.ndarray:
    trace = answered(log.trace())
    return np.column_stack([trace.loss, trace.grad_norm, trace.act_rms, trace.grad_rms, trace.weight_grad_rms])


@pytest.fixture(scope="module")
def worker() -> Iterator[Trainer]:
    """One worker for all tests that leave it alive."""
    trainer = Trainer()
    yield trainer
    trainer.close()


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def expected(cfg: RunConfig, rows: int | None = None) -> np.ndarray:
    run = Run(cfg)
    run.advance(rows or cfg.steps)
    run.close()
    trace = run.trace()
    return np.column_stack([trace.loss, trace.grad_norm, trace.act_rms, trace.grad_rms, trace.weight_grad_rms])


# The wire

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
arrays = st_np.arrays(
    st_np.boolean_dtypes() | st_np.integer_dtypes() | st_np.floating_dtypes(),
    st_np.array_shapes(min_dims=0, max_dims=3, min_side=0),
)
parts = st.recursive(
    plain | arrays, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b)))


@given(st.lists(st.dictionaries(st.text(), parts, max_size=4), max_size=3))
def test_messages_cross_the_wire_unchanged(messages: list[dict[str, Any]]) -> None:
    pipe = io.BytesIO()
    for message in messages:
        wire.send(pipe, message)
    pipe.seek(0)
    for message in messages:
        assert same(message, wire.receive(pipe))
    assert wire.receive(pipe) is None


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"x": {"$array": 0}}',
        '{"x": {"$array": ["|O", [1], "AAAAAAAAAAA="]}}',
        '{"x": {"$array": ["<f4", [-1], ""]}}',
        '{"x": {"$array": ["<f4", [1.5], "AAAAAA=="]}}',
        '{"x": {"$array": ["<f4", [100000, 100000], "AAAAAA=="]}}',
        '{"x": {"$array": ["nonsense", [1], "AAAAAA=="]}}',
        '{"x": {"$array": ["<f4", [1], "no base64"]}}',
        '{"x": {"$array": ["<f4"]}}',
        '{"x": ' + 100_000 * "[" + 100_000 * "]" + "}",
    ],
)
def test_a_malformed_message_is_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own is one, too
        wire.receive(io.BytesIO(line.encode() + b"\n"))


def test_a_message_that_was_cut_off_is_not_mistaken_for_a_short_one() -> None:
    pipe = io.BytesIO()
    wire.send(pipe, {"rows": np.ones((3, 4))})
    whole = pipe.getvalue()
    for length in (len(whole) - 1, len(whole) - 97):
        with pytest.raises(EOFError):
            wire.receive(io.BytesIO(whole[:length]))


@pytest.mark.parametrize("value", [object(), np.array([object()]), {1, 2}, torch.ones(1)])
def test_what_is_neither_text_number_nor_array_is_never_sent(value: Any) -> None:
    pipe = io.BytesIO()
    with pytest.raises(ValueError, match="sent"):
        wire.send(pipe, {"value": value})
    assert not pipe.getvalue()


# Logs


def test_rows_and_frames_are_those_of_a_run_bit_for_bit(worker: Trainer) -> None:
    worker.request_rows(SMALL, 7)
    until(lambda: worker.log(SMALL).length == 7, "seven rows")
    log = finished(worker.request_rows(SMALL, SMALL.steps))
    run = Run(SMALL)
    run.advance(SMALL.steps)
    trace, true = log.trace(), run.trace()
    assert trace is not None
    assert rows_of(log).tobytes() == expected(SMALL).tobytes()
    assert trace.step[-1] == trace.frames[-1].step == SMALL.steps
    assert (trace.sites, trace.branches) == (true.sites, true.branches)
    assert [frame.step for frame in trace.frames] == [frame.step for frame in true.frames]
    for frame, same_frame in zip(trace.frames, true.frames, strict=True):
        np.testing.assert_array_equal(frame.sample_cosine, same_frame.sample_cosine)
        np.testing.assert_array_equal(frame.update_to_weight, same_frame.update_to_weight)
        assert frame.held_out_loss == same_frame.held_out_loss
        assert frame.picture.keys() == same_frame.picture.keys()
    assert (log.head.parameters, log.head.device, log.error) == (run.parameters, "cpu", "")


# Errors


def test_an_absent_device_is_refused_in_a_sentence(worker: Trainer) -> None:
    absent = "mps" if sys.platform != "darwin" else "cuda"
    cfg = RunConfig(depth=2, device=absent)
    log = worker.request_rows(cfg, 10)
    until(lambda: log.error, "the refusal")
    assert log.error.startswith(f"device is {absent}")
    answer = answered(worker.open_log(cfg, wait=PATIENCE))
    assert answer.value is None
    assert answer.error == log.error
    assert not log.is_requested


# Questions


def test_all_who_open_a_log_at_once_get_it(worker: Trainer) -> None:
    cfg = replace(SMALL, seed=32)
    with ThreadPoolExecutor(8) as crowd:
        answers = list(crowd.map(lambda _: answered(worker.open_log(cfg, wait=PATIENCE)), range(8)))
    assert [answer.value.length for answer in answers] == [1] * 8


def test_the_profile_is_row_0_of_the_log(worker: Trainer) -> None:
    cfg = replace(SMALL, seed=31)
    answer = answered(worker.open_log(cfg, wait=PATIENCE))
    assert answer.value is not None
    trace = answer.value.trace()
    assert trace is not None
    assert (len(trace), answer.value.trained) == (1, False)
    log = worker.request_rows(cfg, 3)
    until(lambda: log.trained, "rows")
    row = log.trace()
    assert row is not None
    np.testing.assert_array_equal(trace.act_rms[0], row.act_rms[0])
    np.testing.assert_array_equal(trace.weight_grad_rms[0], row.weight_grad_rms[0])
    np.testing.assert_array_equal(trace.frames[0].sample_cosine, row.frames[0].sample_cosine)


@pytest.mark.full
def test_the_same_question_is_computed_once() -> None:
    with closing(
        bent("calls = []\nquestions.QUESTIONS['count'] = lambda c, a: calls.append(a) or {'calls': len(calls)}")
    ) as trainer:
        until(lambda: trainer.status().state == "ready", "the worker")
        for _ in range(5):
            trainer.ask(Question("count", dict), SMALL, x=1)
        answer = trainer.ask(Question("count", dict), SMALL, wait=PATIENCE, x=1)
        finished(
            trainer.request_rows(RunConfig(depth=4, steps=200, device="cpu"), 200)
        )  # in between, a second asking would be answered
        again = trainer.ask(Question("count", dict), SMALL, x=1)
        other = trainer.ask(Question("count", dict), SMALL, wait=PATIENCE, x=2)
        assert answer is not None
        assert again is answer
        assert other is not None
        assert answer.value == {"calls": 1}
        assert other.value == {"calls": 2}


@pytest.mark.full
def test_of_many_questions_the_newest_is_answered_first(tmp_path: Path) -> None:
    # The first is held until the last has been posted, so that the others pile up.
    gate = "def gated(c, a):\n    while not os.path.exists(a['gate']): time.sleep(0.01)\n    return a"
    record = "order = []\nquestions.QUESTIONS['note'] = lambda c, a: order.append(a['n']) or {'order': list(order)}"
    with closing(bent(f"{gate}\nquestions.QUESTIONS['gated'] = gated\n{record}")) as trainer:
        open_gate = tmp_path / "open"
        trainer.ask(Question("gated", dict), SMALL, gate=str(open_gate))
        until(lambda: trainer._results.current_question, "the worker at the gate")
        for n in range(5):
            trainer.ask(Question("note", dict), SMALL, n=n)
        open_gate.touch()
        answer = answered(trainer.ask(Question("note", dict), SMALL, wait=PATIENCE, n=0))
        assert answer.value == {"order": [4, 3, 2, 1, 0]}


# Answers that take long

# Notes every piece of its work in a file; ends when a file of that name plus ".end" is there.
SLOW = """
from models.instruments import INSTRUMENTS
def slow(replays, cfg, *, path):
    done = 0
    while not os.path.exists(path + '.end'):
        time.sleep(0.005)
        with open(path, 'a') as file: file.write('.')
        done += 1
        yield min(0.9, done / 100)
    return {'pieces': done}
INSTRUMENTS['slow'] = slow
"""


def pieces(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.full
def test_a_long_answer_says_how_far_it_is_while_runs_go_on(tmp_path: Path) -> None:
    path = tmp_path / "work"
    with closing(bent(SLOW)) as trainer:
        assert trainer.ask(Question("slow", dict), SMALL, path=str(path)) is None
        until(lambda: trainer.answer_progress(Question("slow", dict), SMALL, path=str(path)) > 0, "progress")
        finished(trainer.request_rows(SMALL, SMALL.steps))  # trained while the answer is worked on
        (tmp_path / "work.end").touch()
        answer = answered(trainer.ask(Question("slow", dict), SMALL, wait=PATIENCE, path=str(path)))
        assert answer.value == {"pieces": pieces(path)}
        assert trainer.answer_progress(Question("slow", dict), SMALL, path=str(path)) == 0


@pytest.mark.full
def test_a_cancelled_answer_is_worked_on_no_more_and_can_be_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "work"
    with closing(bent(SLOW)) as trainer:
        trainer.ask(Question("slow", dict), SMALL, path=str(path))
        until(lambda: pieces(path), "work")
        trainer.cancel(Question("slow", dict), SMALL, path=str(path))
        finished(trainer.request_rows(SMALL, SMALL.steps))
        done = pieces(path)
        finished(trainer.request_rows(RunConfig(depth=2, width=16, steps=100, seed=31, device="cpu"), 100))
        assert pieces(path) == done
        trainer.ask(Question("slow", dict), SMALL, path=str(path))
        until(lambda: pieces(path) > done, "work on the second asking")


@pytest.mark.full
def test_an_answer_that_nobody_asks_for_any_more_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "REQUEST_SECONDS", 0.3)
    path = tmp_path / "work"
    with closing(bent(SLOW)) as trainer:
        until(lambda: trainer.ask(Question("slow", dict), SMALL, path=str(path)) or pieces(path), "work")
        done = [0]
        for seed in range(32, 52):  # until it has not moved while another run was trained
            finished(trainer.request_rows(RunConfig(depth=2, width=16, steps=100, seed=seed, device="cpu"), 100))
            done.append(pieces(path))
            if done[-1] == done[-2]:
                break
        assert done[-1] == done[-2] > 0


def test_an_instrument_answers_about_the_net_of_its_step(worker: Trainer) -> None:
    log = finished(worker.request_rows(SMALL, SMALL.steps))
    trace = answered(log.trace())
    for step in (0, 25, 3, SMALL.steps):
        answer = answered(worker.ask(STREAM, SMALL, wait=PATIENCE, step=step))
        assert answer.value is not None
        np.testing.assert_allclose(answer.value.stream_rms, trace.act_rms[step], rtol=1e-5)
    assert rows_of(finished(worker.request_rows(SMALL, SMALL.steps))).tobytes() == expected(SMALL).tobytes()


def test_an_instrument_with_wrong_arguments_is_refused_in_words(worker: Trainer) -> None:
    for args in ({}, {"step": 0, "nonsense": 1}, {"step": "three"}):
        answer = answered(worker.ask(STREAM, SMALL, wait=PATIENCE, **args))
        assert answer.value is None
        assert answer.error


# Death and resurrection


@pytest.mark.parametrize("command", [[sys.executable, "-c", "raise SystemExit(7)"], ["/nowhere/python"]])
def test_a_worker_that_cannot_start_is_given_up_with_a_sentence(command: list[str]) -> None:
    with closing(Trainer(command, back_off=[0.01])) as trainer:
        log = trainer.request_rows(SMALL, 10)
        answer = trainer.open_log(SMALL, wait=PATIENCE)
        until(lambda: trainer.status().state == "failed", "the limit")
        assert "ended 5 times in a row" in trainer.status().sentence
        assert "exit code 7" in trainer.status().sentence or "did not start" in trainer.status().sentence
        assert answer is not None
        assert answer.error == trainer.status().sentence
        assert not log.is_requested
        assert log.length == 0
        assert trainer.run_counts() == (0, 0)


@pytest.mark.parametrize(
    "needed",
    [
        lambda trainer: trainer.request_rows(SMALL, 10),
        lambda trainer: trainer.open_log(SMALL),
        lambda trainer: trainer.ask(SMALL_TOKENS, RunConfig()),
        Trainer.begin,
    ],
)
def test_a_worker_that_rests_is_started_by_what_is_not_recorded(
    needed: Callable[[Trainer], object], tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    with closing(
        Trainer([sys.executable, "-c", f"open({str(begun)!r}, 'w')"], back_off=[60.0], start_delay=600.0)
    ) as trainer:
        trainer.request_rows(SMALL, 0)
        assert trainer.open_log(RunConfig()) is None
        assert not trainer._needed.is_set()
        needed(trainer)
        until(begun.exists, "the worker")


def test_no_page_waits_again_for_a_busy_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with closing(Trainer([sys.executable, "-c", "input()"], back_off=[60.0])) as trainer:
        monkeypatch.setattr(trainer._results.changed, "wait_for", lambda _arrived, seconds: waits.append(seconds))
        trainer.open_log(SMALL)
        (question,) = trainer._results.open_questions.values()
        monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: 100.0))
        for question.asked_at in (100.0, 99.0, 98.0):
            trainer.open_log(SMALL, wait=1.5)
    assert waits == [1.5, 0.5]


@pytest.mark.full
def test_a_worker_that_talks_nonsense_is_replaced_not_believed() -> None:
    trainer = Trainer(
        [sys.executable, "-c", "print('hello', flush=True); import time; time.sleep(600)"], back_off=[0.01]
    )
    try:
        until(lambda: trainer.status().state == "failed", "the limit")
        assert "SIGKILL" in trainer.status().sentence
    finally:
        trainer.close()


@pytest.mark.full
def test_the_worker_ends_with_its_parent_even_while_a_step_hangs(tmp_path: Path) -> None:
    setup = "questions.QUESTIONS['hang'] = lambda c, a: (os.write(2, b'hanging'), time.sleep(600)) and {}"
    process = subprocess.Popen(
        [sys.executable, "-c", BENT.format(setup=setup)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {FOLDER_VARIABLE: str(tmp_path)},
    )
    try:
        assert process.stdin is not None
        assert process.stderr is not None
        wire.send(process.stdin, {"kind": "ask", "key": "k", "question": "hang", "query": SMALL.to_query(), "args": {}})  # type: ignore[arg-type]
        assert process.stderr.read(7) == b"hanging"
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()


def test_a_closed_trainer_leaves_no_process() -> None:
    trainer = Trainer()
    until(lambda: trainer.status().state == "ready", "the worker")
    pid = trainer.status().pid
    log = trainer.request_rows(LONG, LONG.steps)
    until(lambda: log.length, "rows")
    trainer.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert trainer.status().state == "failed"
    assert log.trace() is not None
    assert not log.is_requested


# What outlives a process


def test_a_killed_worker_loses_nothing_and_another_server_finds_the_runs(tmp_path: Path) -> None:
    with closing(Trainer(runs=tmp_path, back_off=[0.05])) as first:
        log = first.request_rows(LONG, LONG.steps)
        until(lambda: log.length > 20, "rows")
        os.kill(first.status().pid, signal.SIGKILL)
        until(lambda: first.status().state != "ready", "the end of the worker")
        measured, kept = log.length, rows_of(log)
        assert measured > 20
        until(lambda: log.length > measured, "further rows")
        assert rows_of(log)[:measured].tobytes() == kept.tobytes()
        done = finished(first.request_rows(SMALL, SMALL.steps))
        assert rows_of(done).tobytes() == expected(SMALL).tobytes()
    with closing(Trainer(start_delay=600.0, runs=tmp_path)) as second:
        assert second.log(SMALL).done
        assert rows_of(second.log(SMALL)).tobytes() == expected(SMALL).tobytes()
        assert second.log(LONG).length > measured


def test_a_runs_folder_that_refuses_stops_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    (tmp_path / "file").touch()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "runs"))
    assert is_temporary(open_folder(60_000))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(FileLock, "acquire", read_only)
    assert open_folder(60_000) == tmp_path.resolve(), "what lies there can be read"


def test_logs_dropped_from_memory_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cache, "LOG_MEMORY_BYTES", 120_000)
    kept = ResultCache(tmp_path)
    logs = [kept.add_log(RunConfig(seed=seed, steps=5000)) for seed in range(5)]
    for log in logs:
        kept.handle_message(progress(kept.add_log(log.cfg), 2000))
    assert len(kept.logs) == 2
    assert [kept.log(log.cfg).length for log in logs] == [2000] * 5
    assert len(kept.logs) == 2


def test_looks_at_logs_disturb_nobody_who_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ResultCache(tmp_path)
    for seed in range(3):
        kept.add_log(RunConfig(seed=seed))

    def looked_at(log: RequestedLog) -> RequestedLog:
        """Another page looks at this log and at the next, in the middle of whatever asks."""
        for seed in (log.cfg.seed, (log.cfg.seed + 1) % 3):
            kept.log(RunConfig(seed=seed))
        return log

    memory = property(lambda log: looked_at(log).__dict__["size"], lambda log, size: log.__dict__.update(size=size))
    monkeypatch.setattr(RequestedLog, "size", memory, raising=False)
    kept.add_log(RunConfig())
    monkeypatch.setattr(RequestedLog, "stored_bytes", property(lambda log: looked_at(log).nbytes))
    kept.add_log(RunConfig())
    monkeypatch.setattr(RequestedLog, "read", looked_at)
    kept.load_rows()


def test_the_folder_of_runs_belongs_to_one_server_and_stays_within_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    kept = ResultCache(tmp_path)
    old, new = (kept.add_log(RunConfig(seed=seed, steps=5000)) for seed in (1, 2))
    for at, log in enumerate((old, new)):
        kept.handle_message(progress(log, 2000))
        os.utime(log.folder / ROWS_FILE, (at, at))
    folder = open_folder(60_000)
    assert (folder, old.exists(), new.exists()) == (tmp_path.resolve(), False, True)
    other = open_folder(60_000)
    assert is_temporary(other)
    for opened in (folder, other):
        close_folder(opened)
    assert (new.exists(), other.exists()) == (True, False)
    monkeypatch.setenv(FOLDER_VARIABLE, "64")
    with pytest.raises(ValueError, match="PLAYGROUND_PLACES"):
        open_folder(60_000)


def test_a_folder_that_its_operator_named_like_the_servers_own_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "addnorm-runs-of-the-course"))
    folder = open_folder(60_000)
    close_folder(folder)
    assert folder.exists()


# What crosses into the web process, and what does not

CLIENT = """
import sys, time
from models.answers import Question
from models.service.client import Trainer
from models.spec import RunConfig
trainer = Trainer()
cfg = RunConfig(depth=2, width=16, steps=10, device="cpu")
log = trainer.request_rows(cfg, 10)
while not log.done: time.sleep(0.01)
assert trainer.status().state == "ready" and trainer.status().versions["torch"]
assert trainer.open_log(cfg, wait=60).value
assert trainer.ask(Question("nonsense", dict), cfg, wait=60).error
refused = trainer.request_rows(RunConfig(depth=128, width=512, batch=512), 10)
while not refused.error: time.sleep(0.01)
trainer.close()
print(sorted(name for name in sys.modules if name.split(".")[0] == "torch"))
print([line for line in (open("/proc/self/maps") if sys.platform == "linux" else []) if "libtorch" in line or "libc10" in line])
"""


def test_the_web_process_has_no_torch_after_ready_rows_and_errors() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLIENT], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[]", "[]"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
def test_the_worker_listens_on_nothing(worker: Trainer) -> None:
    finished(worker.request_rows(SMALL, SMALL.steps))
    links = []
    for entry in Path(f"/proc/{worker.status().pid}/fd").iterdir():
        try:
            links.append(os.readlink(entry))
        except FileNotFoundError:  # closed while we looked
            continue
    assert any(link.startswith("pipe:") for link in links)
    assert not [link for link in links if link.startswith("socket:")]


@pytest.mark.full
def test_what_the_worker_prints_does_not_disturb_the_wire() -> None:
    trainer = bent(
        "questions.QUESTIONS['shout'] = lambda c, a: (print('loud'), os.write(1, b'louder\\n')) and {'said': 1}"
    )
    try:
        answer = answered(trainer.ask(Question("shout", dict), SMALL, wait=PATIENCE))
        assert answer.value == {"said": 1}
    finally:
        trainer.close()


# Bounds


def progress(wanted: RequestedLog, rows: int) -> dict[str, Any]:
    """Writes `rows` rows of a run with one site, as the engine would, and says what it would say."""
    log = RunLog(wanted.folder)
    if not log.exists():
        log.begin(LogHead(wanted.cfg.to_query(), 1, Columns(("x0",), (), 0), 1, "cpu", engine_fingerprint()))
    log.append(np.zeros((rows, 6), np.float32), [sentences_event(log.length + rows, {})])
    return {"kind": "progress", "key": wanted.key, "length": log.length, "seconds": 0.1}


def test_logs_are_dropped_by_weight_the_longest_unused_first_and_never_while_wanted(tmp_path: Path) -> None:
    kept = ResultCache(tmp_path, log_bytes=100_000)
    logs = [kept.add_log(RunConfig(seed=seed, steps=5000)) for seed in range(4)]
    kept.request_rows(logs[1], NOBODY, 5000, PATIENCE)
    for log in logs:
        kept.add_log(log.cfg)
        kept.handle_message(progress(log, 2000))
    assert list(kept.logs) == [logs[1].key, logs[3].key]
    assert logs[0].trace() is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(log.folder.name for log in (logs[1], logs[3]))


def test_the_engine_forgets_unwanted_runs_and_brings_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_IDLE_RUNS", 2)
    trainer = InProcessTrainer(steps_per_request=3)
    cfgs = [RunConfig(depth=2, width=16, steps=6, seed=seed, device="cpu") for seed in range(4)]
    for cfg in cfgs:
        trainer.request_rows(cfg, 6)
    assert len(trainer._engine.slots) == 4  # half way, and all of them wanted still
    for cfg in cfgs:
        trainer.request_rows(cfg, 6)
    trainer.request_rows(RunConfig(depth=2, width=16, steps=6, seed=4, device="cpu"), 3)
    assert len(trainer._engine.slots) == 2
    _, forgotten = trainer._results.logs.popitem(last=False)
    forgotten.delete()
    log = trainer.request_rows(cfgs[0], 3)
    assert rows_of(log).tobytes() == expected(cfgs[0], 3).tobytes()


# What comes from outside, and what goes wrong inside


def test_a_look_up_keeps_nothing_and_only_who_wants_rows_makes_a_log(worker: Trainer) -> None:
    before = len(worker._results.logs)
    for seed in range(7000, 7050):
        assert worker.log(RunConfig(seed=seed)).length == 0
    assert len(worker._results.logs) == before
    assert worker.request_rows(RunConfig(seed=7000), 0) is worker.log(RunConfig(seed=7000))


@pytest.mark.parametrize(("depth", "overrides"), [(16, ()), (128, ("norm", "none")), (128, ("residual", False))])
def test_a_log_weighs_what_it_takes(depth: int, overrides: tuple[Any, ...], tmp_path: Path) -> None:
    """Configuration and link are counted, however many exceptions for single blocks there are."""
    odd = tuple((block, *overrides) for block in range(1, depth + 1, 2)) if overrides else ()
    kept, count = ResultCache(tmp_path), 40
    kept.add_log(RunConfig(depth=depth, overrides=odd))  # what is loaded by the first is not the others'
    tracemalloc.start()
    began = tracemalloc.get_traced_memory()[0]
    for seed in range(1, count + 1):
        kept.add_log(RunConfig(depth=depth, overrides=odd, seed=seed))
    taken = (tracemalloc.get_traced_memory()[0] - began) / count
    tracemalloc.stop()
    weighed = sum(log.size + log.nbytes for log in kept.logs.values()) / len(kept.logs)
    assert 0.8 * taken < weighed < 3 * taken


def test_empty_logs_are_dropped_before_any_with_rows(tmp_path: Path) -> None:
    kept = ResultCache(tmp_path, log_bytes=150_000)
    finished_long_ago = kept.add_log(RunConfig(steps=5000))
    kept.handle_message(progress(finished_long_ago, 2000))
    for seed in range(1, 200):
        kept.add_log(RunConfig(seed=seed))
    assert finished_long_ago.key in kept.logs
    assert sum(log.size + log.nbytes for log in kept.logs.values()) < 160_000


@pytest.mark.parametrize("long", [{"text": "\x01" * 10**6}, {"row": [0.0] * 10**4}])
def test_a_question_that_is_too_long_is_refused_and_neither_sent_nor_kept(
    worker: Trainer, long: dict[str, Any]
) -> None:
    until(lambda: worker.status().state == "ready", "the worker")
    pid, shelf_ = worker.status().pid, worker._results
    before = len(shelf_.open_questions), len(shelf_.errors), len(shelf_.answers)
    answer = answered(worker.ask(answers.LENS, SMALL, wait=PATIENCE, step=0, **long))
    assert "too long" in answer.error
    assert (len(shelf_.open_questions), len(shelf_.errors), len(shelf_.answers)) == before
    assert worker.answer_progress(answers.LENS, SMALL, step=0, **long) == 0.0
    worker.cancel(answers.LENS, SMALL, step=0, **long)
    assert finished(worker.request_rows(SMALL, SMALL.steps)).done
    assert worker.status().pid == pid


def test_errors_are_few_and_short_and_weigh_on_no_answer(tmp_path: Path) -> None:
    kept = ResultCache(tmp_path)
    kept.handle_message({"kind": "answer", "key": "good", "value": {"x": 1.0}, "error": ""})
    tracemalloc.start()
    began = tracemalloc.get_traced_memory()[0]
    for at in range(20):
        kept.handle_message({"kind": "answer", "key": str(at), "value": None, "error": f"{at}" + "x" * 3_000_000})
    assert tracemalloc.get_traced_memory()[0] - began < 1e6
    tracemalloc.stop()
    for at in range(2 * result_cache.MAX_ERRORS):
        kept.handle_message({"kind": "answer", "key": f"more {at}", "value": None, "error": "no"})
    assert len(kept.errors) == result_cache.MAX_ERRORS
    assert list(kept.answers) == ["good"]


def test_the_key_of_a_question_has_a_fixed_length_and_an_answer_counts_it(tmp_path: Path) -> None:
    short, long = (result_cache.question_message(answers.LENS, SMALL, {"text": "x" * count}) for count in (1, 5000))
    assert short["key"] != long["key"]
    assert len(short["key"]) == len(long["key"]) == 64
    kept = ResultCache(tmp_path, answer_bytes=10_000)
    for at in range(1000):
        kept.handle_message({"kind": "answer", "key": f"{at:064}", "value": {}, "error": ""})
    assert len(kept.answers) < 10_000 / 64


def test_the_line_of_a_message_that_could_not_be_received_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_LINE_BYTES", 1000)
    pipe = io.BytesIO()
    with pytest.raises(ValueError, match="at most 1,000"):
        wire.send(pipe, {"text": "x" * 1000})
    assert not pipe.getvalue()


@pytest.mark.full
def test_only_the_question_that_the_worker_was_at_is_blamed_for_its_death() -> None:
    setup = """
def die(c, a):
    os._exit(9)
def gated(c, a):
    while not os.path.exists(a['gate']): time.sleep(0.01)
    return a
questions.QUESTIONS |= {'die': die, 'gated': gated, 'note': lambda c, a: a}
"""
    with closing(bent(setup)) as trainer:
        until(lambda: trainer.status().state == "ready", "the worker")
        with trainer._results.lock:  # so that all are asked before any is answered
            for at in range(5):
                trainer.ask(Question("note", dict), SMALL, at=at)
            trainer.ask(Question("die", dict), SMALL)
        answer = answered(trainer.ask(Question("die", dict), SMALL, wait=PATIENCE))
        assert f"died {result_cache.MAX_DEATHS} times over this question" in answer.error
        for at in range(5):
            note = trainer.ask(Question("note", dict), SMALL, wait=PATIENCE, at=at)
            assert note is not None
            assert note.value == {"at": at}


@pytest.mark.full
def test_a_worker_that_was_given_up_is_tried_again_and_works_where_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "RETRY_SECONDS", 0.1)
    mended = tmp_path / "mended"
    with closing(bent(f"if not os.path.exists({str(mended)!r}): raise SystemExit(7)")) as trainer:
        until(lambda: trainer.status().state == "failed", "the limit")
        assert "tried again every 0.1 s" in trainer.status().sentence
        mended.touch()
        until(lambda: trainer.status().state == "ready", "a worker that can start")
        assert finished(trainer.request_rows(SMALL, SMALL.steps)).length == SMALL.steps + 1


def test_a_listener_hears_the_key_of_a_run_that_goes_on() -> None:
    trainer, heard = InProcessTrainer(), []
    trainer.subscribe(heard.append)
    assert trainer.request_rows(SMALL, SMALL.steps).key in heard
    trainer.close()
    assert heard[-1] == "", "then anything may be over"


@pytest.mark.full
def test_a_message_that_cannot_be_filed_restarts_the_worker_and_the_rows_come_out_equal(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = Trainer(back_off=[0.0])
    raised: list[str] = []
    apply = trainer._results.handle_message

    def fails_once(message: dict[str, Any]) -> None:
        if message["kind"] == "progress" and not raised:
            raised.append(message["key"])
            raise RuntimeError("a secret")
        apply(message)

    monkeypatch.setattr(trainer._results, "handle_message", fails_once)
    try:
        log = finished(trainer.request_rows(SMALL, SMALL.steps, seconds=PATIENCE))
        assert raised == [log.key]
        assert rows_of(log).tobytes() == expected(SMALL).tobytes()
        assert "not understood" in trainer.status().ending
        said = [record.getMessage() for record in caplog.records if "trainer_not_understood" in record.getMessage()]
        assert len(said) == 1
        assert "secret" not in said[0]
    finally:
        trainer.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_trainer_that_nobody_looks_after_any_more_says_that_it_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(_self: Trainer) -> str:
        raise SystemExit

    monkeypatch.setattr(Trainer, "_run_worker", ends)
    with closing(Trainer()) as trainer:
        until(lambda: trainer.status().state == "failed", "the end of the thread")
        assert "nothing restarts it any more" in trainer.status().sentence
        answer = answered(trainer.open_log(SMALL))
        assert answer.error == trainer.status().sentence


# In process, and the one of this process


def test_a_reloaded_module_closes_the_trainer_of_its_predecessor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "Trainer", InProcessTrainer)
    client.close_trainer()
    old = client.trainer()
    assert client.trainer() is old
    name = client.__name__
    monkeypatch.delitem(sys.modules, name)
    import importlib

    newer = importlib.import_module(name)
    try:
        assert newer is not client
        new = newer.trainer()
        assert new is not old
        assert old.status().state == "failed"
        assert client.trainer() is new  # a page of the old load does not close it again
    finally:
        newer.close_trainer()


def test_equal_configurations_share_a_log_and_others_do_not(worker: Trainer) -> None:
    assert worker.request_rows(RunConfig(seed=5), 0) is worker.log(RunConfig(seed=5))
    assert worker.request_rows(RunConfig(seed=6), 0) is not worker.log(RunConfig(seed=5))
    assert key_of(RunConfig(lr=0.5, seed=2)) == "lr=0.5&seed=2"


def test_the_seeds_of_one_configuration_share_a_log_and_each_keeps_its_own_trace(worker: Trainer) -> None:
    cfg = RunConfig(depth=3, width=16, steps=6, seed=4)
    log = worker.request_rows(cfg, cfg.steps, seeds=3)
    finished(log)
    traces = log.traces()
    assert len(traces) == 3
    for seed, trace in enumerate(traces, start=cfg.seed):
        alone = Run(replace(cfg, seed=seed))
        alone.advance(cfg.steps)
        alone.close()
        np.testing.assert_allclose(trace.loss, alone.trace().loss, rtol=1e-3)
        np.testing.assert_allclose(trace.grad_rms, alone.trace().grad_rms, rtol=2e-2)
    assert not np.allclose(traces[0].loss, traces[1].loss)
    assert worker.log(cfg) is not log, "one seed's log is bit for bit the run's, and another log"
