"""The reader takes what is whole and says what is wrong, whatever the file holds; the table in the terminal."""

import json
import math
import random
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from addnorm import recording as reading
from addnorm import watch
from addnorm.__main__ import main
from addnorm.recording import Reader, Recording, read
from addnorm.sentences import KINDS
from addnorm.words import change_clause, jump_sentence, number, recording_status
from tests.addnorm.loops import net, recorded, rms, train
from tests.waiting import until

SITE = {
    "name": "a",
    "kind": "sum",
    "module": "a",
    "side": "output",
    "key": None,
    "call": 0,
    "shape": [2, 8],
    "dtype": "float32",
}
HEADER: dict[str, Any] = {
    "addnorm": 2, "created": "2026-11-22T00:00:00+00:00", "model": "Net", "parameters": 10, "trained": 10, "dtype": "float32",
    "device": "cpu", "optimizer": None, "every": 1, "sites": [SITE, {**SITE, "name": "b"}],
    "blocks": [{"name": "a", "site": 0, "parameters": 4}], "notes": [], "versions": {}, "meta": {},
}  # fmt: skip
ROW: dict[str, Any] = {
    "step": 0, "seconds": 0.1, "loss": 1.0, "lr": 0.1, "grad_norm": 1.0, "act_rms": [1.0, 2.0], "grad_rms": [0.5, 0.25],
    "weight_grad_rms": [0.1],
}  # fmt: skip
END = {"end": "done", "reason": "", "rows": 1, "dropped": 0}


def fed(*lines: Any, raw: bytes = b"") -> Recording:
    reader = Reader()
    reader.feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + raw)
    return reader.finish()


def test_what_was_written_is_what_is_read(tmp_path: Path) -> None:
    recording = recorded(net(), tmp_path, meta={"seed": 3})
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert (recording.problem, recording.is_complete, list(recording.steps)) == ("", True, [0, 1, 2])
    assert recording.header["meta"] == {"seed": 3}
    for at, line in enumerate(line for line in lines if "step" in line):
        assert list(recording.row("act_rms", at)) == line["act_rms"]
        assert list(recording.row("grad_rms", at)) == line["grad_rms"]
        assert list(recording.row("weight_grad_rms", at)) == line["weight_grad_rms"]
        assert recording.scalars["loss"][at] == line["loss"]
        assert bool(recording.measured("update_to_weight", at)[0]) == ("update_to_weight" in line)


def test_what_the_recorder_says_row_by_row_is_what_its_rows_say(tmp_path: Path) -> None:
    said = recorded(net(8), tmp_path, 12)
    silent = fed(raw=b"".join(line for line in (tmp_path / "run.jsonl").open("rb") if b'"said"' not in line))
    assert (said.sentence_changes, len(said)) == (read(tmp_path / "run.jsonl").sentence_changes, 12)
    for kind in KINDS:
        spoken = [said.sentence(kind, at) for at in range(12)]
        assert spoken == [silent.sentence(kind, at) for at in range(12)]
        assert any(spoken) or kind not in ("loss", "update", "verdict", "weight")
    assert said.sentence("loss", 3) == f"Step 3: loss {number(said.scalars['loss'][3])}."
    assert said._narrator is None


def test_numbers_by_name_and_numbers_that_were_not_measured_are_told_apart() -> None:
    found = fed(HEADER, {**ROW, "loss": None, "act_rms": ["NaN", None], "grad_rms": ["Infinity", "-Infinity"]}, END)
    assert found.problem == ""
    assert all(map(math.isnan, found.row("act_rms", 0)))
    assert list(found.measured("act_rms", 0)) == [1, 0]
    assert list(found.row("grad_rms", 0)) == [math.inf, -math.inf]
    assert list(found.masks["loss"]) == [0]


