"""Recordings on their way to the browser, and what the page "Your model" says to its player."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from addnorm.player.charts import FORMAT_LIMITS
from addnorm.recording import read as read_recording
from components.player import recordings
from components.player.browser_messages import Hello, ShownRecording, decode, parse
from components.player.recordings import RecordingFeed, open_recording
from components.recordings.package import ROOT, ROOT_FILES, package
from models.service.client import key_of
from models.spec import RunConfig
from tests.app_page import address, by_link, sound, words
from tests.player_page import declared, panels

HEAD = 16  # bytes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(recordings.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def reel(name: str, file: str = "", have: int = 0) -> RecordingFeed:
    return RecordingFeed(0, ShownRecording(name, file, have, 0), turn=7)


def sent(one: RecordingFeed) -> tuple[list[dict[str, Any]], bytes]:
    """What comes of a recording: what is said, and its bytes, whose heads must fit."""
    said, data, start = [], b"", None
    for message in one.messages():
        if isinstance(message, str):
            said.append(json.loads(message))
            continue
        run, begin, count, turn = np.frombuffer(message[:HEAD], "<u4").tolist()
        assert (run, count, turn) == (0, len(message) - HEAD, 7)
        assert start in (None, begin)
        start = begin + count
        data += message[HEAD:]
    return said, data


def test_a_recording_is_sent_as_far_as_it_goes_and_then_what_was_appended(folder: Path) -> None:
    path = folder / "run.jsonl"
    path.write_bytes(bytes(range(256)) * 3000)
    one = reel("run.jsonl")
    (said,), data = sent(one)
    assert said["start"] == 0
    assert said["sentence"] == ""
    assert data == path.read_bytes()
    assert sent(one) == ([], b"")
    with path.open("ab") as file:
        file.write(b"more")
    assert sent(one) == ([], b"more")
    again = reel("run.jsonl", said["file"], len(data))  # a connection that was lost
    assert sent(again)[1] == b"more"


def test_another_file_under_the_name_and_one_that_was_cut_come_from_their_beginning(folder: Path) -> None:
    path = folder / "run.jsonl"
    path.write_bytes(b"first, long")
    one = reel("run.jsonl")
    sent(one)
    (folder / "new").write_bytes(b"second, longer than that")
    (folder / "new").rename(path)
    (said,), data = sent(one)
    assert (said["start"], data) == (0, b"second, longer than that")
    path.write_bytes(b"cut")
    (said,), data = sent(one)
    assert (said["start"], data) == (0, b"cut")
    path.unlink()
    (said,), data = sent(one)
    assert (said["sentence"], data) == ("There is no recording run.jsonl here.", b"")
    assert sent(one) == ([], b"")


def test_nothing_outside_of_the_folder_and_nothing_but_plain_files_is_given(
    folder: Path, tmp_path_factory: Any
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.jsonl"
    secret.write_text("secret")
    (folder / "inner").mkdir()
    (folder / "inner" / "run.jsonl").write_text("inner")
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "folder.jsonl").mkdir()
    (folder / "notes.txt").write_text("notes")
    (folder / "line\nbreak.jsonl").write_text("x")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "run.jsonl").write_text("run")
    assert recordings.recordings() == ["run.jsonl"]
    ways = [str(secret), f"../{secret.parent.name}/secret.jsonl", "link.jsonl", "folder.jsonl", "notes.txt", "pipe.jsonl",
            "inner/run.jsonl", "./run.jsonl", "", ".", "..", "x" * 250 + ".jsonl", "run.jsonl\0", "run.jsonl/"]  # fmt: skip
    for name in ways:
        with pytest.raises(OSError, match=r"."), open_recording(name):
            pass
        (said,), data = sent(reel(name))
        assert said["sentence"].startswith("There is no recording")
        assert data == b""


def test_who_comes_without_a_recording_sees_an_example_play_and_is_sent_nothing_beside_it(folder: Path) -> None:
    (folder / "run.jsonl").write_text("")
    page = page_of()
    (name, *_) = recordings.examples()
    assert page.selectbox(key="recordings_recording").value == name
    assert declared(page)["start"] == name
    assert declared(page_of(recording=name))["start"] == ""
    assert "from addnorm import watch" in page.code[0].value, "how to record stands beside it"
    assert address(page) == {}
    assert sent(reel(name))[1] == (recordings.EXAMPLES / name.removeprefix(recordings.EXAMPLE)).read_bytes()
    for other in ("example: ../digits.py", "example: ../../README.md", "example: /etc/passwd", "example: "):
        with pytest.raises(OSError, match=r"."), open_recording(other):
            pass


def test_the_newest_recordings_are_listed_first_and_not_all_of_very_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at, name in enumerate(("b.jsonl", "a.jsonl", "c.jsonl")):
        (folder / name).write_text("")
        os.utime(folder / name, (at, at))
    assert recordings.recordings() == ["c.jsonl", "a.jsonl", "b.jsonl"]
    monkeypatch.setattr(recordings, "MAX_LISTED", 2)
    assert recordings.recordings() == ["c.jsonl", "a.jsonl"]
    monkeypatch.setenv(recordings.FOLDER_VARIABLE, str(folder / "none"))
    assert recordings.recordings() == []


@pytest.mark.parametrize(
    "run", [{"recording": 3}, {"recording": None}, {"recording": "x" * 300}, {"recording": "a", "have": -1},
            {"recording": "a", "file": 1}, {"recording": "a", "have": 2**33}]
)  # fmt: skip
def test_what_a_browser_may_not_say_of_a_recording_is_refused(run: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"recording|have"):
        decode(parse(json.dumps({"kind": "hello", "turn": 1, "runs": [run]})))
    fine = decode(parse(json.dumps({"kind": "hello", "turn": 1, "runs": [{"recording": "a", "have": 2**32 - 1}]})))
    assert isinstance(fine, Hello)


# --- the page ---


def page_of(**query: str) -> AppTest:
    return by_link("recordings.py", **query)


def test_a_recording_stands_in_the_address_and_so_does_what_stands_beside_it(folder: Path) -> None:
    for name in (
        "Run.jsonl",
        "run.jsonl",
        "日本.jsonl",
    ):  # which only capitals tell apart, or which has no plain letters
        (folder / name).write_text("")
    page = page_of(recording="日本.jsonl", beside="run.jsonl")
    assert [run["recording"] for run in declared(page)["runs"]] == ["日本.jsonl", "run.jsonl"]
    page.selectbox(key="recordings_recording").set_value("Run.jsonl").run()
    assert address(sound(page)) == {"recording": "Run.jsonl", "beside": "run.jsonl"}
    assert "There is no recording with that name" in words(page_of(recording="../Run.jsonl"))


def test_beside_a_recording_stands_a_run_of_the_playground_on_the_same_charts(folder: Path) -> None:
    (folder / "run.jsonl").write_text("")
    page = page_of(recording="run.jsonl", beside="toy: post-norm")
    first, toy = declared(page)["runs"]
    assert first["recording"] == "run.jsonl"
    assert toy["link"] == key_of(RunConfig.arranged("post-norm"))
    always = {"Signal by depth", "Gradient by depth", "Loss"}
    assert set(panels(page, "chart")) == always
    for group, titles in (
        ("Weights and updates", {"Weight gradient by block", "Update to weight by block"}),
        (
            "Layer and step",
            {
                f"{what} of the first"
                for what in ("Signal by layer and step", "Gradient by layer and step", "Values by layer")
            },
        ),
    ):
        page.get_by_key("recordings_panel").set_value(group)
        charts = panels(sound(page.run()), "chart")
        assert set(charts) == always | titles
        for title in set(charts) - {one for one in titles if " of the first" in one}:
            assert [trace["bind"]["run"] for trace in charts[title]["figure"]["data"][:2]] == [0, 1]
    assert address(page)["panel"] == "layer-and-step"


# --- the recorder to take along ---

LOOP = """
import sys; sys.path.insert(0, sys.argv[1])
import torch
from torch import nn
import addnorm
torch.set_num_threads(1)
layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
x = torch.randn(4, 8, 16)
with addnorm.watch(model, "run.jsonl", optimizer=optimizer) as recorder:
    for _ in range(5):
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recorder.loss(loss)
print(addnorm.__file__)
"""


@pytest.mark.full
def test_the_recorder_that_is_downloaded_is_installed_by_pip_and_records_a_training(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77", reason="pip would fetch setuptools to build the package")
    (tmp_path / "addnorm.zip").write_bytes(package())
    own = tmp_path / "installed"
    pip = ["-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps", "--target"]
    subprocess.run([sys.executable, *pip, own, "addnorm.zip"], cwd=tmp_path, check=True)
    run = subprocess.run(
        [sys.executable, "-I", "-c", LOOP, own], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert Path(run.stdout.strip()).is_relative_to(own)
    recording = read_recording(tmp_path / "run.jsonl")
    assert (len(recording), len(recording.sites), recording.problem) == (5, 7, "")


def test_the_same_files_make_the_same_download_and_none_is_missing() -> None:
    before = package()
    package.cache_clear()
    assert package() == before
    names = subprocess.run(["git", "ls-files", "addnorm"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(ZipFile(io.BytesIO(before)).namelist()) == {*names.split(), *ROOT_FILES}


def test_a_number_in_a_recording_takes_about_as_many_bytes_as_is_said() -> None:
    for path in recordings.EXAMPLES.glob("*.jsonl"):
        one = read_recording(path)
        numbers = len(one) * (2 * len(one.sites) + len(one.blocks))
        sizes = {
            said: sum(len(line) for line in path.open("rb") if (b'{"said"' in line) == said) for said in (False, True)
        }
        assert sizes[False] / numbers == pytest.approx(15, rel=0.1)
        assert sizes[True] / len(one) == pytest.approx(350, rel=0.25)


# --- number formats ---


def test_the_limits_on_the_charts_are_those_of_the_formats() -> None:
    kinds = {"float16": torch.float16, "bfloat16": torch.bfloat16}
    for at, name in FORMAT_LIMITS:
        kind = kinds[name.split(":")[0]]
        facts = torch.finfo(kind)
        if name.endswith("largest"):
            assert at == pytest.approx(facts.max, rel=1e-4)
        else:
            assert at == facts.smallest_normal * facts.eps
            assert torch.tensor(at).to(kind).float().item() == at
            assert torch.tensor(at * 0.49).to(kind).float().item() == 0
