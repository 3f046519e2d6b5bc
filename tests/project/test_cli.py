"""The command line: the numbers of the log, and a sentence for whatever is wrong."""

import base64
import gzip
import json
import re
import signal
import subprocess
import sys
import webbrowser
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from models.catalogue import CATALOGUE
from models.cli import main
from models.export import configuration_from, configuration_json, digest_of, trace_csv
from models.insight import signal_at_init
from models.runlog import HEAD_FILE, ROWS_FILE, RunLog
from models.service.client import Trainer
from models.spec import ARRANGEMENTS, RunConfig, knobs
from models.spec.query import PAGE_KEYS
from models.training import Run, SeedRuns, available_devices
from models.training.log_writer import append_to_log, begin_log
from tests.rows import rows_of

ROOT = Path(__file__).parents[2]
TINY = ["--set", "depth=3", "--set", "width=8", "--set", "batch=4", "--set", "device=cpu"]
FIELDS = {"depth": 3, "width": 8, "batch": 4, "device": "cpu"}


def test_train_writes_the_log_and_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cfg = RunConfig.arranged("post-norm", **FIELDS, net="transformer", heads=2, steps=6, seed=3)
    extra = ["--set", "net=transformer", "--set", "heads=2", "--steps", "6", "--seed", "3"]
    files = ["--csv", str(tmp_path / "out.csv"), "--json", str(tmp_path / "cfg.json")]
    assert main(["train", "--arrangement", "post-norm", *TINY, *extra, *files]) == 0
    run = Run(cfg)
    run.advance(6)
    digest = digest_of(run.trace())
    run.close()
    assert (tmp_path / "out.csv").read_text() == trace_csv(run.trace())
    assert configuration_from((tmp_path / "cfg.json").read_text()) == (cfg, [])
    captured = capsys.readouterr()
    assert captured.out.startswith("post-norm. ")
    assert f"Step 6: loss {run.trace().loss[-1]:.3g}, held-out accuracy" in captured.out
    assert f"digest {digest}" in captured.out
    assert "Healthy" in captured.out or "Borderline" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize("as_link", [True, False])