FAULTS: dict[str, tuple[list[Any], bytes, str]] = {
    "empty": ([], b"", "The file is empty."),
    "foreign": ([{"cells": []}], b"", "Line 1 is not the header of a recording."),
    "no JSON": ([], b"step,loss\n", "Line 1 is not JSON, or is nested too deeply."),
    "binary": ([], b"\x80\x02}q\x00.\n", "Line 1 is not text."),
    "a number": ([3], b"", "Line 1 is not an object."),
    "a newer version": (
        [{**HEADER, "addnorm": 3}],
        b"",
        "Line 1 says that this is version 3 of the format; this program reads version 2.",
    ),
    "an older version": (
        [{**HEADER, "addnorm": 1}],
        b"",
        "Line 1 says that this is version 1 of the format; this program reads version 2.",
    ),
    "cut": ([HEADER, ROW], b'{"step":1,"los', "Line 3 is cut off; what came before it is shown."),
    "text for a number": (
        [HEADER, ROW, {**ROW, "step": 1, "loss": "1e3"}],
        b"",
        "Line 3 has a value of loss that is not a number.",
    ),
    "true for a number": (
        [HEADER, ROW, {**ROW, "step": 1, "act_rms": [True, 1.0]}],
        b"",
        "Line 3 has a value of act_rms that is not a number.",
    ),
    "too many sites": (
        [HEADER, ROW, {**ROW, "step": 1, "act_rms": [1.0] * 3}],
        b"",
        "Line 3 has 3 numbers of act_rms where there should be 2.",
    ),
    "too few cosines": (
        [HEADER, ROW, {**ROW, "step": 1, "sample_cosine": [0.5]}],
        b"",
        "Line 3 has 1 numbers of sample_cosine where there should be 2.",
    ),
    "too few shares": (
        [{**HEADER, "bins": 2}, ROW, {**ROW, "step": 1, "histogram": [0.5] * 3}],
        b"",
        "Line 3 has 3 numbers of histogram where there should be 4.",
    ),
    "too many bins": ([{**HEADER, "bins": 257}], b"", "Line 1 has more than 256 bins."),
    "no list": (
        [HEADER, ROW, {**ROW, "step": 1, "grad_rms": {"0": 1}}],
        b"",
        "Line 3 has grad_rms that is not a list.",
    ),
    "a step twice": ([HEADER, ROW, ROW], b"", "Line 3 is of step 0, after step 0."),
    "a step below 0": ([HEADER, ROW, {**ROW, "step": -1}], b"", "Line 3 has a step that is not a count."),
    "a bare NaN": ([HEADER, ROW], b'{"step":1,"loss":NaN}\n', "Line 3 is not JSON, or is nested too deeply."),
    "1e999": (
        [HEADER, ROW],
        json.dumps({**ROW, "step": 1}).replace("0.25", "1e999").encode() + b"\n",
        "Line 3 has a value of grad_rms that is too large.",
    ),
    "deep": (
        [HEADER, ROW],
        b'{"step":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        "Line 3 is not JSON, or is nested too deeply.",
    ),
    "a little deep": (
        [HEADER, ROW],
        b'{"step":1,"x":' + b"[" * 20 + b"]" * 20 + b"}\n",
        "Line 3 is not JSON, or is nested too deeply.",
    ),
    "digits": ([HEADER, ROW], b'{"step":' + b"9" * 10_000 + b"}\n", "Line 3 has a step that is not a count."),
    "more after the end": (
        [HEADER, ROW, END, {**ROW, "step": 1}],
        b"",
        "Line 4 comes after the end of the recording.",
    ),
    "said of later": (
        [HEADER, ROW, {"said": {"law": [[0, "x"], [1, "x"]]}}],
        b"",
        "Line 3 has a sentence about step 1, which has not come.",
    ),
    "said of nothing": (
        [HEADER, {"said": {"law": [[0, "x"]]}}],
        b"",
        "Line 2 has a sentence about step 0, which has not come.",
    ),
    "said as a list": ([HEADER, ROW, {"said": [[0, "x"]]}], b"", "Line 3 has a said that is not an object."),
    "a sentence alone": ([HEADER, ROW, {"said": {"law": ["x"]}}], b"", "Line 3 has a sentence without a step."),
    "sentences as text": ([HEADER, ROW, {"said": {"law": "x"}}], b"", "Line 3 has sentences that are not a list."),
    "a number for a sentence": (
        [HEADER, ROW, {"said": {"law": [[0, 1]]}}],
        b"",
        "Line 3 has a sentence that is not text.",
    ),
    "a long sentence": (
        [HEADER, ROW, {"said": {"law": [[0, "x" * 5001]]}}],
        b"",
        "Line 3 has a sentence that is too long.",
    ),
    "an unknown end": ([HEADER, ROW, {**END, "end": "<b>"}], b"", "Line 3 ends in an unknown way."),
    "a long name": ([{**HEADER, "sites": [{**SITE, "name": "x" * 2000}]}], b"", "Line 1 has a name that is too long."),
    "a name that is none": ([{**HEADER, "sites": [{**SITE, "name": 3}]}], b"", "Line 1 has a name that is not text."),
    "many sites": ([{**HEADER, "sites": [SITE] * 20_001}], b"", "Line 1 has more than 20000 sites."),
    "an unknown kind": (
        [{**HEADER, "sites": [{**SITE, "kind": "other"}]}],
        b"",
        "Line 1 has a site of an unknown kind.",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_a_sentence_with_its_line_and_what_was_whole_is_given(name: str) -> None:
    lines, raw, sentence = FAULTS[name]
    found = fed(*lines, raw=raw)
    assert found.problem == sentence
    if len(lines) > 1 and "Line 2" not in sentence:
        assert list(found.row("act_rms", 0)) == ROW["act_rms"]
        assert len(found) == 1


def test_lines_and_recordings_have_bounds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1000)
    assert fed(HEADER, {**ROW, "x": "y" * 1000}).problem == "Line 2 is longer than a line of a recording can be."
    endless = Reader()
    for _ in range(3):
        endless.feed(b"x" * 400)
    assert endless.recording.problem == "Line 1 is longer than a line of a recording can be."
    assert not endless._incomplete_line
    monkeypatch.setattr(reading, "MAX_NUMBERS", 46)
    found = fed(HEADER, *({**ROW, "step": step} for step in range(9)))
    assert found.problem == "Line 4 is over the limit; the lines before it are shown."
    assert len(found) == 2
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 1500)
    (tmp_path / "run.jsonl").write_text(
        "\n".join(json.dumps(line) for line in (HEADER, *({**ROW, "step": k} for k in range(9))))
    )
    monkeypatch.setattr(reading, "MAX_NUMBERS", 10**6)
    assert (
        read(tmp_path / "run.jsonl").problem
        == "The file is larger than a recording can be; what comes before is shown."
    )


