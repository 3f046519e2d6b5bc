"""The form of a finding: in the file, in Python, on the command line, and in the manual."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import addnorm
from addnorm import Diagnostic
from addnorm.__main__ import EXIT_FINDINGS, main
from addnorm.recording import Reader, Recording, read
from addnorm.rules import RULES, SEVERITIES, sorted_by_severity
from tests.addnorm.loops import net, recorded, train
from tests.addnorm.test_findings import told
from tests.addnorm.test_read import END, HEADER, ROW

ROOT = Path(__file__).parents[2]
LOST = [{"loss": 1.0, "grad_rms": [1.0 if at < 3 else 0.01, 1.0]} for at in range(6)]


def test_the_manual_has_a_line_for_every_rule_with_its_numbers() -> None:
    manual = (ROOT / "docs" / "recorder.md").read_text(encoding="utf-8")
    lines = {line.split(" | ")[0].strip("| "): line for line in manual.splitlines() if line.startswith("| AN-")}
    assert list(lines) == list(RULES)
    for name, rule in RULES.items():
        _, severity, _, threshold, reference = (part.strip(" |") for part in lines[name].split(" | "))
        assert (severity, float(threshold.split()[0]), reference) == (rule.severity, rule.threshold, rule.reference)
        assert severity in SEVERITIES
        assert len(rule.remedy.split()) > 3


def test_a_finding_has_its_numbers_and_ends_where_it_no_longer_holds() -> None:
    found = told([*LOST, {}])
    (finding,) = found.findings_at(5)
    assert (finding.id, finding.severity, finding.since, finding.threshold) == ("AN-G1", "warning", 3, 30.0)
    assert (finding.place, finding.numbers) == ("site 0", {"gradient_first": 0.01, "gradient_last": 1.0})
    assert f"{finding.sentence} {finding.advice}" == found.sentence("findings", 5)
    assert found.sentence("ids", 5) == "(AN-G1 warning)"
    assert (found.findings_at(2), found.findings_at(6), found.findings) == ([], [], [])


def diverging(folder: Path, **asked: Any) -> Recording:
    """Two rows of a net whose weights are not finite from the second on."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with addnorm.watch(model, folder / "run.jsonl", optimizer=optimizer, **asked) as recorder:
        train(model, optimizer, recorder, 1)
        with torch.no_grad():
            model[1].down.weight.fill_(math.inf)
        train(model, optimizer, recorder, 2)
    found = read(recorder.path)
    assert [finding.id for finding in recorder.findings] == [finding.id for finding in found.findings]
    return found


def test_the_file_holds_findings_and_gives_them_back(tmp_path: Path) -> None:
    found = diverging(tmp_path)
    text = (tmp_path / "run.jsonl").read_text(encoding="utf-8")
    entries = [json.loads(line) for line in text.splitlines()]
    (entry,) = [one["findings"] for one in entries if "findings" in one]
    assert entry["AN-N1"][0][0] == 1
    assert found._narrator is None, "read, not formed again"
    (finding,) = [one for one in found.findings if one.id == "AN-N1"]
    assert (finding.since, finding.severity, finding.sentence) == (1, "error", found.sentence("lost", 1))
    assert Reader().feed(b"".join(found.lines())).finding_changes == found.finding_changes
    older = "".join(line for line in text.splitlines(keepends=True)).replace('"ignored":[],', "")
    again = Reader().feed(older.encode())
    assert [one.sentence for one in again.findings] == [one.sentence for one in found.findings], (
        "formed where it is old"
    )
    assert not recorded(net(), tmp_path).findings


def test_a_finding_is_switched_off_by_its_id(tmp_path: Path) -> None:
    found = diverging(tmp_path, ignore=["AN-N1"])
    assert (found.findings, found.sentence("lost", 1), found.header["ignored"]) == ([], "", ["AN-N1"])
    with pytest.raises(ValueError, match="ignore: AN-X9 is not a finding; there are AN-N1, "):
        addnorm.watch(net(), tmp_path / "other.jsonl", ignore=["AN-X9"])


def test_the_command_line_prints_findings_as_json_and_fails_on_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    diverging(tmp_path)
    path = str(tmp_path / "run.jsonl")
    assert main(["show", path, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in shown["findings"]] == ["AN-N1"]
    assert (shown["step"], shown["rows"], shown["findings"][0]["threshold"]) == (2, 3, 0)
    assert main(["show", path, "--fail-on", "error"]) == main(["show", path, "--fail-on", "warning"]) == EXIT_FINDINGS
    assert main(["show", path, "--fail-on", "warning", "--ignore", "AN-N1"]) == 0
    assert main(["show", path, "--fail-on", "warning", "--step", "0"]) == 0
    (tmp_path / "lost.jsonl").write_bytes(b"".join(told(LOST).lines()))
    assert main(["show", str(tmp_path / "lost.jsonl"), "--fail-on", "error"]) == 0
    assert main(["show", str(tmp_path / "lost.jsonl"), "--fail-on", "warning"]) == EXIT_FINDINGS
    assert "\nAN-G1 warning: From step 3 on less than 1/30 " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["show", path, "--ignore", "AN-X9"])
    assert "AN-X9 is not a finding" in capsys.readouterr().err


GOOD = {"severity": "note", "since": 0, "sentence": "a", "numbers": {"b": 1}, "threshold": 2, "reference": "c"}


@pytest.mark.parametrize(
    "entry",
    [
        7, "x", {}, [GOOD], {"AN-G1": GOOD}, {"AN-G1": [[0]]}, {"AN-G1": [[9, GOOD]]}, {"AN-G1": [[True, GOOD]]},
        {"AN-G1": [[0.5, GOOD]]}, {"AN-G1": [[0, {**GOOD, "severity": "fatal"}]]}, {"AN-G1": [[0, {**GOOD, "severity": []}]]},
        {"AN-G1": [[0, {**GOOD, "sentence": "x" * 5001}]]}, {"AN-G1": [[0, {**GOOD, "since": -1}]]},
        {"AN-G1": [[0, {**GOOD, "numbers": []}]]}, {"AN-G1": [[0, {**GOOD, "threshold": None}]]},
        {"AN-G1": [[0, {**GOOD, "numbers": {str(at): 1 for at in range(33)}}]]}, {"AN-G1": [[10**400, GOOD]]},
        {"AN-G1": [[0, {**GOOD, "threshold": 10**400}]]}, {"AN-G1": [[0, {**GOOD, "numbers": {"a": 10**400}}]]},
    ],
)  # fmt: skip
def test_what_is_no_finding_is_left_out(entry: Any) -> None:
    reader = Reader()
    for line in ({**HEADER, "ignored": []}, ROW):
        reader.feed(json.dumps(line).encode() + b"\n")
    reader.feed(json.dumps({"said": {"law": [[0, "x"]]}, "findings": entry}).encode() + b"\n")
    reader.feed(json.dumps({**END, "rows": 1}).encode() + b"\n")
    assert reader.recording.problem == ""
    assert [one.numbers for one in reader.recording.findings if one.numbers] == []


def test_findings_are_listed_with_the_errors_first() -> None:
    made = [Diagnostic.from_rule(name, 0, "") for name in RULES]
    order = [one.severity for one in sorted_by_severity(reversed(made))]
    assert order == sorted(order, key=lambda one: -SEVERITIES.index(one))