def test_train_starts_from_an_export_or_a_link(
    as_link: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cfg = RunConfig(**FIELDS, norm="none", overrides=((2, "residual", False),), steps=2)
    (tmp_path / "cfg.json").write_text(configuration_json(cfg))
    start = "?" + "&".join(f"{k}={v}" for k, v in cfg.to_query().items()) if as_link else str(tmp_path / "cfg.json")
    changes = ["--set", "lr=0.5", "--set", "overrides=1.identity.true"]
    assert main(["train", "--from", start, *changes, "--json", str(tmp_path / "out.json")]) == 0
    expected = RunConfig(**FIELDS, norm="none", overrides=((1, "identity", True),), steps=2, lr=0.5)
    assert configuration_from((tmp_path / "out.json").read_text())[0] == expected
    assert "no named arrangement" in capsys.readouterr().out


@pytest.mark.parametrize("key", sorted(PAGE_KEYS))
def test_train_starts_from_an_address_with_keys_that_are_not_of_the_run(
    key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cfg = RunConfig(**FIELDS, steps=1)
    address = "http://localhost:8501/playground?" + urlencode(cfg.to_query() | {key: "x"})
    assert main(["train", "--from", address]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert f"link ?{urlencode(cfg.to_query())}\n" in captured.out


def test_a_divergence_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    wild = ["--arrangement", "residual only", *TINY, "--set", "init_gain=10", "--set", "lr=10", "--set", "depth=20"]
    assert main(["train", *wild]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("Diverged at step ") for line in lines)


def test_the_progress_bar_is_drawn_on_stderr_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", *TINY, "--steps", "2", "--progress"])
    captured = capsys.readouterr()
    assert "] 2/2" in captured.err
    assert "2/2" not in captured.out


def test_signal_prints_and_writes_what_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--arrangement", "pre-norm", *TINY, "--seed", "5", "--seeds", "3", "--rows", "64"]
    assert main(["signal", *arguments, "--csv", str(tmp_path / "s.csv")]) == 0
    found = signal_at_init(RunConfig(**FIELDS, seed=5), seeds=(5, 6, 7), rows=64)
    out = capsys.readouterr().out
    for at, site in enumerate(found.sites):
        mean_square = np.exp(np.log(found.mean_square[:, at]).mean())
        assert f"{site:<10}{mean_square:>14.6g}" in out
    rows = [line.split(",") for line in (tmp_path / "s.csv").read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == ["5"] * 4 + ["6"] * 4 + ["7"] * 4
    np.testing.assert_array_equal(np.array([float(row[2]) for row in rows]).reshape(3, 4), found.mean_square)
    np.testing.assert_array_equal(np.array([float(row[3]) for row in rows]).reshape(3, 4), found.grad_norm)


@pytest.mark.parametrize("what", CATALOGUE)
def test_list_names_everything_there_is(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", what])
    lines = capsys.readouterr().out.splitlines()
    known = {"arrangements": ARRANGEMENTS, "fields": knobs()}.get(what)
    assert known is None or [line.split("  ")[0] for line in lines] == list(known)
    assert all(len(line.split("  ", 1)) == 2 for line in lines)


def test_list_needs_no_torch() -> None:
    code = (
        "import sys; from models.cli import main; main(['list']); main(['list', 'fields']); sys.exit('torch' in "
        "sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode == 0


ABSENT = next(device for device in ("mps", "cuda") if device not in available_devices())
BAD = {
    "train --arrangement nope": "arrangement is 'nope'; legal is one of plain, ",
    "train --set deth=3": "there is no field deth; legal is one of net, ",
    "train --set depth": "--set depth has no value; write --set field=value",
    "train --set depth=999": "Depth 999 is out of range (1 to 128)",
    "train --set depth=1e1": "depth is '1e1'; legal is 1 to 128",
    "train --set residual=maybe": "residual is 'maybe'; legal is True or False",
    "train --seed -1": "Seed -1 is out of range (0 to ",
    "train --set overrides=99.norm.none": "overrides names block 99; legal is 1 to 32",
    "train --set net=transformer --set heads=5": "width 64 does not divide into 5 heads",
    f"train --set device={ABSENT}": f"device is {ABSENT}, and this machine has none; legal here is auto, ",
    "train --csv /nowhere/out.csv": "/nowhere/out.csv cannot be written: No such file or directory",
    "static /dev/null/edition": "/dev/null/edition cannot be written: Not a directory",
    "train --from /nowhere/cfg.json": "/nowhere/cfg.json cannot be read: No such file or directory",
    "train --from ?depth=999": "Depth 999 is out of range (1 to 128): 128 instead",
    "train --set width=512 --set depth=128 --set batch=512": "This is over budget: ",
    "train --arrangement plain --from ?depth=3": "not allowed with argument",
    "train --speed 3": "unrecognized arguments: --speed 3",
    "signal --seeds 0": "0 is not a number from 1 to 10000",
    "list nope": "invalid choice: 'nope'",
    "dance": "invalid choice: 'dance'",
    "": "the following arguments are required: command",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: int | str | None = main(arguments.split())
    except SystemExit as left:
        code = left.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert BAD[arguments] in captured.err
    assert captured.err.startswith("python -m models")
    assert captured.err.count("\n") == 1


def test_force_runs_what_is_over_budget(capsys: pytest.CaptureFixture[str]) -> None:
    wide = [
        "--set",
        "width=512",
        "--set",
        "depth=3",
        "--set",
        "batch=512",
        "--set",
        "expansion=8",
        "--set",
        "device=cpu",
    ]
    refused = main(["signal", *wide, "--seeds", "1", "--rows", "2"])
    assert refused == 2
    assert "--force runs it anyway" in capsys.readouterr().err
    assert main(["signal", *wide, "--seeds", "1", "--rows", "2", "--force"]) == 0


def test_open_starts_the_app_on_a_recording_and_ends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started, shown, said = subprocess.Popen, [], []
    path = tmp_path / "my run&1.jsonl"
    path.write_text("")

    def instead(command: list[str], **how: Any) -> Any:
        said.append((command, how["env"]["PLAYGROUND_RECORDINGS"]))
        return started([sys.executable, "-c", "print('\\n  URL: http://localhost:8503\\n')"], **how)

    monkeypatch.setattr(subprocess, "Popen", instead)
    monkeypatch.setattr(webbrowser, "open", shown.append)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert main(["open", str(path)]) == 0
    assert shown == ["http://localhost:8503/recordings?recording=my+run%261.jsonl"]
    assert capsys.readouterr().out.strip() == shown[0]
    [(command, folder)] = said
    assert command[3:5] == ["run", str(ROOT / "app.py")]
    assert folder == str(tmp_path)
    for wrong in (tmp_path, tmp_path / "none.jsonl", ROOT / "README.md"):
        assert main(["open", str(wrong)]) == 2
        assert "is neither a recording (a file that ends in .jsonl) nor a folder of runs" in capsys.readouterr().err


def test_a_kept_run_opens_in_the_app(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ["--set", "depth=2", "--set", "width=16", "--set", "device=cpu", "--steps", "12"]
    assert main(["train", *small, "--out", str(tmp_path)]) == 0
    folder = re.search(r"^log (.+)$", capsys.readouterr().out, re.MULTILINE)
    assert folder is not None
    log, run = RunLog(Path(folder[1])), Run(RunConfig(depth=2, width=16, steps=12, device="cpu"))
    run.advance(12)
    run.close()
    assert rows_of(log.traces()[0]).tobytes() == rows_of(run.trace()).tobytes()
    with closing(Trainer(start_delay=60.0, runs=tmp_path)) as trainer:
        log = trainer.log(run.cfg)
        assert (log.done, log.length) == (True, 13)
    assert main(["play", str(tmp_path), "--html", str(tmp_path / "run.html")]) == 0
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "2 blocks of width 16" in page
    for empty in (tmp_path / "none", ROOT / "docs"):
        assert main(["play", str(empty)]) == 2


SHORT = ["--set", "depth=2", "--set", "width=16", "--set", "device=cpu", "--steps", "12"]
NO_DISK = """
import resource, sys
from models.cli import main
sys.dont_write_bytecode = True  # a module cut off at the limit could not be imported any more
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
sys.exit(main(sys.argv[1:]))
"""


def kept(folder: Path, seed: int) -> Path:
    """The log of a short run."""
    assert main(["train", *SHORT, "--seed", str(seed), "--out", str(folder)]) == 0
    return max(folder.iterdir(), key=lambda log: log.stat().st_mtime_ns)


def one_sentence(said: str) -> bool:
    return said.count("\n") == 1 and "Traceback" not in said


@pytest.mark.parametrize("where", ["file", "file/below", "/dev/null/x"])
def test_a_log_that_cannot_be_written_is_an_error(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["train", *SHORT, "--out", str(tmp_path / where)]) == 2
    said = capsys.readouterr()
    assert one_sentence(said.err)
    assert "cannot be written" in said.err
    assert "log " not in said.out
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds the size of files")
@pytest.mark.parametrize("option", ["--out", "--csv"])
def test_a_full_disk_leaves_nothing_half_written(option: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", NO_DISK, "train", *SHORT[:-1], "400", option, str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert one_sentence(done.stderr)
    assert "cannot be written" in done.stderr
    assert "\nlog " not in done.stdout
    assert not list(tmp_path.glob("out/*")) or not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
def test_output_on_a_full_disk_is_an_error() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "models", "list", "norms"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert one_sentence(done.stderr)


def test_a_renamed_run_and_one_of_two_seeds_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = kept(tmp_path / "runs", 1).rename(tmp_path / "my run")
    runs = SeedRuns(RunConfig(depth=2, width=16, steps=12, device="cpu"), (0, 1))
    both = RunLog(tmp_path / "both")
    begin_log(runs, both)
    runs.advance(12)
    append_to_log(runs, both)
    for folder, seeds in ((renamed, "1 seed"), (both.folder, "2 seeds")):
        assert main(["play", str(folder), "--html", str(tmp_path / "run.html")]) == 0
        page = (tmp_path / "run.html").read_text(encoding="utf-8")
        messages = json.loads(gzip.decompress(base64.b64decode(page.split('"application/gzip">')[-2].split("<")[0])))
        assert [message["kind"] for message in messages if "kind" in message][:2] == ["header", "frames"]
        assert seeds in page


def test_good_runs_are_found_beside_damaged_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = [kept(tmp_path / "runs", seed) for seed in (1, 2, 3)]
    good = kept(tmp_path / "runs", 4)
    capsys.readouterr()
    (bad[0] / HEAD_FILE).write_text("[")
    (bad[1] / HEAD_FILE).unlink()
    (bad[2] / ROWS_FILE).write_bytes(b"")
    page = ["--html", str(tmp_path / "run.html")]
    assert main(["play", str(tmp_path / "runs"), *page]) == 0
    said = capsys.readouterr().err
    assert all(f"{folder} is damaged: " in said for folder in bad)
    assert len(said.splitlines()) == 3
    assert all(folder.is_dir() for folder in (*bad, good)), "whoever only looks moves nothing"
    for command in ("play", "open"):
        assert main([command, str(bad[0])]) == 2
        said = capsys.readouterr().err
        assert "is damaged" in said
        assert "Traceback" not in said
