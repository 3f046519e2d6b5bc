"""A run log: what is appended is what is read, whatever was cut off, deleted or begun again."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.runlog import ASIDE, EVENTS_FILE, HEAD_FILE, ROWS_FILE, LogDamageError, RunLog, damaged_logs
from models.spec import RunConfig
from models.trace import Trace
from models.training import Run, SeedRuns
from models.training.log_writer import append_to_log, begin_log, log_opening
from tests.rows import rows_of

CFG = RunConfig(depth=3, width=16, batch=8, steps=20, device="cpu")
LOST = RunConfig(depth=32, width=16, batch=8, steps=20, norm="none", lr=10.0, init_gain=3.0, device="cpu")
ROOT = Path(__file__).parents[1]


def logged(cfg: RunConfig, folder: Path, steps: int | None = None, each: int = 7) -> Run:
    """A run that has been logged in slices."""
    run, log = Run(cfg), RunLog(folder)
    begin_log(run, log)
    for _ in range(0, cfg.steps if steps is None else steps, each):
        run.advance(each)
        run.close()
        append_to_log(run, log)
    return run


def begun(run: Run, folder: Path) -> RunLog:
    log = RunLog(folder)
    begin_log(run, log)
    return log


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """The folder of a finished run, and the run."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    return folder, logged(CFG, folder)


def assert_same(read: Trace, run: Trace) -> None:
    assert read.sites == run.sites
    assert rows_of(read).tobytes() == rows_of(run).tobytes()
    assert [frame.step for frame in read.frames] == [frame.step for frame in run.frames]
    for one, other in zip(read.frames, run.frames, strict=True):
        for name, value in vars(one).items():
            np.testing.assert_equal(value, getattr(other, name), err_msg=name)
    assert read.divergence == run.divergence


@pytest.mark.parametrize("cfg", [CFG, LOST], ids=["finished", "diverged"])
def test_a_log_holds_a_run_bit_for_bit(cfg: RunConfig, tmp_path: Path) -> None:
    run = logged(cfg, tmp_path / "run")
    log = RunLog(tmp_path / "run")
    assert log.done
    assert log.head is not None
    assert log.head.cfg == cfg
    assert_same(log.traces()[0], run.trace())
    assert (run.trace().divergence is not None) == (cfg is LOST)


def test_seeds_stand_side_by_side(tmp_path: Path) -> None:
    run, log = SeedRuns(CFG, (0, 1, 2)), RunLog(tmp_path / "run")
    begin_log(run, log)
    run.advance(5)
    append_to_log(run, log)
    for read, trace in zip(RunLog(tmp_path / "run").traces(), run.traces(), strict=True):
        assert_same(read, trace)


def test_a_reader_gets_what_is_appended_and_keeps_what_it_has(tmp_path: Path) -> None:
    run, writer = Run(CFG), RunLog(tmp_path / "run")
    begin_log(run, writer)
    run.advance(4)
    append_to_log(run, writer)
    reader = RunLog(tmp_path / "run")
    (early,) = reader.traces()
    run.advance(4)
    append_to_log(run, writer)
    assert reader.traces()[0] is early
    assert (len(reader.read().rows()), len(early)) == (8, 4)
    writer.delete()
    assert not reader.exists()
    assert_same(reader.traces()[0], run.trace())


def test_a_line_that_is_cut_off_is_written_again(tmp_path: Path) -> None:
    logged(CFG, tmp_path / "run", steps=8)
    path = tmp_path / "run" / EVENTS_FILE
    os.truncate(path, path.stat().st_size - 5)
    assert RunLog(tmp_path / "run").length == 7  # of rows of which nothing is said yet, readers know nothing
    run = logged(CFG, tmp_path / "run")
    assert_same(RunLog(tmp_path / "run").traces()[0], run.trace())
    assert not damaged_logs(tmp_path)