def test_a_growing_file_is_read_piece_by_piece(tmp_path: Path) -> None:
    recorded(net(), tmp_path)
    data = (tmp_path / "run.jsonl").read_bytes()
    reader, draw, at = Reader(), random.Random(0), 0
    lengths = []
    while at < len(data):
        size = draw.randint(1, 200)
        lengths.append(len(reader.feed(data[at : at + size])))
        at += size
    assert sorted(lengths) == lengths
    whole = read(tmp_path / "run.jsonl")
    assert {name: list(map(repr, values)) for name, values in reader.finish().series.items()} == {
        name: list(map(repr, values)) for name, values in whole.series.items()
    }
    half = tmp_path / "half.jsonl"
    half.write_bytes(data[: len(data) * 2 // 3])
    assert read(half, growing=True).problem == ""
    assert "is cut off" in read(half).problem


def test_a_path_without_a_file_is_a_sentence(tmp_path: Path) -> None:
    assert "there is no file" in read(tmp_path / "none").problem.lower()
    assert "is not a file" in read(tmp_path).problem
    assert read("a\0b").problem


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*HEADER, *ROW, *END, "x"]), inner, max_size=8)
    ),
    max_leaves=30,
)


WHOLE = b"".join(json.dumps(line).encode() + b"\n" for line in (HEADER, ROW, {**ROW, "step": 1}, END))


