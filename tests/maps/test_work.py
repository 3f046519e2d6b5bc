"""A map at work: kept unit by unit, resumed after a crash, on
this machine and on a Dask cluster, and from the command line.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import version

import pandas as pd
import pytest

from models.maps import Axis, MapSpec, MapStore, coordinates
from models.maps.cells import units
from models.maps.table import COLUMNS
from models.maps.unit import run_unit
from models.maps.work import compute_missing
from models.runlog import fingerprint
from models.service.worker_process import ROOT
from models.spec import RunConfig
from tests.load.server import family
from tests.waiting import PATIENCE, until

BASE = (("task", "circles"), ("width", 16), ("steps", 20), ("batch", 8))
SMALL = MapSpec(Axis("lr", (0.003, 0.03)), Axis("depth", (2, 3, 4)), ("plain", "pre-norm"), BASE)
NUMBERS = ("final_loss", "accuracy", "gradient_ratio")


@pytest.fixture(scope="module")
def expected():
    """Every unit computed in this process."""
    return {at: run_unit(SMALL.to_json(), at)["runs"] for at in range(len(units(SMALL)))}


def assert_all_there(store, expected):
    done = store.done()
    assert sorted(done) == sorted(expected)
    for at, runs in expected.items():
        for mine, other in zip(done[at]["runs"], runs, strict=True):
            for name, value in other.items():
                same = (
                    mine[name] == value
                    if name not in NUMBERS
                    else float(mine[name]) == pytest.approx(float(value), rel=1e-5)
                )
                assert same, (at, name, mine[name], value)


def lines(store):
    return (store.path / "units.jsonl").read_bytes().splitlines()


def test_a_map_is_computed_once_and_every_unit_kept(tmp_path, expected):
    store = MapStore(SMALL, tmp_path)
    assert sorted(kept["unit"] for kept in compute_missing(store, jobs=1)) == sorted(expected)
    assert_all_there(store, expected)
    assert list(compute_missing(store, jobs=1)) == []
    assert len(lines(store)) == len(expected)


def test_a_torn_line_is_computed_again_and_no_other(tmp_path, expected):
    store = MapStore(SMALL, tmp_path)
    list(compute_missing(store, jobs=1))
    path = store.path / "units.jsonl"
    text = path.read_bytes()
    path.write_bytes(text[:-30])
    torn = store.missing()
    assert len(torn) == 1
    assert [kept["unit"] for kept in compute_missing(store, jobs=1)] == torn
    assert_all_there(store, expected)
    assert len(lines(store)) == len(expected)


def test_lines_that_are_no_units_are_left_out(tmp_path, expected):
    store = MapStore(SMALL, tmp_path)
    list(compute_missing(store, jobs=1))
    with (store.path / "units.jsonl").open("ab") as file:
        file.write(b'{"unit": 99, "seconds": 1.0, "runs": []}\n{"unit": "a"}\nnonsense\n[1]\n\xff\xfe\n')
    assert_all_there(store, expected)


def test_two_processes_never_write_one_map(tmp_path):
    first, second = MapStore(SMALL, tmp_path), MapStore(SMALL, tmp_path)
    with first.writing(), pytest.raises(ValueError, match="Another process is computing this map"), second.writing():
        pass
    with second.writing():
        pass


def test_a_full_disk_leaves_what_was_kept(tmp_path, monkeypatch, expected):
    store = MapStore(SMALL, tmp_path)
    store.path.mkdir(parents=True)
    store.add({"unit": 0, "seconds": 1.0, "runs": expected[0]})

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.add({"unit": 1, "seconds": 1.0, "runs": expected[1]})
    assert list(store.done()) == [0]
    assert len(lines(store)) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the size of a file")
def test_half_a_line_for_which_there_was_room_is_taken_back(tmp_path, expected):
    store = MapStore(SMALL, tmp_path)
    store.path.mkdir(parents=True)
    store.add({"unit": 0, "seconds": 1.0, "runs": expected[0]})
    before = (store.path / "units.jsonl").read_bytes()
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from pathlib import Path; from models.maps import MapSpec, MapStore;"
        "store = MapStore(MapSpec.from_json(Path(sys.argv[1]).read_text()), Path(sys.argv[2]));"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 50}, {len(before) + 50}));"
        "store.add({'unit': 1, 'seconds': 1.0, 'runs': ['x' * 500]})"
    )
    (tmp_path / "spec.json").write_text(SMALL.to_json())
    command = [sys.executable, "-c", code, str(tmp_path / "spec.json"), str(tmp_path)]
    failed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "OSError" in failed.stderr
    assert (store.path / "units.jsonl").read_bytes() == before


def started(tmp_path, *more, spec=SMALL, **environment):
    """The command on a specification, in a process of its own."""
    (tmp_path / "spec.json").write_text(spec.to_json())
    command = [
        sys.executable,
        "-m",
        "models",
        "map",
        str(tmp_path / "spec.json"),
        "--folder",
        str(tmp_path / "maps"),
        *more,
    ]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


LONG = replace(SMALL, x=Axis("batch", (4, 5, 6, 7)), base=(*BASE[:2], ("steps", 60)))


def running(pid):
    try:
        return open(f"/proc/{pid}/stat").read().split(") ")[1][0] not in "ZX"
    except OSError:
        return False


@pytest.mark.full
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGTERM, marks=pytest.mark.full),
        pytest.param("stdin", marks=pytest.mark.full),
    ],
)
def test_a_cut_off_map_resumes_where_it_stopped(tmp_path, how):
    store = MapStore(LONG, tmp_path / "maps")
    process = started(tmp_path, "--attached", "--jobs", "2", spec=LONG)
    until(lambda: len(store.done()) >= 3, "three units")
    workers = family(process.pid)
    assert len(workers) > 2, "the work is done by processes of its own"
    if how == "stdin":
        process.stdin.close()
    else:
        process.send_signal(how)
    process.wait(PATIENCE)
    kept = store.done()
    assert 3 <= len(kept) < len(units(LONG))
    cut = time.monotonic()
    until(lambda: not any(map(running, workers)), "the end of its processes")
    assert time.monotonic() - cut < 30, "of themselves they would wait for 40 s"
    before = {at: done["seconds"] for at, done in kept.items()}
    again = started(tmp_path, spec=LONG)
    assert again.wait(PATIENCE) == 0, again.stderr.read()
    done = store.done()
    assert sorted(done) == list(range(len(units(LONG))))
    assert len(lines(store)) == len(units(LONG)), "no unit is done twice"
    assert {at: done[at]["seconds"] for at in before} == before


def test_the_command_writes_the_table_and_says_what_is_kept(tmp_path):
    process = started(tmp_path, "--out", str(tmp_path / "map.csv"))
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, error
    assert b"12 of 12 runs are kept" in out
    table = pd.read_csv(tmp_path / "map.csv")
    assert list(table.columns[:4]) == ["arrangement", "lr", "depth", "seed"]
    assert len(table) == 12
    process = started(tmp_path, "--out", str(tmp_path / "map.parquet"))
    assert process.wait(PATIENCE) == 0
    whole, numbers = pd.read_parquet(tmp_path / "map.parquet"), [COLUMNS[name] for name in NUMBERS]
    pd.testing.assert_frame_equal(whole[numbers], table[numbers], rtol=1e-12)


@pytest.mark.parametrize(
    ("more", "spec", "sentence"),
    [
        (("--out", "x.txt"), None, "ends in .csv or .parquet"),
        (("--out", "no/such/folder/x.csv"), None, "there is no such folder"),
        (("--jobs", "-1"), None, "--jobs is -1"),
        ((), "nonsense", "it is not JSON"),
        ((), '{"version": 7}', "has version 7"),
    ],
)
def test_bad_input_ends_with_2_and_a_sentence(tmp_path, more, spec, sentence, capsys):
    from models.cli import main

    path = tmp_path / "spec.json"
    path.write_text(SMALL.to_json() if spec is None else spec)
    assert main(["map", str(path), "--folder", str(tmp_path), *more]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_folder_that_cannot_be_made_gets_a_sentence(tmp_path, capsys):
    from models.cli import main

    (tmp_path / "file").write_text("")
    (tmp_path / "spec.json").write_text(SMALL.to_json())
    assert main(["map", str(tmp_path / "spec.json"), "--folder", str(tmp_path / "file")]) == 2
    assert "What was done before is kept" in capsys.readouterr().err


def test_a_scheduler_that_cannot_be_reached_gets_a_sentence_and_falls_back_only_when_asked(
    tmp_path, monkeypatch, capsys, expected
):
    pytest.importorskip("distributed")
    from models.cli import main
    from models.maps import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    monkeypatch.setenv("MAPS_SCHEDULER", "tcp://127.0.0.1:9")
    (tmp_path / "spec.json").write_text(SMALL.to_json())
    command = ["map", str(tmp_path / "spec.json"), "--folder", str(tmp_path)]
    assert main(command) == 2
    assert "The scheduler tcp://127.0.0.1:9 cannot be reached" in capsys.readouterr().err
    assert not MapStore(SMALL, tmp_path).done()
    assert main([*command, "--fall-back"]) == 0
    assert "Computing on this machine instead" in capsys.readouterr().err
    assert_all_there(MapStore(SMALL, tmp_path), expected)


# --- a cluster, by the commands that docs/command-line.md prints ---

QUIET = ("--no-dashboard", "--host", "127.0.0.1")


def printed(start):
    """The command printed there that begins so, as a list of words without its `python`."""
    lines = (ROOT / "docs/command-line.md").read_text(encoding="utf-8").splitlines()
    (found,) = (line for line in lines if line.startswith(start))
    return found.removeprefix("python").split()


@pytest.fixture
def opened():
    """A function that starts a command of this Python in a folder, with no way to the project but that folder."""
    pytest.importorskip("distributed")
    processes = []

    def start(arguments, folder=ROOT, script=(), **more):
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | more.pop("env", {})
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | more
        processes.append(
            subprocess.Popen([*(script or [sys.executable]), *arguments], cwd=folder, env=environment, **quiet)
        )
        return processes[-1]

    start.processes = processes
    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def scheduler(tmp_path, opened):
    """The address of a Dask scheduler."""
    file = tmp_path / "scheduler.json"
    opened([*printed("python -m dask scheduler"), *QUIET, "--port", "0", "--scheduler-file", str(file)])
    until(lambda: file.exists() and file.read_text(), "the file")
    return json.loads(file.read_text())["address"]


@pytest.fixture
def worker(tmp_path, opened, scheduler):
    """A function that starts a worker of the scheduler and returns when it is there."""
    from distributed import Client

    with Client(scheduler, set_as_default=False) as client:

        def start(**more):
            before = set(client.scheduler_info(n_workers=-1)["workers"])
            command = [scheduler if word == "tcp://host:8786" else word for word in printed("python -m dask worker")]
            process = opened([*command, *QUIET, "--local-directory", str(tmp_path)], **more)
            until(lambda: set(client.scheduler_info(n_workers=-1)["workers"]) - before, "the worker")
            return process

        yield start


@pytest.mark.full
def test_the_printed_clusters_numbers_survive_a_lost_worker(tmp_path, opened, scheduler, worker):
    workers = [worker(), worker()]
    (tmp_path / "spec.json").write_text(LONG.to_json())
    where, *command = printed("MAPS_SCHEDULER=")
    assert where == "MAPS_SCHEDULER=tcp://host:8786"
    places = {"spec.json": str(tmp_path / "spec.json"), "map.parquet": str(tmp_path / "map.parquet")}
    command = [places.get(word, word) for word in command[1:]] + ["--folder", str(tmp_path / "there")]
    process = opened(command, env={"MAPS_SCHEDULER": scheduler})
    here, there = MapStore(LONG, tmp_path / "here"), MapStore(LONG, tmp_path / "there")
    until(lambda: len(there.done()) > 2, "three units")
    workers[0].kill()
    list(compute_missing(here, jobs=1))
    assert process.wait(timeout=PATIENCE) == 0
    assert workers[1].poll() is None
    assert_all_there(there, {at: kept["runs"] for at, kept in here.done().items()})
    assert len(pd.read_parquet(tmp_path / "map.parquet")) == len(there.outcomes())


@pytest.mark.full
def test_a_scheduler_that_goes_is_one_sentence(tmp_path, opened, scheduler, worker):
    worker()
    (tmp_path / "spec.json").write_text(LONG.to_json())
    command = ["-m", "models", "map", str(tmp_path / "spec.json"), "--folder", str(tmp_path / "there")]
    store = MapStore(LONG, tmp_path / "there")
    with (tmp_path / "said").open("w") as said:
        process = opened(command, env={"MAPS_SCHEDULER": scheduler}, stderr=said)
        until(store.done, "a unit")
        opened.processes[0].kill()
        assert process.wait(timeout=PATIENCE) == 1
    last = (tmp_path / "said").read_text().splitlines()[-1]
    assert last == f"The scheduler {scheduler} is gone. What was done before is kept. The same command resumes it."
    assert "Traceback" not in (tmp_path / "said").read_text()
    assert store.done()


@pytest.mark.full
def test_a_cluster_measures_a_coordinate_check_as_this_machine_does(scheduler, worker):
    worker()
    cfg = RunConfig(depth=2, batch=4, optimizer="adam", device="cpu")
    check = coordinates.CoordinateCheck(cfg, "width", (16, 32, 64), seeds=2)
    there, here = coordinates.measure(check, scheduler=scheduler), coordinates.measure(check, scheduler="", jobs=1)
    assert [size for *_, size in there.rows()] == pytest.approx([size for *_, size in here.rows()], rel=1e-6)


@pytest.mark.full
def test_a_map_of_two_thousand_runs_is_for_a_cluster_alone(tmp_path, scheduler, worker, monkeypatch, capsys):
    from models.cli import main

    rates, depths = tuple(0.001 * k for k in range(1, 21)), tuple(range(1, 6))
    base = (*BASE[:2], ("steps", 2))
    large = MapSpec(Axis("lr", rates), Axis("depth", depths), ("plain", "pre-norm", "post-norm", "ReZero"), base, 5)
    assert large.runs == 2_000
    (tmp_path / "spec.json").write_text(large.to_json())
    command = ["map", str(tmp_path / "spec.json"), "--folder", str(tmp_path)]
    assert main(command) == 2
    assert "2,000 runs" in capsys.readouterr().err
    for _ in range(2):
        worker()
    monkeypatch.setenv("MAPS_SCHEDULER", scheduler)
    assert main(command) == 0
    done = MapStore(large, tmp_path).done()
    assert sum(len(kept["runs"]) for kept in done.values()) == 2_000
    for at in (0, len(done) - 1):
        here, there = (
            [run["final_loss"] for run in kept["runs"]] for kept in (run_unit(large.to_json(), at), done[at])
        )
        assert there == pytest.approx(here, rel=1e-5)


def refusal(tmp_path, scheduler, monkeypatch, capsys):
    """What the command says of a cluster that cannot compute a map: one sentence."""
    from models.cli import main

    monkeypatch.setenv("MAPS_SCHEDULER", scheduler)
    (tmp_path / "spec.json").write_text(SMALL.to_json())
    assert main(["map", str(tmp_path / "spec.json"), "--folder", str(tmp_path / "maps")]) == 2
    assert not MapStore(SMALL, tmp_path / "maps").done()
    return capsys.readouterr().err.splitlines()[-1].removeprefix("python -m models: ")


@pytest.mark.full
def test_a_cluster_without_workers_is_refused_and_so_is_one_that_loses_all(
    tmp_path, scheduler, worker, monkeypatch, capsys
):
    from models.maps import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    assert refusal(tmp_path, scheduler, monkeypatch, capsys).startswith(
        f"The scheduler {scheduler} has no workers: start one"
    )
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 10.0)
    only = worker()
    going_on = compute_missing(MapStore(LONG, tmp_path), scheduler=scheduler)
    next(going_on)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    only.kill()
    with pytest.raises(cluster.ClusterError, match="has no workers"):
        list(going_on)


@pytest.mark.full
def test_a_worker_that_cannot_import_the_project_or_has_another_one_is_refused(
    tmp_path, scheduler, worker, monkeypatch, capsys
):
    lost = worker(folder=tmp_path)
    said = refusal(tmp_path, scheduler, monkeypatch, capsys)
    assert said.startswith("The worker tcp://")
    assert "cannot import this project (ModuleNotFoundError: No module named 'models')" in said
    lost.terminate()
    assert lost.wait() == 0
    for package in ("addnorm", "content", "models"):
        shutil.copytree(ROOT / package, tmp_path / "other" / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "other" / "models" / "trace.py").open("a") as file:
        file.write("# changed\n")
    worker(folder=tmp_path / "other")
    assert re.match(
        r"The worker tcp://\S+ has project \w{8}, this machine has \w{8}\.",
        refusal(tmp_path, scheduler, monkeypatch, capsys),
    )


@pytest.mark.full
def test_a_cluster_with_another_torch_is_refused(tmp_path, scheduler, worker, monkeypatch, capsys):
    from models.maps import cluster

    monkeypatch.setattr(cluster, "fingerprint", lambda: fingerprint() | {"torch": "1.0"})
    worker()
    said = refusal(tmp_path, scheduler, monkeypatch, capsys)
    assert said == f"The scheduler {scheduler} has torch {version('torch').partition('+')[0]}, this machine has 1.0."


@pytest.mark.full
def test_a_unit_that_fails_on_the_cluster_ends_the_command_with_what_it_said(scheduler, worker):
    from models.maps import cluster

    worker()
    with pytest.raises(cluster.ClusterError, match="failed at a unit: tuple index out of range"):
        list(cluster.run_on_cluster(scheduler, SMALL.to_json(), [10_000]))