DAMAGES: dict[str, Callable[[bytes, int], bytes]] = {
    "a bit": lambda data, at: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
    "zeros": lambda data, at: data[:at] + bytes(len(data) - at),
    "cut": lambda data, at: data[:at],
    "a hole": lambda data, at: data[:at] + data[at + 40 :],
    "twice": lambda data, at: data[:at] + data,
    "more": lambda data, at: data + b"\n" + data[at:],
}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    file=st.sampled_from((HEAD_FILE, ROWS_FILE, EVENTS_FILE)),
    damage=st.sampled_from(sorted(DAMAGES)),
    share=st.floats(0, 1, exclude_max=True),
)
def test_damage_anywhere_is_put_aside_or_changes_no_number(
    file: str, damage: str, share: float, tmp_path_factory: pytest.TempPathFactory, finished: tuple[Path, Run]
) -> None:
    origin, run = finished
    runs = tmp_path_factory.mktemp("runs")
    folder = shutil.copytree(origin, runs / "run")
    data = (folder / file).read_bytes()
    (folder / file).write_bytes(DAMAGES[damage](data, int(share * len(data))))
    before = (folder / file).read_bytes()
    log = RunLog(folder)
    aside = runs / f"run{ASIDE}"
    assert damaged_logs(runs) == int(aside.exists())
    if aside.exists():
        assert not log.length
        assert (aside / file).read_bytes() == before, "what is damaged is kept"
    elif log.length:
        assert log.rows().tobytes() == run.rows()[: log.length].tobytes()
    append_to_log(run, begun(run, folder))
    assert_same(RunLog(folder).traces()[0], run.trace())


@pytest.mark.parametrize("file", [HEAD_FILE, ROWS_FILE, EVENTS_FILE])
@pytest.mark.parametrize("how", ["missing", "folder"])
def test_a_file_that_is_none_is_damage(file: str, how: str, tmp_path: Path, finished: tuple[Path, Run]) -> None:
    folder = shutil.copytree(finished[0], tmp_path / "run")
    (folder / file).unlink()
    if how == "folder":
        (folder / file).mkdir()
    with pytest.raises(LogDamageError):
        RunLog(folder, mends=False)
    assert folder.is_dir()
    assert (RunLog(folder).length, damaged_logs(tmp_path)) == (0, 1)


def test_a_damaged_log_that_cannot_be_moved_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: tuple[Path, Run]
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    folder = shutil.copytree(finished[0], tmp_path / "run")
    (folder / HEAD_FILE).write_bytes(b"")
    monkeypatch.setattr(Path, "rename", refused)
    reader, writer = RunLog(folder), begun(finished[1], folder)
    append_to_log(finished[1], writer)
    for piece in writer.take_unwritten():
        assert writer.head is not None
        reader.append_in_memory(head=writer.head, **piece)
    assert_same(reader.traces()[0], finished[1].trace())
    assert damaged_logs(tmp_path) == 1


def test_reading_logs_keeps_no_file_open(tmp_path: Path, finished: tuple[Path, Run]) -> None:
    logs = [RunLog(shutil.copytree(finished[0], tmp_path / str(number))) for number in range(40)]
    descriptors = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.exists()]
    assert all(log.traces() for log in logs)
    assert not [name for name in descriptors if name.startswith(str(tmp_path))]


def test_a_run_that_begins_again_writes_only_what_is_missing(tmp_path: Path) -> None:
    logged(CFG, tmp_path / "run", steps=14)
    before = (tmp_path / "run" / ROWS_FILE).stat().st_ino, (tmp_path / "run" / ROWS_FILE).read_bytes()
    run = logged(CFG, tmp_path / "run")
    assert (tmp_path / "run" / ROWS_FILE).stat().st_ino == before[0]
    assert (tmp_path / "run" / ROWS_FILE).read_bytes().startswith(before[1])
    assert_same(RunLog(tmp_path / "run").traces()[0], run.trace())