@given(st.integers(1, len(WHOLE) - 1))
def test_a_recording_cut_at_any_byte_keeps_whole_rows(end: int) -> None:
    found, lines = fed(raw=WHOLE[:end]), WHOLE[:end].count(b"\n")
    assert list(found.steps) == [0, 1][: max(lines - 1, 0)]
    problem = f"Line {lines + 1} is cut off; what came before it is shown." if lines else "Line 1 is not a recording."
    assert found.problem == ("" if WHOLE[end - 1 : end] == b"\n" else problem)


@given(st.lists(st.tuples(st.sampled_from([*HEADER, *ROW, *END]), anything), max_size=3), st.binary(max_size=60))
def test_no_input_makes_the_reader_fail(changes: list[tuple[str, Any]], raw: bytes) -> None:
    for base in (HEADER, ROW, END):
        changed = {**base, **dict(changes)}
        lines = {"HEADER": [changed, ROW], "other": [HEADER, ROW, changed]}["HEADER" if base is HEADER else "other"]
        found = fed(*lines, raw=raw)
        assert found.problem == "" or found.problem.endswith(".")
        assert len(found.series["act_rms"]) == len(found) * len(found.sites)
        assert len(found.masks["update_to_weight"]) == len(found) * len(found.blocks)


# --- the terminal ---


def shown(folder: Path, *lines: Any, raw: bytes = b"", arguments: tuple[str, ...] = ()) -> int:
    path = folder / "shown.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + raw)
    return main(["show", str(path), *arguments])


@pytest.mark.parametrize(
    ("last", "end", "later", "said"),
    [
        (5.0, {**END, "end": "error", "reason": "KeyboardInterrupt"}, 1e6, "ended by KeyboardInterrupt"),
        (5.0, {**END, "end": "recorder", "reason": "a fault"}, 1e6, "the recorder gave up: a fault"),
        (5.0, {**END}, 0, "ended"),
        (5.0, None, 59, "growing"),
        (5.0, None, -3600, "growing"),  # the writer's clock is ahead
        (5.0, None, 61, "no row for 1 min: paused or killed"),
        (600.0, None, 2900, "growing"),  # a row takes five minutes
        (600.0, None, 3100, "no row for 51 min: paused or killed"),
        (5.0, None, 3 * 86400, "no row for 3 days: paused or killed"),
        (None, None, 0, "not ended"),
    ],
)
def test_growing_ended_and_stopped_recordings_are_told_apart(
    last: float | None, end: dict[str, Any] | None, later: float, said: str
) -> None:
    rows = [{**ROW, "seconds": 0.1}, {**ROW, "step": 1, "seconds": last}]
    began = datetime.fromisoformat(HEADER["created"]).timestamp()
    assert recording_status(fed(HEADER, *rows, *([end] if end else [])), began + (last or 0) + later) == said


def test_a_recording_began_when_it_was_asked_for_though_its_first_pass_comes_late(tmp_path: Path) -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with watch(model, tmp_path / "run.jsonl", optimizer=optimizer) as recorder:
        asked = time.time()
        until(lambda: int(time.time()) > int(asked), "the next second: the header's time has whole ones")
        waited = time.time() - asked
        train(model, optimizer, recorder, 1)
    recording = read(recorder.path)
    assert datetime.fromisoformat(recording.header["created"]).timestamp() <= asked
    assert recording.seconds[0] >= 0.9 * waited


LEVEL = "The signal stays within a factor of 1.9 over depth"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"act_rms": [1.0, "NaN"]}, "Not finite: the signal of step 0 first at b."),
        ({"grad_rms": ["Infinity", "Infinity"]}, "Not finite: the gradient of step 0 first at b."),
        ({"grad_rms": [1e-9, 1.0]}, f"{LEVEL}, its gradient falls by a factor of 10⁹ on the way back."),
        ({"grad_rms": [None, None]}, f"{LEVEL}; no gradient was measured."),
        ({"grad_rms": [0.0, 1.0]}, f"{LEVEL}, its gradient falls to exactly 0 on the way back."),
        ({"grad_rms": [1.0, 1.0]}, f"{LEVEL}, its gradient stays the same size on the way back."),
    ],
)
def test_the_verdict_is_one_line_for_any_net(
    row: dict[str, Any], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(tmp_path, HEADER, {**ROW, "act_rms": [1.0, 1.9], **row})
    assert sentence in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("sizes", "clause"),
    [
        ([6.5, 0.7, 5.5], "varies by a factor of 9.29 over depth and ends 1.18 times smaller"),
        ([1.0, 4.0, 1.0], "varies by a factor of 4 over depth and ends as large as it began"),
        ([1.0, 1.9, 1.2], "stays within a factor of 1.9 over depth"),
        ([1.0, 9.0, 3.0], "grows by a factor of 3 over depth"),
    ],
)
def test_a_recorded_range_is_largest_over_smallest(sizes: list[float], clause: str) -> None:
    assert change_clause("the signal", sizes, "over depth") == f"the signal {clause}"


@pytest.mark.parametrize(
    ("second", "third", "sentence"),
    [
        ({"loss": "NaN"}, {"act_rms": ["NaN", 1.0]}, "The first number that is not finite is the loss of step 4."),
        ({"loss": "Infinity", "grad_rms": [1.0, "-Infinity"]}, {}, "… is the loss of step 4."),
        ({"grad_rms": [1.0, "-Infinity"], "weight_grad_rms": ["NaN"]}, {}, "… is the gradient at b in step 4."),
        ({"loss": "NaN", "grad_rms": ["NaN", "NaN"], "act_rms": [1.0, "NaN"]}, {}, "… is the signal at b in step 4."),
        ({"loss": None, "act_rms": [None, None]}, {"grad_rms": ["Infinity", 1.0]}, "… is the gradient at a in step 9."),
        ({}, {}, ""),
    ],
)
def test_the_first_number_that_is_not_finite_is_named(
    second: dict[str, Any], third: dict[str, Any], sentence: str
) -> None:
    found = fed(HEADER, ROW, {**ROW, "step": 4, **second}, {**ROW, "step": 9, **third})
    assert (found.problem, len(found)) == ("", 3)
    assert found.sentence("lost", 0) == sentence.replace("…", "The first number that is not finite")


def test_the_jump_of_a_branch_that_is_made_large_is_what_plain_hooks_measure(tmp_path: Path) -> None:
    model = net(6)
    with torch.no_grad():
        model[4].down.weight *= 50
    seen: list[float] = []
    for block in model[:-1]:
        block.register_forward_hook(lambda _block, _inputs, output: seen.append(rms(output)))
    recording = recorded(model, tmp_path, steps=1)
    assert jump_sentence(recording, 0).startswith(f"The signal grows most at 4, by a factor of {seen[4] / seen[3]:.3g}")


def test_the_terminal_obeys_nothing_that_a_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J" + "x" * 300
    header = {**HEADER, "model": evil, "notes": [evil], "sites": [{**SITE, "name": evil}, SITE]}
    assert shown(tmp_path, header, ROW, {"end": "error", "reason": evil, "rows": 1, "dropped": 2}) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "…" in said
    assert "2 rows dropped" in said


def test_a_bad_file_is_shown_as_far_as_it_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(tmp_path, HEADER, ROW, raw=b"nonsense\n") == 1
    said = capsys.readouterr()
    assert "step 0, loss 1" in said.out
    assert said.err == "python -m addnorm: Line 3 is not JSON, or is nested too deeply.\n"
    assert shown(tmp_path, raw=b"nonsense\n") == 2
    assert capsys.readouterr().err == "python -m addnorm: Line 1 is not JSON, or is nested too deeply.\n"
    assert shown(tmp_path, HEADER) == 2
    assert capsys.readouterr().err == "python -m addnorm: There is no row yet.\n"