def test_a_log_of_another_run_is_replaced(tmp_path: Path) -> None:
    logged(CFG, tmp_path / "run")
    other = RunConfig(depth=2, width=16, batch=8, steps=20, device="cpu")
    run = logged(other, tmp_path / "run")
    assert_same(RunLog(tmp_path / "run").traces()[0], run.trace())
    assert not damaged_logs(tmp_path)


def test_a_deleted_log_is_written_anew(tmp_path: Path) -> None:
    run, log = Run(CFG), RunLog(tmp_path / "run")
    begin_log(run, log)
    run.advance(4)
    append_to_log(run, log)
    RunLog(tmp_path / "run").delete()
    run.advance(4)
    append_to_log(run, log)
    assert_same(RunLog(tmp_path / "run").traces()[0], run.trace())


def test_a_run_goes_on_with_the_row_that_was_written_for_who_only_looked(tmp_path: Path) -> None:
    head, rows, events = log_opening(CFG, 1)
    log = RunLog(tmp_path / "run")
    log.begin(head)
    log.append(rows, events)
    looked = RunLog(tmp_path / "run")
    assert (looked.length, looked.trained, len(looked.frames())) == (1, False, 1)
    assert np.isnan(looked.frames()[0].held_out_loss)
    said = looked.sentences()
    run = logged(CFG, tmp_path / "run")
    assert_same(looked.read().traces()[0], run.trace())  # its whole frame 0 too
    assert looked.trained
    assert looked.sentences(0, 1) == said


KILLED = """
import sys
from pathlib import Path
from models.runlog import RunLog
from models.spec import RunConfig
from models.training import Run
from models.training.log_writer import append_to_log, begin_log
run, log = Run(RunConfig(depth=3, width=16, batch=8, steps=20, device="cpu")), RunLog(Path(sys.argv[1]))
begin_log(run, log)
run.advance(9)
append_to_log(run, log)
print("there", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_killed_writer_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGKILL)
    assert RunLog(tmp_path / "run").length == 9
    assert len(RunLog(tmp_path / "run").frames()) == 5  # of steps 0, 1, 2, 4 and 8


@pytest.mark.parametrize("full", [0, 9], ids=["from the start", "half way"])
def test_on_a_full_disk_a_run_goes_on_in_memory_and_its_readers_are_told(
    full: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_log: RunLog, name: str, data: bytes) -> None:
        if data:
            raise OSError(errno.ENOSPC, "no space left")

    run, log, reader = Run(CFG), RunLog(tmp_path / "run"), RunLog(tmp_path / "run")
    begin_log(run, log)
    run.advance(full)
    append_to_log(run, log)
    monkeypatch.setattr(RunLog, "_write", refused)
    for _ in range(4):
        run.advance(7)
        run.close()
        append_to_log(run, log)
        assert log.in_memory
        assert log.head is not None
        for piece in (*log.take_unwritten(), {"start": 0, "rows": run.rows(), "events": []}):
            assert reader.append_in_memory(head=log.head, **piece), "a reader who has not read the disk lacks nothing"
        assert_same(reader.traces()[0], run.trace())
    assert reader.done


FILLED = """
import resource
import sys
from pathlib import Path
from models.runlog import RunLog
from models.spec import RunConfig
from models.training import Run
from models.training.log_writer import append_to_log, begin_log
run, log = Run(RunConfig(depth=3, width=16, batch=8, steps=20, device="cpu")), RunLog(Path(sys.argv[1]))
begin_log(run, log)
sys.dont_write_bytecode = True  # a module cut off at the limit could not be imported any more
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
run.advance(9)
append_to_log(run, log)
print(log.in_memory, log.length, [frame.step for frame in log.frames()] == [frame.step for frame in run.frames])
"""


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds the size of files")
def test_a_disk_that_takes_a_part_only_is_full(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FILLED, str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "9", "True"]
